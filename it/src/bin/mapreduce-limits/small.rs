//! Jobs with next to nothing to do.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use clap::Args;
use it::bed::{Given, on_small_nodes, text_of};
use it::mapreduce;
use it::results::Spread;
use it::session::told;
use serde_json::Value;

use crate::{DEADLINE, NODES};

/// Ten maps of one sample each, and the reduce that adds them up, in a session of four containers with two slots each:
/// how long until the first of them runs, and the whole command.
#[derive(Debug, Args)]
pub struct SmallOptions {
    /// One more before warms caches.
    #[arg(default_value = "25")]
    rounds: NonZeroUsize,
}

const MAPS: &str = "10";
/// Milliseconds from the command's start: until the first task runs, and in all.
const TARGETS: (f64, f64) = (50.0, 150.0);

/// Milliseconds from the command's start.
struct Took {
    first: f64,
    whole: f64,
}

pub fn run(options: &SmallOptions) -> Result<()> {
    on_small_nodes(NODES, |given| {
        let line = "start s --containers 4 --slots-per-container 2 --memory 512";
        told(given, &line.split(' ').collect::<Vec<_>>(), 0)?;
        let mut all = Vec::new();
        for round in 0..=options.rounds.get() {
            let took = once(given)?;
            if round > 0 {
                all.push(took);
            }
        }
        told(given, &["stop", "s"], 0)?;
        given.cluster.wait_until_clean(DEADLINE)?;
        let first = spread(&all, |took| took.first)?;
        let whole = spread(&all, |took| took.whole)?;
        writeln!(
            std::io::stdout(),
            "{MAPS} maps and a reduce, {NODES} nodes on one machine, {} rounds, median (min-max), ms: first task begun \
             {first} (target {:.0}), whole command {whole} (target {:.0})",
            all.len(),
            TARGETS.0,
            TARGETS.1
        )?;
        Ok(())
    })
}

fn once(given: &Given) -> Result<Took> {
    let program = text_of(&mapreduce::release_example("pi")?)?;
    let report = text_of(&given.folder.join("report.json"))?;
    let report_to = format!("--report={report}");
    let line = ["--session", "s", "-q", &report_to, &program, MAPS, "1"];
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let begin = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3;
    let finished = run.finish()?.success("the job")?;
    let told: Value = serde_json::from_slice(&std::fs::read(&report)?)?;
    let job = told["jobs"][0]["id"]
        .as_str()
        .context("the report names no job")?;
    let run = mapreduce::mr(&given.cluster, &given.folder, &["history", "--json", job])?;
    let history = run.deadline(DEADLINE).finish()?.success("its history")?;
    let history: Value = serde_json::from_str(&history.stdout_text())?;
    let began = history["began_ms"].as_f64().context("when it began")?;
    let attempts = history["attempts"].as_array().context("its attempts")?;
    let first = attempts
        .iter()
        .filter_map(|attempt| attempt["began_ms"].as_f64());
    let first = first.min_by(f64::total_cmp).context("no attempt")?;
    Ok(Took {
        first: began + first - begin,
        whole: finished.wall.as_secs_f64() * 1e3,
    })
}

fn spread(all: &[Took], of: fn(&Took) -> f64) -> Result<String> {
    let values: Vec<f64> = all.iter().map(of).collect();
    Ok(Spread::of(&values).context("no round")?.whole())
}
