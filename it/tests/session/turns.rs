//! Whose turn it is: MPI jobs by the policy of their session.

use std::fs;

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};
use it::command::Running;
use it::session::{shows, stop, told};

use super::{fails, interrupt, job, lingering_with};

pub const CASES: &[(&str, Case)] = &[(
    "queues of a session take turns, and an unknown one is refused",
    queues,
)];

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
