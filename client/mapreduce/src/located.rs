//! What maps are told of the blocks that they are to read.

use std::collections::BTreeMap;

use gerbil_task::Piece;
use job::{BlockAt, BlockPlaces};
use proto_hadoop::{Block, FileBlocks, PlainBlock};
use storage::{BlockNode, Known, LocatedBlock};

/// Blocks of one piece that are told at the most: whoever reads more of them may ask the NameNode once.
const MOST: usize = 64;
/// And of all pieces of a job, some 100 bytes each.
const MOST_OF_A_JOB: usize = 100_000;

/// What blocks have in common, as far as it was told.
#[derive(Debug, Default)]
pub(crate) struct Located {
    /// How many of them.
    told: usize,
    places: BlockPlaces,
    pools: BTreeMap<String, u64>,
    nodes: BTreeMap<String, u64>,
}

impl Located {
    /// The blocks that are read for a piece, as far as they can be read without asking the NameNode: those that it is of, the
    /// one behind them, where its last record may end, and the file's first one, which may have a header.
    pub(crate) fn blocks(&mut self, piece: &Piece, file: &FileBlocks) -> Vec<BlockAt> {
        // A task that opens a file with a writer learns nothing of its last block's bytes from the NameNode.
        let (most, most_of_all) = match file.is_open {
            true => (usize::MAX, usize::MAX),
            false => (MOST, MOST_OF_A_JOB),
        };
        if file.size != piece.size || self.told >= most_of_all {
            return Vec::new();
        }
        let end = piece.offset.saturating_add(piece.length);
        let is_first = |block: &&Block| block.offset == 0 && piece.offset >= block.length;
        let first = file.blocks.iter().take(1).filter(is_first);
        let from = file
            .blocks
            .partition_point(|block| block.offset.saturating_add(block.length) <= piece.offset);
        let to = file.blocks.partition_point(|block| block.offset < end) + 1;
        let read = file.blocks.iter().take(to).skip(from).take(most);
        first
            .chain(read)
            .filter_map(|block| self.block(block))
            .collect()
    }

    fn block(&mut self, block: &Block) -> Option<BlockAt> {
        let plain = block.plain.as_ref().filter(|_| !block.nodes.is_empty())?;
        self.told += 1;
        let nodes = nodes(block, plain)
            .map(|node| place(&mut self.nodes, &mut self.places.nodes, &node.to_string()));
        Some(BlockAt {
            offset: block.offset,
            length: block.length,
            id: plain.id,
            generation: plain.generation,
            nodes: nodes.collect(),
            pool: place(&mut self.pools, &mut self.places.pools, &plain.pool),
        })
    }

    /// What all of them have in common.
    pub(crate) fn into_places(self) -> BlockPlaces {
        self.places
    }
}

/// A file as storage reads it by its blocks.
pub(crate) fn known(file: &FileBlocks) -> Known {
    let blocks = file.blocks.iter().filter_map(|block| {
        let plain = block.plain.as_ref().filter(|_| !block.nodes.is_empty())?;
        Some(LocatedBlock {
            offset: block.offset,
            length: block.length,
            pool: plain.pool.clone(),
            id: plain.id,
            generation: plain.generation,
            nodes: nodes(block, plain).collect(),
        })
    });
    Known {
        size: file.size,
        modified_ms: file.modified_ms,
        blocks: blocks.collect(),
    }
}

/// The DataNodes of a block.
fn nodes<'a>(block: &'a Block, plain: &'a PlainBlock) -> impl Iterator<Item = BlockNode> + 'a {
    let nodes = block.nodes.iter().zip(&plain.ports).enumerate();
    nodes.map(|(place, (node, port))| BlockNode {
        host: node.host.clone(),
        address: node.address.clone(),
        port: *port,
        rack: plain.racks.get(place).cloned().unwrap_or_default(),
    })
}

/// The place of something, where it has none the next one.
fn place(known: &mut BTreeMap<String, u64>, all: &mut Vec<String>, what: &str) -> u64 {
    if let Some(place) = known.get(what) {
        return *place;
    }
    let place = all.len() as u64;
    all.push(what.to_owned());
    known.insert(what.to_owned(), place);
    place
}

#[cfg(test)]
mod tests {
    use proto_hadoop::DataNode;

    use super::*;

    const BLOCK: u64 = 100;

    fn file(blocks: u64) -> FileBlocks {
        let block = |number| Block {
            offset: number * BLOCK,
            length: BLOCK,
            nodes: vec![DataNode {
                host: format!("n{}", number % 3),
                address: String::new(),
            }],
            plain: Some(PlainBlock {
                pool: "BP-1".into(),
                id: number,
                generation: 1001,
                ports: vec![9866],
                racks: vec![format!("/r{}", number % 3)],
            }),
        };
        FileBlocks {
            path: "/f".into(),
            size: blocks * BLOCK,
            modified_ms: 0,
            is_open: false,
            blocks: (0..blocks).map(block).collect(),
        }
    }

    fn piece(offset: u64, length: u64, file: &FileBlocks) -> Piece {
        Piece {
            name: "f".into(),
            offset,
            length,
            size: file.size,
        }
    }

    #[test]
    fn a_piece_has_its_blocks_the_one_behind_and_the_file_s_first() {
        let (mut located, file) = (Located::default(), file(200));
        let mut ids = |offset, length| -> Vec<u64> {
            let told = located.blocks(&piece(offset, length, &file), &file);
            told.iter().map(|block| block.id).collect()
        };
        assert_eq!(ids(0, BLOCK), [0, 1]);
        assert_eq!(ids(0, BLOCK + 1), [0, 1, 2]);
        assert_eq!(ids(3 * BLOCK, BLOCK), [0, 3, 4]);
        assert_eq!(ids(3 * BLOCK + 1, 5), [0, 3, 4]);
        assert_eq!(ids(199 * BLOCK, BLOCK), [0, 199]);
        assert_eq!(ids(0, 200 * BLOCK).len(), MOST);
        while located.told < MOST_OF_A_JOB {
            assert!(!located.blocks(&piece(0, 1, &file), &file).is_empty());
        }
        assert_eq!(located.blocks(&piece(0, 1, &file), &file), []);
        let open = FileBlocks {
            is_open: true,
            ..file.clone()
        };
        let all = located.blocks(&piece(0, 200 * BLOCK, &open), &open);
        assert_eq!(all.len(), 200);
        let places = located.into_places();
        assert_eq!(places.pools, ["BP-1"]);
        assert_eq!(places.nodes, ["n0/:9866/r0", "n1/:9866/r1", "n2/:9866/r2"]);
    }

    #[test]
    fn a_block_that_is_not_plain_or_of_another_file_is_not_told() {
        let (mut located, mut file) = (Located::default(), file(2));
        let mut other = piece(0, 5, &file);
        other.size += 1;
        assert_eq!(located.blocks(&other, &file), []);
        file.blocks[0].plain = None;
        file.blocks[1].nodes.clear();
        assert_eq!(located.blocks(&piece(0, 5, &file), &file), []);
    }

    #[test]
    fn ten_thousand_maps_are_told_of_little() {
        let block = BlockAt {
            offset: 1 << 40,
            length: 128 << 20,
            pool: 0,
            id: 1 << 40,
            generation: 1 << 20,
            nodes: vec![100, 101, 102],
        };
        assert!(size_of::<BlockAt>() + 3 * size_of::<u64>() < 100);
        assert!(serde_json::to_string(&block).unwrap().len() < 100);
    }
}
