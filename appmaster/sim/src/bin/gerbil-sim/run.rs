//! `gerbil-sim run`: plays a workload.

use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use policy::schedule::named;
use sim::{Workload, WorkloadRun, gantt, record, report, trace};

use crate::{SimOptions, USAGE};

pub(crate) fn run(options: &SimOptions) -> Result<()> {
    let [path] = options.given.as_slice() else {
        bail!("run wants one workload\n{USAGE}")
    };
    let mut workload = Workload::read(path)?;
    if let Some(path) = &options.trace {
        let jobs = trace::read(path)?;
        workload = workload.with_jobs(jobs.iter().map(trace::played).collect())?;
    }
    let begin = Instant::now();
    let mut play = WorkloadRun::new(&workload, named(options.policy())?).timed();
    if options.record.is_some() {
        play = play.recording();
    }
    let outcome = play.play()?;
    let took = begin.elapsed();
    if options.decisions {
        for (at, decision) in &outcome.decisions {
            println!(
                "{:>12.6} {decision:?}",
                std::time::Duration::from_nanos(at.0).as_secs_f64()
            );
        }
    }
    print!("{}", report::table(&outcome));
    println!(
        "{} events in {:.3} s; about {:.3} s of processor time in the session and its policy (one event of {} was timed)",
        outcome.events,
        took.as_secs_f64(),
        outcome.deciding.as_secs_f64(),
        sim::TIMED_OF
    );
    if let Some(path) = &options.record {
        let file = File::create(path).with_context(|| format!("writing {}", path.display()))?;
        record::write(&outcome.record, BufWriter::new(file))?;
    }
    if let Some(path) = &options.svg {
        std::fs::write(path, gantt::svg(&outcome))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    if let Some(path) = &options.json {
        let bars = serde_json::to_string_pretty(&outcome.bars)?;
        std::fs::write(path, bars).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
