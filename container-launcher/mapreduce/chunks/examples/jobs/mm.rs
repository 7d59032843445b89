//! MM: a product of matrices by tiles. A chunk is a tile of the left matrix and one of the right; they come in the order of
//! the tiles' rows, depths and columns.

use std::io;
use std::sync::{Mutex, PoisonError};

use gerbil_chunks::ChunkKernel;
use gerbil_gpu::Grid;

use crate::job::{Job, far};
use crate::seeds::{bytes, floats};

/// Rows and columns of a tile of the product.
const TILE: usize = 64;
/// Columns of a tile of the left matrix, and rows of one of the right: twice as many, as the paper's.
const DEPTH: usize = 128;
/// Tiles of the product are so many wide, and as deep.
const ACROSS: usize = 4;
const CHUNK: u64 = 2 * 64 * 128 * 4;

/// The job: so many tiles of the product as its chunks are for.
#[derive(Debug, Default)]
pub(crate) struct Mm {
    /// By row and column of the tile.
    tiles: Mutex<Vec<Vec<f32>>>,
}

/// Of which tile of the product a chunk is a part.
fn tile_of(offset: u64) -> usize {
    let chunk = usize::try_from(offset / CHUNK).unwrap_or(usize::MAX);
    let (row, column) = (chunk / (ACROSS * ACROSS), chunk % ACROSS);
    row * ACROSS + column
}

fn add(tiles: &mut Vec<Vec<f32>>, tile: usize, product: impl Iterator<Item = f32>) {
    if tiles.len() <= tile {
        tiles.resize(tile + 1, vec![0.0; TILE * TILE]);
    }
    for (sum, part) in tiles.iter_mut().skip(tile).take(1).flatten().zip(product) {
        *sum += part;
    }
}

// SAFETY: of a whole chunk, which alone is launched for, a thread reads a row and a column, and writes one word.
#[expect(unsafe_code, reason = "a kernel is C")]
unsafe impl ChunkKernel for Mm {
    fn source(&self) -> String {
        let kernel = include_str!("mm.k");
        format!("#define TILE {TILE}\n#define DEPTH {DEPTH}\n#line 1\n{kernel}")
    }

    fn name(&self) -> &str {
        "mm"
    }

    fn constants(&self) -> &[f32] {
        &[]
    }

    fn words(&self, bytes: u64) -> usize {
        if bytes == CHUNK { TILE * TILE } else { 0 }
    }

    fn grid(&self, bytes: u64) -> io::Result<Grid> {
        if bytes != CHUNK {
            return Err(io::Error::other(format!(
                "a chunk of {bytes} bytes is no pair of tiles, which has {CHUNK}"
            )));
        }
        Grid::of(64 * 64).map_err(io::Error::other)
    }

    fn emit(&self, offset: u64, _bytes: u64, words: &[u32]) -> io::Result<()> {
        let mut tiles = self.tiles.lock().unwrap_or_else(PoisonError::into_inner);
        let product = words.iter().map(|word| f32::from_bits(*word));
        add(&mut tiles, tile_of(offset), product);
        Ok(())
    }
}

impl Job for Mm {
    fn chunk_of(&self, _bytes: u64) -> u64 {
        CHUNK
    }

    fn input(&self, offset: u64, count: u64) -> Vec<u8> {
        bytes(3, offset / 4, count / 4)
    }

    fn check(&self, input: &mut dyn Iterator<Item = io::Result<Vec<u8>>>) -> io::Result<()> {
        let (mut wanted, mut offset) = (Vec::new(), 0);
        for piece in input {
            let values: Vec<f32> = floats(&piece?).collect();
            let pieces = values.chunks_exact(2 * TILE * DEPTH);
            for (left, right) in pieces.map(|pair| pair.split_at(TILE * DEPTH)) {
                let mut product = vec![0.0_f32; TILE * TILE];
                for (row, sums) in left.chunks(DEPTH).zip(product.chunks_mut(TILE)) {
                    for (value, others) in row.iter().zip(right.chunks(TILE)) {
                        for (sum, other) in sums.iter_mut().zip(others) {
                            *sum = value.mul_add(*other, *sum);
                        }
                    }
                }
                add(&mut wanted, tile_of(offset), product.into_iter());
                offset += CHUNK;
            }
        }
        let found = self.tiles.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() != wanted.len() {
            let (found, wanted) = (found.len(), wanted.len());
            return Err(io::Error::other(format!(
                "{found} tiles, and there should be {wanted}"
            )));
        }
        for (found, wanted) in found.iter().flatten().zip(wanted.iter().flatten()) {
            far(
                "a number of the product",
                f64::from(*found),
                f64::from(*wanted),
            )?;
        }
        Ok(())
    }
}
