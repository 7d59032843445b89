//! How many numbers lie where, as a job whose kernels emit a pair of each number.
//!
//! ```text
//! cargo run --release -p gerbil-chunks --features mapreduce --example histogram -- --local NUMBERS OUT
//! cargo run --release -p gerbil-chunks --features mapreduce --example histogram -- -D gerbil.opencl.processors=true \
//!     -D gpu.chunk=8388608 -D mapreduce.job.reduces=3 --local NUMBERS OUT
//! ```
//!
//! A number is a `u32`, the lowest byte first. Keys of the output are numbers without their last 20 bits, and reduce `r` of `n`
//! has those that leave `r` when they are divided by `n`. A kernel may emit a pair for each number, or no more than
//! `-D histogram.bound=PAIRS` of a chunk.

use std::io;

use gerbil_chunks::{ByRemainder, PairMapper, Paired};
use gerbil_gpu::Grid;
use gerbil_mapreduce::prelude::*;

const NUMBER: u64 = 4;

#[derive(Default)]
struct Histogram {
    bound: Option<u32>,
}

// SAFETY: a thread reads its number alone, where there is one.
#[expect(unsafe_code, reason = "a kernel is C")]
unsafe impl PairMapper for Histogram {
    type Key = u32;
    type Value = u64;

    const RECORD: u64 = NUMBER;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let bound = context.setting("histogram.bound");
        self.bound = bound.map(str::parse).transpose()?;
        Ok(())
    }

    fn source(&self) -> String {
        r"
KERNEL(histogram)(GLOBAL const uint *numbers, ulong bytes, GLOBAL const float *constants, GLOBAL uint *words) {
    if (THREAD < bytes / 4) EMIT(words, numbers[THREAD] >> 20, 1);
}
"
        .to_owned()
    }

    fn name(&self) -> &str {
        "histogram"
    }

    fn bound(&self, bytes: u64) -> u32 {
        let numbers = u32::try_from(bytes / NUMBER).unwrap_or(u32::MAX);
        self.bound.unwrap_or(numbers)
    }

    fn grid(&self, bytes: u64) -> io::Result<Grid> {
        Grid::of((bytes / NUMBER).max(1)).map_err(io::Error::other)
    }
}

fn main() -> ExitCode {
    Job::new("histogram")
        .needs("combine", "cpu")
        .needs("reduce", "cpu")
        .map(|| Paired(Histogram::default()))
        .partition(|| ByRemainder)
        .combine(|| Sum)
        .reduce(|| Sum)
        .main()
}
