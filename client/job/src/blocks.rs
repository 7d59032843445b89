//! Where the blocks of input are: told once, by whoever has listed it, so that maps need not ask the NameNode.

use serde::{Deserialize, Serialize};
use storage::LocatedBlock;

use crate::wire;

/// What blocks of a job's input have in common: ten thousands of splits name them by their places here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPlaces {
    /// Block pools.
    pub pools: Vec<String>,
    /// DataNodes, as `storage::BlockNode` writes them.
    pub nodes: Vec<String>,
}

/// A block that DataNodes give to whoever asks. It is written as a row of numbers, in the order of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct BlockAt {
    /// Where it begins in its file, bytes.
    pub offset: u64,
    /// Bytes of it that the file has.
    pub length: u64,
    /// Place of its block pool.
    pub pool: u64,
    /// Its number there.
    pub id: u64,
    /// Its generation stamp.
    pub generation: u64,
    /// Places of the DataNodes that have it.
    pub nodes: Vec<u64>,
}

impl From<BlockAt> for Vec<u64> {
    fn from(block: BlockAt) -> Self {
        let BlockAt {
            offset,
            length,
            pool,
            id,
            generation,
            nodes,
        } = block;
        let mut row = Self::with_capacity(5 + nodes.len());
        row.extend([offset, length, pool, id, generation]);
        row.extend(nodes);
        row
    }
}

impl TryFrom<Vec<u64>> for BlockAt {
    type Error = &'static str;

    fn try_from(row: Vec<u64>) -> Result<Self, Self::Error> {
        let [offset, length, pool, id, generation, nodes @ ..] = &row[..] else {
            return Err("too few numbers for a block");
        };
        Ok(Self {
            offset: *offset,
            length: *length,
            pool: *pool,
            id: *id,
            generation: *generation,
            nodes: nodes.to_vec(),
        })
    }
}

impl BlockPlaces {
    /// As a launcher is told of a block; one of a pool or with a DataNode that has no place here is left out.
    #[must_use]
    pub fn told(&self, block: &BlockAt) -> Option<wire::LocatedBlock> {
        let nodes = block.nodes.iter();
        let nodes = nodes.map(|place| at(&self.nodes, *place).cloned());
        Some(wire::LocatedBlock {
            offset: block.offset,
            length: block.length,
            pool: at(&self.pools, block.pool)?.clone(),
            id: block.id,
            generation: block.generation,
            nodes: nodes.collect::<Option<_>>()?,
        })
    }
}

fn at(all: &[String], place: u64) -> Option<&String> {
    usize::try_from(place).ok().and_then(|place| all.get(place))
}

impl From<wire::LocatedBlock> for LocatedBlock {
    fn from(told: wire::LocatedBlock) -> Self {
        let nodes = told.nodes.iter().filter_map(|node| node.parse().ok());
        Self {
            offset: told.offset,
            length: told.length,
            nodes: nodes.collect(),
            pool: told.pool,
            id: told.id,
            generation: told.generation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_told_with_what_it_names_by_place() {
        let places = BlockPlaces {
            pools: vec!["BP-1".into()],
            nodes: vec!["n0/10.0.0.0:9866".into(), "n1/10.0.0.1:9866".into()],
        };
        let block = BlockAt {
            offset: 5,
            length: 7,
            pool: 0,
            id: 11,
            generation: 1001,
            nodes: vec![1],
        };
        let told = LocatedBlock::from(places.told(&block).unwrap());
        let whole = LocatedBlock {
            offset: 5,
            length: 7,
            pool: "BP-1".into(),
            id: 11,
            generation: 1001,
            nodes: vec!["n1/10.0.0.1:9866".parse().unwrap()],
        };
        assert_eq!(told, whole);
        for (pool, nodes) in [(1, vec![1]), (0, vec![0, 2])] {
            let odd = BlockAt {
                pool,
                nodes,
                ..block.clone()
            };
            assert_eq!(places.told(&odd), None);
        }
        let written = serde_json::to_string(&block).unwrap();
        assert_eq!(written, "[5,7,0,11,1001,1]");
        assert_eq!(serde_json::from_str::<BlockAt>(&written).unwrap(), block);
        assert!(serde_json::from_str::<BlockAt>("[5,7,0,11]").is_err());
    }
}
