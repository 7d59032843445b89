//! What maps have left is gathered while others still run, and read where it is.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::chaos::scene::node_of;
use it::process::signal_by_id;
use it::session::{stop, told};
use it::victims::{launchers, tasks};
use it::wait;
use job::explain::{Explained, HomeMoved, WhyMoved};
use job::history::TaskStage;
use nix::sys::signal::Signal;

use crate::{files, is_same, local, mr, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[
    (
        "what maps have left is gathered before the last one ends",
        ahead,
    ),
    (
        "a partition whose home stands still is gathered elsewhere",
        moved,
    ),
];

/// Maps that end at once, on all nodes.
const SOON: usize = 11;

/// Puts a file of so many pauses, which is the first of all, and one of each text, for a map each.
fn put_after_long(given: &Given, to: &str, pauses: usize, texts: &[String]) -> Result<String> {
    let names: Vec<String> = (0..texts.len())
        .map(|number| format!("f{number:02}"))
        .collect();
    let mut inputs: Vec<(&str, &str)> = names
        .iter()
        .zip(texts)
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let long = format!("{}last\n", "sleep\n".repeat(pauses));
    inputs.insert(0, ("a", &long));
    put(given, to, &inputs)
}

fn ahead(given: &Given) -> Result<()> {
    let words: Vec<String> = (0..SOON)
        .map(|number| {
            (0..2_000).fold(String::new(), |text, word| {
                text + &format!("{number}-{word}\n")
            })
        })
        .collect();
    // The first map of all takes as long as gathering may take on a machine that has other things to do.
    let input = put_after_long(given, "/homes/in", 60, &words)?;
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

/// Words of each map that ends soon, and their length: a third of them is more than a home may lack of four maps.
const WORDS: usize = 30_000;
const LENGTH: usize = 140;
/// For a task to have read its input.
const READ: Duration = Duration::from_secs(1);

fn moved(given: &Given) -> Result<()> {
    let words: Vec<String> = (0..8)
        .map(|number| {
            // Homes are chosen when the launcher stands still.
            (0..WORDS).fold("sleep\n".repeat(6), |text, word| {
                text + &format!("{:0>LENGTH$}\n", word * 10 + number)
            })
        })
        .collect();
    // One container has the first map alone, and has left nothing that others would wait for.
    let input = put_after_long(given, "/moved/in", 90, &words)?;
    let line = "start s --containers 3 --slots-per-container 1 --memory 768";
    told(given, &line.split(' ').collect::<Vec<_>>(), 0)?;
    let faulty = program("faulty")?;
    let report = given.folder.join("moved.json");
    let explained = given.folder.join("moved.jsonl");
    let report_to = format!("--report={}", report.display());
    let explain_to = format!("--explain={}", explained.display());
    let line = [
        &report_to,
        &explain_to,
        "--json",
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.map.speculative=false",
        "-D",
        "mapreduce.map.output.compress=false",
        &faulty,
        "--reduces",
        "3",
        "/moved/in",
        "/moved/out",
    ];
    let events = || -> Result<Vec<Explained>> {
        let text = std::fs::read_to_string(&explained).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let events = whole.lines().map(serde_json::from_str);
        Ok(events.collect::<Result<_, _>>()?)
    };
    let running = mr(given, &line)?.start()?;
    let container = wait::until("the long map", DEADLINE, || {
        Ok(events()?.into_iter().find_map(|event| match event {
            Explained::TaskPlaced(placed) if placed.task == 0 => Some(placed.container),
            _ => None,
        }))
    })?;
    wait::until("its process", DEADLINE, || {
        let mut tasks = tasks(&given.cluster)?.into_iter();
        Ok(tasks.find(|found| found.container.as_ref() == Some(&container)))
    })?;
    wait::pause(READ);
    let mut all = launchers(&given.cluster)?.into_iter();
    let home = all.find(|found| found.container.as_ref() == Some(&container));
    let home = home.context("no launcher in that container")?;
    signal_by_id(home.pid, Signal::SIGSTOP)?;
    let moves = || -> Result<Vec<HomeMoved>> {
        let events = events()?.into_iter();
        let moves = events.filter_map(|event| match event {
            Explained::HomeMoved(moved) => Some(moved),
            _ => None,
        });
        Ok(moves.collect())
    };
    // It is given up after 40 s.
    let waited = wait::until("a move", Duration::from_secs(30), || {
        Ok((!moves()?.is_empty()).then_some(()))
    });
    signal_by_id(home.pid, Signal::SIGCONT)?;
    waited.with_context(|| running.stderr_so_far())?;
    running.finish()?.success("a job whose home stood still")?;
    let host = node_of(&home).context("the launcher has no host")?;
    let moves = moves()?;
    let [one] = &moves[..] else {
        anyhow::bail!("{moves:?}");
    };
    ensure!(
        one.why == WhyMoved::Lags && one.from == host && one.to != host,
        "{one:?}, and {host} stood still"
    );
    let reduce = events()?.into_iter().find_map(|event| match event {
        Explained::TaskPlaced(placed) => {
            (placed.stage == TaskStage::Reduce && placed.task == one.partition).then_some(placed)
        }
        _ => None,
    });
    let reduce = reduce.context("no reduce of that partition")?;
    ensure!(
        reduce.input_hosts == [one.to.as_str()],
        "{reduce:?}, and {one:?}"
    );
    let report: job::MapReduceReport = serde_json::from_slice(&std::fs::read(&report)?)?;
    let tasks = report.jobs.first().and_then(|job| job.tasks.clone());
    let tasks = tasks.context("no job")?;
    let own = tasks
        .counters
        .get("gerbil")
        .context("nothing was counted")?;
    ensure!(
        own.get("HOMES_MOVED") == Some(&1)
            && own.get("GATHERED_AHEAD_READ_BYTES") > Some(&0)
            && tasks.failed_attempts == 0,
        "{tasks:?}"
    );
    let here = local(given, &faulty, &["--reduces", "3", &input], "moved")?;
    is_same(&files(given, "/moved/out")?, &here)?;
    stop(given, "s")
}
