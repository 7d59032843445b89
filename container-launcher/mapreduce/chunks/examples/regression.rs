//! The line that is nearest to points, as a job whose maps are engines on a GPU.
//!
//! ```text
//! cargo run --release -p gerbil-chunks --features mapreduce --example regression -- --local POINTS OUT
//! cargo run --release -p gerbil-chunks --features mapreduce --example regression -- -D gerbil.opencl.processors=true \
//!     -D gpu.chunk=8388608 --local POINTS OUT
//! ```
//!
//! A point is two `f32`, the lowest byte first. The output is `n` and the sums of x, y, x², y² and x·y.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use gerbil_chunks::{ChunkKernel, ChunkMapper, Chunked};
use gerbil_gpu::Grid;
use gerbil_mapreduce::prelude::*;

const POINT: u64 = 8;
const POINTS_OF_A_GROUP: u64 = 8192;
const NAMES: [&str; 6] = ["n", "x", "y", "xx", "yy", "xy"];

/// By the offsets of chunks, so that they are added up in the same order each time.
#[derive(Default)]
struct Points(Mutex<BTreeMap<u64, [f64; 6]>>);

// SAFETY: a group reads its points alone, of which none lies behind `bytes`, and writes its six words.
#[expect(unsafe_code, reason = "a kernel is C")]
unsafe impl ChunkKernel for Points {
    fn source(&self) -> String {
        include_str!("jobs/lr.k").to_owned()
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
        let threads = (bytes / POINT).div_ceil(POINTS_OF_A_GROUP).max(1) * 64;
        Grid::of(threads).map_err(io::Error::other)
    }

    fn emit(&self, offset: u64, bytes: u64, words: &[u32]) -> io::Result<()> {
        if !bytes.is_multiple_of(POINT) {
            return Err(io::Error::other(format!(
                "{bytes} bytes from {offset} on are no whole points of {POINT}"
            )));
        }
        let mut sums = [0.0; 6];
        for group in words.chunks_exact(6) {
            for (place, (sum, word)) in sums.iter_mut().zip(group).enumerate() {
                *sum += match place {
                    0 => f64::from(*word),
                    _ => f64::from(f32::from_bits(*word)),
                };
            }
        }
        let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.insert(offset, sums);
        Ok(())
    }
}

impl ChunkMapper for Points {
    type Key = Text;
    type Value = f64;

    const RECORD: u64 = POINT;

    fn finish(&mut self, out: &mut Emit<'_, Chunked<Self>>) -> Result<()> {
        let chunks = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut sums = [0.0; 6];
        for chunk in chunks.values() {
            for (sum, more) in sums.iter_mut().zip(chunk) {
                *sum += more;
            }
        }
        let mut named = NAMES.iter().zip(&sums);
        named.try_for_each(|(name, sum)| out.emit(name.as_bytes(), sum))
    }
}

fn main() -> ExitCode {
    Job::new("regression")
        .set("mapreduce.job.reduces", "1")
        .needs("reduce", "cpu")
        .map(|| Chunked(Points::default()))
        .reduce(|| Sum)
        .main()
}
