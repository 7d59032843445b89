//! Splits as the session wants them: where each piece's file is, and which hosts have it.

use std::collections::BTreeMap;

use gerbil_task::Piece;
use job::{BlockAt, BlockPlaces, FileAt, Split};

use crate::blocks::{Blocks, hosts};
use crate::error::MapReduceError;
use crate::input::InputFile;
use crate::located::Located;

/// Splits with where their files are, by whole name, who has them, and by what their blocks are asked for. `number` tells the place of a
/// file's file system among the job's.
///
/// # Errors
/// A piece is of no file that was listed, or not within it.
pub fn placed(
    splits: Vec<Vec<Piece>>,
    listed: &BTreeMap<String, InputFile>,
    blocks: &Blocks,
    mut number: impl FnMut(&InputFile) -> u32,
) -> Result<(Vec<Split>, BlockPlaces), MapReduceError> {
    let mut placed = Vec::with_capacity(splits.len());
    let mut located = Located::default();
    for pieces in splits {
        let mut files = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let refused = |why: String| MapReduceError::Asked(format!("{}: {why}", piece.name));
            let Some(file) = listed.get(&piece.name) else {
                return Err(refused(
                    "a split has it, and it was never listed".to_owned(),
                ));
            };
            let end = piece.offset.checked_add(piece.length);
            if piece.size != file.length || end.is_none_or(|end| end > file.length) {
                return Err(refused(format!(
                    "a split has bytes {} to {} of {}, and the file has {} bytes",
                    piece.offset,
                    piece.offset.saturating_add(piece.length),
                    piece.size,
                    file.length
                )));
            }
            let known = blocks.get(&piece.name);
            files.push(FileAt {
                address: number(file),
                path: file.place.path.clone(),
                modified_ms: known.map_or(0, |known| known.modified_ms),
            });
        }
        let of = |piece: &Piece| {
            let file = blocks.get(&piece.name);
            file.map_or_else(Vec::new, |file| located.blocks(piece, file))
        };
        let mut known: Vec<Vec<BlockAt>> = pieces.iter().map(of).collect();
        if known.iter().all(Vec::is_empty) {
            known.clear();
        }
        placed.push(Split {
            hosts: hosts(&pieces, blocks),
            blocks: known,
            pieces,
            files,
        });
    }
    Ok((placed, located.into_places()))
}
