//! Whose turn it is: MPI jobs by the policy of their session.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, text_of};
use it::command::Running;
use it::session::{shows, start, stop, told};

use super::{fails, interrupt, job, lingering_with};

pub const CASES: &[(&str, Case)] = &[
    (
        "queues of a session take turns, and an unknown one is refused",
        queues,
    ),
    ("a Gantt chart of two gangs among small jobs", gantt),
];

/// A job of a queue that writes its name into the book when it runs.
fn booked(given: &Given, queue: &str, name: &str, ranks: &str) -> Result<Running> {
    let book = text_of(&given.folder.join("book"))?;
    let script = format!("[ $PMI_RANK = 0 ] && echo {name} >>{book}; true");
    let line = ["--queue", queue, "-n", ranks, "sh", "-c", &script];
    job(given, &line)?.start()
}

fn queues(given: &Given) -> Result<()> {
    let line = [
        "start",
        "s",
        "--containers",
        "3",
        "--slots-per-container",
        "2",
    ];
    let policy = [
        "--memory",
        "256",
        "--policy",
        "capacity:queue.prod=50,queue.test=50",
    ];
    told(given, &[&line[..], &policy].concat(), 0)?;
    let words = ["has no queue nowhere; there are default, prod, test"];
    fails(given, &["--queue", "nowhere", "true"], 65, &words)?;
    // All that is there, held by both queues; behind it four more, those of one queue first.
    let of_prod = lingering_with(given, &["--queue", "prod", "-n", "4"])?;
    let of_test = lingering_with(given, &["--queue", "test", "-n", "2"])?;
    let shown = told(given, &["status", "s", "--json"], 0)?.stdout_text();
    let status: serde_json::Value = serde_json::from_str(&shown)?;
    let slots = |job: usize| {
        let shares = status["jobs"][job]["shares"]
            .as_array()
            .into_iter()
            .flatten();
        shares
            .filter_map(|share| share["slots"].as_u64())
            .sum::<u64>()
    };
    ensure!(slots(0) == 4 && slots(1) == 2, "{shown}");
    ensure!(status["jobs"][0]["queue"] == "prod", "{shown}");
    let mut waiting = Vec::new();
    for (queue, name, count) in [
        ("prod", "prod-1", "1 waiting"),
        ("prod", "prod-2", "2 waiting"),
        ("test", "test-1", "3 waiting"),
    ] {
        waiting.push(booked(given, queue, name, "2")?);
        shows(given, count)?;
    }
    // With two slots free that of the queue with less is next, though it came last.
    interrupt(of_test)?;
    for running in waiting {
        running.finish()?.success("one that waited")?;
    }
    let book = fs::read_to_string(given.folder.join("book"))?;
    ensure!(book == "test-1\nprod-1\nprod-2\n", "{book}");
    interrupt(of_prod)?;
    stop(given, "s")
}

/// Two gangs as wide as the session, or nearly, among small jobs that never leave it free: both get through, and the
/// session's own chart shows that nothing had a slot that was another's.
fn gantt(given: &Given) -> Result<()> {
    start(given, "s")?;
    let small = |count: usize| -> Result<Vec<Running>> {
        let one = |_| job(given, &["-n", "1", "sleep", "0.5"])?.start();
        (0..count).map(one).collect()
    };
    let mut jobs = small(8)?;
    jobs.push(job(given, &["-n", "6", "sleep", "1"])?.start()?);
    jobs.extend(small(4)?);
    jobs.push(job(given, &["-n", "4", "sleep", "1"])?.start()?);
    jobs.extend(small(4)?);
    for running in jobs {
        running.finish()?.success("a job among others")?;
    }
    shows(given, "no job runs, 0 waiting, 18 ended")?;
    let write = |name: &str| -> Result<String> {
        let file = text_of(&given.folder.join(name))?;
        let said = told(given, &["status", "s", "--gantt", &file], 0)?.stderr_text();
        ensure!(said.contains("what 18 jobs of session s had"), "{said}");
        Ok(fs::read_to_string(file)?)
    };
    let text = write("gantt.json")?;
    let chart: serde_json::Value = serde_json::from_str(&text)?;
    let bars = chart["bars"].as_array().context("bars")?;
    ensure!(bars.len() == 26, "{text}");
    let wide = |processes: usize| -> Result<Vec<&serde_json::Value>> {
        let of = |job: &str| bars.iter().filter(|bar| bar["job"] == job).collect();
        let jobs = bars.iter().filter_map(|bar| bar["job"].as_str());
        let mut all = jobs.map(of);
        let found = all.find(|of: &Vec<_>| of.len() == processes);
        found.with_context(|| format!("no gang of {processes} in {text}"))
    };
    for processes in [6, 4] {
        let bars = wide(processes)?;
        let at_once = bars.iter().all(|bar| bar["begin_s"] == bars[0]["begin_s"]);
        ensure!(at_once, "{bars:?}");
        let nodes: BTreeSet<_> = bars.iter().filter_map(|bar| bar["node"].as_str()).collect();
        ensure!(nodes.len() >= processes / 2, "{nodes:?}");
    }
    // Six slots are six rows, and no bar lies on another.
    let slots: BTreeSet<u64> = bars.iter().filter_map(|bar| bar["slot"].as_u64()).collect();
    ensure!(slots.len() <= 6, "{text}");
    for pair in bars.windows(2) {
        let is_apart = pair[0]["slot"] != pair[1]["slot"]
            || pair[0]["end_s"].as_f64() <= pair[1]["begin_s"].as_f64();
        ensure!(is_apart, "{pair:?}");
    }
    ensure!(bars.iter().all(|bar| bar["how"] == "done"), "{text}");
    let picture = write("gantt.svg")?;
    ensure!(picture.matches("<rect").count() == 26, "{picture}");
    stop(given, "s")
}
