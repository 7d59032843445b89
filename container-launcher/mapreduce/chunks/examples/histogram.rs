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
//! `-D histogram.bound=PAIRS` of a chunk. `--reduce device` adds up on the device, too.

use std::io;

use gerbil_chunks::{ByRemainder, ChunkReducer, PairMapper, Paired, Segmented};
use gerbil_gpu::Grid;
use gerbil_mapreduce::Mapped;
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

/// Adds the values of each key.
#[derive(Default)]
struct Added;

// SAFETY: a thread reads the values of its segment alone, where there is one, and writes what they are together.
#[expect(unsafe_code, reason = "a kernel is C")]
unsafe impl ChunkReducer for Added {
    type Value = u64;

    fn source(&self) -> String {
        r"
KERNEL(add)(GLOBAL const ulong *values, GLOBAL const uint *ends, uint segments, GLOBAL ulong *sums) {
    if (THREAD >= segments) return;
    ulong sum = 0;
    for (uint at = THREAD ? ends[THREAD - 1] : 0; at < ends[THREAD]; at++) sum += values[at];
    sums[THREAD] = sum;
}
"
        .to_owned()
    }

    fn name(&self) -> &str {
        "add"
    }
}

fn histogram(job: Job) -> Mapped<Paired<Histogram>> {
    job.map(|| Paired(Histogram::default()))
        .partition(|| ByRemainder)
}

fn main() -> ExitCode {
    let processor = Job::new("processor")
        .option::<String>("reduce", Some("processor"), "processor or device")
        .needs("combine", "cpu")
        .needs("reduce", "cpu");
    let processor = histogram(processor).combine(|| Sum);
    let device = histogram(Job::new("device").needs("reduce", "gpu"));
    App::new("histogram")
        .job(processor.reduce(|| Sum))
        .job(device.reduce(|| Segmented::new(Added)))
        .drive(|run| {
            let job = run.option::<String>("reduce")?;
            let (inputs, output) = (run.inputs(), run.output().to_owned());
            let submit = run.job(&job).inputs(inputs).output(&output);
            submit.wait().map(drop)
        })
        .main()
}
