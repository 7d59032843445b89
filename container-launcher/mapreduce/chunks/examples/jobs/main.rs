//! SPMario's three jobs, computed chunk by chunk on a device, and compared with what the processor makes of the same input:
//! a multiplication of matrices (`mm`), a step of K-means (`kmc`) and the sums of a linear regression (`lr`).
//!
//! ```text
//! cargo run --release -p gerbil-chunks --example jobs -- JOB[,JOB] [MIB [TASKS [ORDER [DEVICE]]]] [OPTIONS]
//! cargo run --release -p gerbil-chunks --example jobs -- kmc 256 3
//! cargo run --release -p gerbil-chunks --example jobs -- kmc,lr 256 1 rr:turn=16
//! ```
//!
//! Each job has so many MiB of input, which are written to the folder for temporary files (`TMPDIR`) first, and an engine with so many
//! tasks; jobs that are named together run together. The device is the first one of CUDA or OpenCL; PoCL's, which are the
//! machine's processors, count.
//!
//! | option | |
//! |---|---|
//! | `--chunk=MIB` | of a chunk of `kmc` and `lr`: 8 |
//! | `--centres=N` | of `kmc`, a multiple of 16: 16 |
//! | `--disk=MB` | what the disk reads a second, for all jobs together: as much as it can |
//! | `--unchecked` | nothing is compared |

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

/// What is wanted.
#[derive(Debug)]
struct JobsOptions {
    /// Bytes of a chunk of the jobs that take any.
    chunk: u64,
    centres: u64,
    /// Bytes a second.
    disk: Option<u64>,
    checked: bool,
}

/// Options, and the other words.
fn options(words: &[String]) -> Result<(JobsOptions, Vec<&str>)> {
    let mut options = JobsOptions {
        chunk: 8 << 20,
        centres: 16,
        disk: None,
        checked: true,
    };
    let mut others = Vec::new();
    for word in words {
        let Some(option) = word.strip_prefix("--") else {
            others.push(word.as_str());
            continue;
        };
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number = value.parse::<u64>().ok();
        let number = number.filter(|number| (1..1 << 20).contains(number));
        match (name, number) {
            ("chunk", Some(mib)) => options.chunk = mib << 20,
            ("centres", Some(count)) if count.is_multiple_of(16) => options.centres = count,
            ("disk", Some(mb)) => options.disk = Some(mb * 1_000_000),
            ("unchecked", None) if value.is_empty() => options.checked = false,
            _ => bail!("{word}: --chunk=MIB, --centres=N, --disk=MB and --unchecked are known"),
        }
    }
    Ok((options, others))
}

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
    let (options, words) = options(words)?;
    let word = |place: usize, default| words.get(place).copied().unwrap_or(default);
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
        let job = named(name, options.centres)
            .with_context(|| format!("{name:?} is none of kmc, lr, mm"))?;
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
    let line = folder.path().join("disk");
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
                    chunk: options.chunk,
                    tasks,
                    device: word(4, "0"),
                    disk: options.disk.map(|rate| (rate, line.as_path())),
                    checked: options.checked,
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
        let checked = match options.checked {
            true => "as the processor computes it; ",
            false => "",
        };
        println!("{name}: {checked}{makespan}");
        if let Some(degraded) = result.degraded {
            println!("{name}: {degraded}");
        }
        all.extend(result.chunks);
    }
    if names.len() > 1 {
        println!("together: {}", Makespan::of(&all, Overlap::Overlap));
    }
    Ok(())
}
