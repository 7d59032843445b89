//! Sessions, as the suites on them use them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::bed::{DEADLINE, Given};
use crate::resource_manager::ApplicationReport;
use crate::{Finished, Run, gerbil, wait};

/// For a session to know what has become of a job or a container.
const SHOWN: Duration = Duration::from_secs(60);

/// `gerbil session WORDS`.
///
/// # Errors
///
/// It is not so, or cannot be found out; so for all here.
pub fn session(given: &Given, words: &[&str]) -> Result<Run> {
    command(given, &[&["session"], words].concat())
}

/// `gerbil WORDS`.
///
/// # Errors
///
/// There is no build of `gerbil-run`.
pub fn command(given: &Given, words: &[&str]) -> Result<Run> {
    let command = gerbil::gerbil(&given.folder, &given.cluster.conf_dir(), words)?;
    Ok(Run::new(command).deadline(DEADLINE))
}

/// The same, which returns `code`.
///
/// # Errors
///
/// As [`session()`].
pub fn told(given: &Given, words: &[&str], code: i32) -> Result<Finished> {
    let finished = session(given, words)?.finish()?;
    ensure!(
        finished.code() == code,
        "{words:?}: {} instead of {code}\n{}{}",
        finished.code(),
        finished.stdout_text(),
        finished.stderr_text()
    );
    Ok(finished)
}

/// Starts one: a container of two slots on each of three nodes.
///
/// # Errors
///
/// As [`session()`].
pub fn start(given: &Given, name: &str) -> Result<()> {
    start_with(given, name, "256")
}

/// The same, with slots of so many MiB.
///
/// # Errors
///
/// As [`session()`].
pub fn start_with(given: &Given, name: &str, memory: &str) -> Result<()> {
    let line = [
        "--containers",
        "3",
        "--slots-per-container",
        "2",
        "--memory",
        memory,
    ];
    let ready = told(given, &[&["start", name], &line[..]].concat(), 0)?;
    let wanted = format!("session {name} is ready, with 6 slots");
    ensure!(
        ready.stdout_text().starts_with(&wanted),
        "{}",
        ready.stdout_text()
    );
    let report = given.newest()?;
    ensure!(
        report.name == format!("gerbil session {name}") && report.application_type == "GERBIL",
        "{report:?}"
    );
    Ok(())
}

/// Ends it; YARN records a success, and nothing is left.
///
/// # Errors
///
/// As [`session()`].
pub fn stop(given: &Given, name: &str) -> Result<()> {
    let id = given.newest()?.id;
    let over = told(given, &["stop", name], 0)?;
    ensure!(
        over.stderr_text().contains("is over"),
        "{}",
        over.stderr_text()
    );
    let report = application(given, &id)?;
    ensure!(
        report.state == "FINISHED" && report.final_status == "SUCCEEDED",
        "{report:?}"
    );
    given.is_clean()?;
    told(given, &["status", name], 64)?;
    Ok(())
}

/// What YARN says of an application.
///
/// # Errors
///
/// As [`session()`].
pub fn application(given: &Given, id: &str) -> Result<ApplicationReport> {
    let all = given.applications()?;
    let found = all.into_iter().find(|report| report.id == id);
    found.ok_or_else(|| anyhow::anyhow!("no {id}"))
}

/// Until the status of session `s` shows `words`.
///
/// # Errors
///
/// As [`session()`].
pub fn shows(given: &Given, words: &str) -> Result<String> {
    let mut shown = String::new();
    let seen = wait::until(words, SHOWN, || {
        shown = told(given, &["status", "s"], 0)?.stdout_text();
        Ok(shown.contains(words).then_some(()))
    });
    seen.with_context(|| shown.clone())?;
    Ok(shown)
}

/// The containers of session `s` by host, each by YARN's id.
///
/// # Errors
///
/// As [`session()`].
pub fn hosts(given: &Given) -> Result<BTreeMap<String, Vec<String>>> {
    let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for of in containers(given)? {
        let text = |name: &str| of[name].as_str().map(str::to_owned);
        let there = hosts.entry(text("host").context("no host")?).or_default();
        there.push(text("container").context("no container")?);
    }
    Ok(hosts)
}

/// What the status of session `s` says of each of its containers.
///
/// # Errors
///
/// As [`session()`].
pub fn containers(given: &Given) -> Result<Vec<Value>> {
    let told = told(given, &["status", "s", "--json"], 0)?.stdout_text();
    let status: Value = serde_json::from_str(&told)?;
    let containers = status["containers"].as_array().context("no containers")?;
    Ok(containers.clone())
}

/// Starts session `s`, of so many containers of two slots, more than the cluster has nodes: each node has one before
/// any has two.
///
/// # Errors
///
/// As [`session()`].
pub fn start_crowded(given: &Given, containers: usize, options: &[&str]) -> Result<()> {
    let count = containers.to_string();
    let size = ["--slots-per-container", "2", "--containers", &count];
    told(given, &[&["start", "s"], &size[..], options].concat(), 0)?;
    let on = hosts(given)?;
    ensure!(on.len() == given.cluster.nodes().len(), "{on:?}");
    let all: usize = on.values().map(Vec::len).sum();
    ensure!(all == containers && all > on.len(), "{on:?}");
    Ok(())
}
