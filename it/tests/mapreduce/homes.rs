//! What maps have left is gathered while others still run, and read where it is.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::session::stop;

use crate::{files, is_same, local, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "what maps have left is gathered before the last one ends",
    ahead,
)];

/// Maps that end at once, on all nodes.
const SOON: usize = 11;

fn ahead(given: &Given) -> Result<()> {
    let names: Vec<String> = (0..SOON).map(|number| format!("f{number:02}")).collect();
    let words: Vec<String> = (0..SOON)
        .map(|number| {
            (0..2_000).fold(String::new(), |text, word| {
                text + &format!("{number}-{word}\n")
            })
        })
        .collect();
    let mut inputs: Vec<(&str, &str)> = names
        .iter()
        .zip(&words)
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    // The first map of all takes as long as gathering may take on a machine that has other things to do.
    let long = format!("{}last\n", "sleep\n".repeat(60));
    inputs.insert(0, ("a", &long));
    let input = put(given, "/homes/in", &inputs)?;
    start(given)?;
    let faulty = program("faulty")?;
    let report = given.folder.join("homes.json");
    let report_to = format!("--report={}", report.display());
    let line = [
        &report_to,
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.map.speculative=false",
        "-D",
        "mapreduce.job.reduces=3",
        &faulty,
        "/homes/in",
        "/homes/out",
    ];
    succeeds(given, &line)?;
    let report: job::MapReduceReport = serde_json::from_slice(&std::fs::read(&report)?)?;
    let tasks = report.jobs.first().and_then(|job| job.tasks.clone());
    let counters = tasks.context("no job")?.counters;
    let own = counters.get("gerbil").context("nothing was counted")?;
    let count = |name: &str| own.get(name).copied().unwrap_or_default();
    let (gathered, read) = (
        count("GATHERED_AHEAD_BYTES"),
        count("GATHERED_AHEAD_READ_BYTES"),
    );
    ensure!(
        gathered > 0 && read > 0 && read <= gathered,
        "{gathered} bytes were gathered ahead and {read} of them read: {own:?}"
    );
    let here = local(
        given,
        &faulty,
        &["-D", "mapreduce.job.reduces=3", &input],
        "homes",
    )?;
    is_same(&files(given, "/homes/out")?, &here)?;
    stop(given, "s")
}
