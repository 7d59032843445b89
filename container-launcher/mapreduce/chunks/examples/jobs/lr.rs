//! LR: the sums of a linear regression of points of two floats.

use std::io;
use std::sync::{Mutex, PoisonError};

use gerbil_chunks::ChunkKernel;
use gerbil_gpu::Grid;

use crate::job::{Job, far};
use crate::seeds::{bytes, floats};

const POINTS_OF_A_GROUP: u64 = 8192;
const POINT: u64 = 8;

/// x, y, x², y² and x·y, of so many points.
#[derive(Clone, Copy, Debug, Default)]
struct PointSums {
    count: u64,
    sums: [f64; 5],
}

/// The job.
#[derive(Debug, Default)]
pub(crate) struct Lr {
    found: Mutex<PointSums>,
}

// SAFETY: a group reads its points alone, of which none lies behind `bytes`, and writes its six words.
#[expect(unsafe_code, reason = "a kernel is C")]
unsafe impl ChunkKernel for Lr {
    fn source(&self) -> String {
        include_str!("lr.k").to_owned()
    }

    fn name(&self) -> &str {
        "lr"
    }

    fn constants(&self) -> &[f32] {
        &[]
    }

    fn words(&self, bytes: u64) -> usize {
        let groups = (bytes / POINT).div_ceil(POINTS_OF_A_GROUP);
        usize::try_from(groups).map_or(usize::MAX, |groups| groups.saturating_mul(6))
    }

    fn grid(&self, bytes: u64) -> io::Result<Grid> {
        Grid::of((bytes / POINT).div_ceil(POINTS_OF_A_GROUP) * 64).map_err(io::Error::other)
    }

    fn emit(&self, _offset: u64, _bytes: u64, words: &[u32]) -> io::Result<()> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for group in words.chunks_exact(6) {
            let (count, sums) = group.split_at(1);
            found.count += count.iter().copied().map(u64::from).sum::<u64>();
            for (known, sum) in found.sums.iter_mut().zip(sums) {
                *known += f64::from(f32::from_bits(*sum));
            }
        }
        Ok(())
    }
}

impl Job for Lr {
    fn chunk_of(&self, bytes: u64) -> u64 {
        bytes
    }

    fn input(&self, offset: u64, count: u64) -> Vec<u8> {
        bytes(2, offset / 4, count / 4)
    }

    fn check(&self, input: &mut dyn Iterator<Item = io::Result<Vec<u8>>>) -> io::Result<()> {
        let mut wanted = PointSums::default();
        for piece in input {
            let piece = piece?;
            let values: Vec<f64> = floats(&piece).map(f64::from).collect();
            for point in values.chunks_exact(2) {
                let [x, y] = *point else { continue };
                wanted.count += 1;
                let terms = [x, y, x * x, y * y, x * y];
                for (sum, term) in wanted.sums.iter_mut().zip(terms) {
                    *sum += term;
                }
            }
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.count != wanted.count {
            let (found, wanted) = (found.count, wanted.count);
            return Err(io::Error::other(format!(
                "{found} points, and there should be {wanted}"
            )));
        }
        for (found, wanted) in found.sums.iter().zip(&wanted.sums) {
            far("a sum", *found, *wanted)?;
        }
        Ok(())
    }
}
