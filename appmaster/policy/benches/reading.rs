//! How long a read order takes to name the next chunk while 64 tasks of eight jobs read; it fails when one takes longer
//! than 1 µs.
//!
//! `cargo bench -p policy --bench reading` prints the median of the rounds.

#![expect(
    clippy::disallowed_types,
    reason = "the measuring needs a clock, the measured does not"
)]

use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use policy::read_order::{ChunkCost, ReadDriver, ReadTask, read_order};
use policy::schedule::Nanos;

const TASKS: u32 = 64;
const JOBS: u32 = 8;
const ROUNDS: usize = 101;
/// Choices a round, as the clock is read twice a round.
const CHOICES: u32 = 1_000;
const LIMIT: Duration = Duration::from_micros(1);
const MIB: u64 = 1 << 20;

/// Naming, and whatever else is told of a chunk; the median of so many rounds.
fn measure(text: &str, rounds: usize) -> Option<Duration> {
    let mut driver = ReadDriver::new(read_order(text).ok()?);
    for number in 0..TASKS {
        let mut task = ReadTask::new(128 * MIB, u64::MAX, 2);
        task.job = number % JOBS;
        driver.add(task);
    }
    let mut now = 0;
    let mut round = |_| {
        let begin = Instant::now();
        for choice in 0..CHOICES {
            now += 61_000_000;
            let Some((task, bytes)) = black_box(&mut driver).next(Nanos(now)) else {
                return Duration::MAX;
            };
            driver.read(Nanos(now), task);
            driver.freed(task);
            let cost = ChunkCost {
                bytes,
                io: Nanos(61_000_000),
                transfer: Nanos(17_000_000),
                kernel: Nanos(u64::from(task.0 % JOBS + choice % 3) * 10_000_000),
            };
            driver.done(Nanos(now), task, &cost);
        }
        begin.elapsed() / CHOICES
    };
    let mut spans: Vec<Duration> = (0..rounds).map(&mut round).collect();
    spans.sort_unstable();
    spans.get(rounds / 2).copied()
}

fn run(rounds: usize) -> Option<bool> {
    let mut out = std::io::stdout().lock();
    let mut in_time = true;
    for text in [
        "spmario",
        "spmario:backlog=unit",
        "spmario-literal",
        "rr:turn=1",
        "rr:turn=16,wait=false",
        "gpmr",
    ] {
        let span = measure(text, rounds)?;
        in_time &= span <= LIMIT;
        writeln!(out, "{text}, {TASKS} tasks: {span:.0?}").ok()?;
    }
    Some(in_time)
}

fn main() -> ExitCode {
    // Cargo says so where the build is optimized; in a test run the times mean nothing.
    let measured = std::env::args().any(|argument| argument == "--bench");
    match run(if measured { ROUNDS } else { 1 }) {
        Some(in_time) if in_time || !measured => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
