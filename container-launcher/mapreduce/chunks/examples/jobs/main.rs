//! SPMario's three jobs, computed chunk by chunk on a device, and compared with what the processor makes of the same input:
//! a multiplication of matrices (`mm`), a step of K-means (`kmc`) and the sums of a linear regression (`lr`).
//!
//! ```text
//! cargo run --release -p gerbil-chunks --example jobs -- JOB[,JOB] [MIB [TASKS [ORDER [DEVICE]]]]
//! cargo run --release -p gerbil-chunks --example jobs -- kmc 256 3
//! cargo run --release -p gerbil-chunks --example jobs -- kmc,lr 256 1 rr:turn=16
//! ```
//!
//! Each job has so many MiB of input, which are written to the folder for temporary files (`TMPDIR`) first, and an engine with so many
//! tasks; jobs that are named together run together. The device is the first one of CUDA or OpenCL; PoCL's, which are the
//! machine's processors, count.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example for people"
)]

mod job;
mod kmc;
mod lr;
mod mm;
mod seeds;

use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};
use gerbil_chunks::{ChunkTimes, Makespan, Overlap};
use read_broker::{Broker, BrokerSettings, IO_TIMEOUT};

use job::{JobRun, named};

/// Of a chunk of the jobs that take any.
const CHUNK: u64 = 8 << 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("jobs: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    let word = |place: usize, default| words.get(place).map_or(default, String::as_str);
    let number = |place, default| {
        let word: &str = word(place, default);
        let number = word.parse::<u64>().ok().filter(|number| *number > 0);
        number.with_context(|| format!("{word:?} is no whole number above 0"))
    };
    let names: Vec<&str> = word(0, "").split(',').collect();
    let (bytes, tasks) = (number(1, "256")? << 20, number(2, "2")?);
    let order = word(3, "spmario");
    if words.is_empty() || words.len() > 5 {
        bail!("JOB[,JOB] [MIB [TASKS [ORDER [DEVICE]]]] is wanted");
    }
    let folder = tempfile::tempdir()?;
    let mut jobs = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let job = named(name).with_context(|| format!("{name:?} is none of kmc, lr, mm"))?;
        let input = job::write(&*job, &folder.path().join(format!("{place}-{name}")), bytes)?;
        jobs.push((job, input));
    }
    let settings = BrokerSettings {
        folder: folder.path().to_owned(),
        key: "gpu0".to_owned(),
        order: order.to_owned(),
        io_timeout: IO_TIMEOUT,
    };
    let broker = Broker::start(settings, |_| (), |sentence| eprintln!("{sentence}"))?;
    let device = gerbil_gpu::Device::open(word(4, "0"), true)?;
    println!("{device:?}");
    let results = std::thread::scope(|scope| {
        let engines: Vec<_> = jobs
            .iter()
            .map(|(job, input)| {
                let run = JobRun {
                    job: &**job,
                    input,
                    bytes,
                    broker: broker.socket(),
                    chunk: CHUNK,
                    tasks,
                    device: word(4, "0"),
                };
                scope.spawn(move || job::run(&run))
            })
            .collect();
        let results = engines.into_iter().map(|engine| engine.join());
        results.collect::<Vec<_>>()
    });
    let mut all: Vec<ChunkTimes> = Vec::new();
    for (name, result) in names.iter().zip(results) {
        let result = result.map_err(|_panic| anyhow!("{name}: its engine has panicked"))?;
        let result = result.map_err(|error| anyhow!("{name}: {error}"))?;
        let makespan = Makespan::of(&result.chunks, Overlap::Overlap);
        println!("{name}: as the processor computes it; {makespan}");
        all.extend(result.chunks);
    }
    if names.len() > 1 {
        println!("together: {}", Makespan::of(&all, Overlap::Overlap));
    }
    Ok(())
}
