//! GPUs that YARN counts, [`GPUS`] on each node.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::reported::{SHOW_GPUS, gpus_told, hosts, reported};

use crate::{GPUS, NODES};

pub const CASES: &[(&str, Case)] = &[("GPUs: each rank has one that no other has", one_each)];

/// Of one release.
pub const FURTHER: &[(&str, Case)] = &[
    ("GPUs: what the nodes can never give is refused", refused),
    ("GPUs: a job waits for those of another", waits),
    ("GPUs: two jobs on one node have different ones", two_jobs),
    ("GPUs: those who want none have none", none),
    ("GPUs: spawned processes see none that others have", spawned),
];

/// What is never shared places the ranks: as many go to each node as it has GPUs, though it has memory
/// for more.
fn one_each(given: &Given) -> Result<()> {
    let show = given.script("show", SHOW_GPUS)?;
    let nodes = NODES.to_string();
    let ranks = (NODES * GPUS as usize).to_string();
    let (finished, report) = reported(given, &["-n", &ranks, "-gpus-per-proc", "1", &show])?;
    let stdout = finished.stdout_text();
    ensure!(
        gpus_told(&stdout) == [["0"; NODES], ["1"; NODES]].concat(),
        "{stdout}"
    );
    let gpus: Vec<u64> = (report.grants.iter())
        .map(|grant| grant.granted.gpus)
        .collect();
    ensure!(gpus == [u64::from(GPUS); NODES], "{:?}", report.grants);
    let (finished, _) = reported(given, &["-n", &nodes, "-g", "2", &show])?;
    let stdout = finished.stdout_text();
    ensure!(gpus_told(&stdout) == ["0,1"; NODES], "{stdout}");
    given.is_clean()
}

fn refused(given: &Given) -> Result<()> {
    let too_many = ["do not fit", "together hold 8", "GPUs are not shared"];
    given.fails(&["-n", "9", "-g", "1", "true"], 65, &too_many)?;
    let too_large = ["3 GPUs", "2 GPUs", "-gpus-per-proc"];
    given.fails(&["-n", "1", "-g", "3", "true"], 65, &too_large)?;
    let host = &hosts(given)[0];
    let list = format!("{host}:3");
    given.fails(
        &["-r", "none", "-hosts", &list, "-g", "1", "true"],
        65,
        &["can never hold 3 processes", "yarn.io/gpu"],
    )?;
    Ok(())
}

fn waits(given: &Given) -> Result<()> {
    let (first, _) = given.held("first", &["-n", "7", "-g", "1"])?;
    let show = given.script("show", SHOW_GPUS)?;
    let mut second = given.gerbil(&["-n", "2", "-g", "1", &show])?.start()?;
    second.wait_for_stderr("waiting: ")?;
    // Many heartbeats later it still does.
    it::wait::pause(Duration::from_secs(5));
    ensure!(!second.is_over()?, "it did not wait");
    first.let_go()?;
    let second = second.finish()?.success("the job that waited")?;
    ensure!(gpus_told(&second.stdout_text()).len() == 2, "{second:?}");
    given.is_clean()
}

fn two_jobs(given: &Given) -> Result<()> {
    let host = &hosts(given)[0];
    let gate = given.folder.join("two-jobs");
    let script = format!(
        "{SHOW_GPUS}; while [ ! -e {} ]; do sleep 0.1; done",
        gate.display()
    );
    let show = given.script("show-and-stay", &script)?;
    let mut jobs = Vec::new();
    for _ in 0..2 {
        let line = ["-n", "1", "-r", "none", "-hosts", host, "-g", "1", &show];
        let mut job = given.gerbil(&line)?.deadline(DEADLINE).start()?;
        job.wait_for_stdout("gpus ")?;
        jobs.push(job);
    }
    std::fs::write(&gate, "")?;
    let mut all = String::new();
    for job in jobs {
        let finished = job.finish()?.success("one of two jobs")?;
        all.push_str(&finished.stdout_text());
    }
    ensure!(gpus_told(&all) == ["0", "1"], "{all}");
    given.is_clean()
}

fn none(given: &Given) -> Result<()> {
    let show = given.script("show", SHOW_GPUS)?;
    let (_, report) = reported(given, &["-n", "2", &show])?;
    let grant = report.grants.first().context("no grant")?;
    ensure!(grant.granted.gpus == 0, "{grant:?}");
    let (hidden, _) = reported(given, &["-n", "1", "-g", "0", &show])?;
    ensure!(gpus_told(&hidden.stdout_text()) == ["-1"], "{hidden:?}");
    given.is_clean()
}

/// The container has one, which is its rank's; the node has another, which is nobody's.
fn spawned(given: &Given) -> Result<()> {
    let host = &hosts(given)[0];
    let program = given.program("spawn")?;
    let child = given.script(
        "show-and-be",
        &format!("{SHOW_GPUS}; exec {program} \"$@\""),
    )?;
    let line = ["-n", "1", "-r", "none", "-hosts", host, "-g", "1"];
    let line = [&line[..], &[&program, "spawn", "2", &child]].concat();
    let stdout = given.succeeds(&line)?.stdout_text();
    ensure!(stdout.contains("0: spawn success"), "{stdout}");
    ensure!(gpus_told(&stdout) == ["-1", "-1"], "{stdout}");
    Ok(())
}
