//! GPUs that YARN counts: two on each of two nodes.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};

use crate::report::{hosts, reported};

/// On every release.
pub const ON_ALL: &[(&str, Case)] = &[("GPUs: each rank has one that no other has", one_each)];

pub const CASES: &[(&str, Case)] = &[
    ("GPUs: what the nodes can never give is refused", refused),
    ("GPUs: a job waits for those of another", waits),
    ("GPUs: two jobs on one node have different ones", two_jobs),
    ("GPUs: those who want none have none", none),
];

const SHOW: &str = "echo \"gpus $CUDA_VISIBLE_DEVICES\"";

/// What each rank was told, in order.
fn told(stdout: &str) -> Vec<&str> {
    let mut told: Vec<&str> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("gpus "))
        .collect();
    told.sort_unstable();
    told
}

/// Without oversubscription of what is never shared: two ranks go to each node, which has memory for more.
fn one_each(given: &Given) -> Result<()> {
    let show = given.script("show", SHOW)?;
    let (finished, report) = reported(given, &["-n", "4", "-gpus-per-proc", "1", &show])?;
    ensure!(
        told(&finished.stdout_text()) == ["0", "0", "1", "1"],
        "{finished:?}"
    );
    let gpus: Vec<u64> = (report.grants.iter())
        .map(|grant| grant.granted.gpus)
        .collect();
    ensure!(gpus == [2, 2], "{:?}", report.grants);
    let (finished, _) = reported(given, &["-n", "2", "-g", "2", &show])?;
    ensure!(
        told(&finished.stdout_text()) == ["0,1", "0,1"],
        "{finished:?}"
    );
    given.is_clean()
}

fn refused(given: &Given) -> Result<()> {
    let too_many = ["do not fit", "together hold 4", "GPUs are not shared"];
    given.fails(&["-n", "5", "-g", "1", "true"], 65, &too_many)?;
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
    let (first, _) = given.held("first", &["-n", "3", "-g", "1"])?;
    let show = given.script("show", SHOW)?;
    let mut second = given.gerbil(&["-n", "2", "-g", "1", &show])?.start()?;
    second.wait_for_stderr("waiting: ")?;
    // Many heartbeats later it still does.
    it::wait::pause(Duration::from_secs(5));
    ensure!(!second.is_over()?, "it did not wait");
    first.let_go()?;
    let second = second.finish()?.success("the job that waited")?;
    ensure!(told(&second.stdout_text()).len() == 2, "{second:?}");
    given.is_clean()
}

fn two_jobs(given: &Given) -> Result<()> {
    let host = &hosts(given)[0];
    let gate = given.folder.join("two-jobs");
    let script = format!(
        "{SHOW}; while [ ! -e {} ]; do sleep 0.1; done",
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
    ensure!(told(&all) == ["0", "1"], "{all}");
    given.is_clean()
}

fn none(given: &Given) -> Result<()> {
    let show = given.script("show", SHOW)?;
    let (_, report) = reported(given, &["-n", "2", &show])?;
    let grant = report.grants.first().context("no grant")?;
    ensure!(grant.granted.gpus == 0, "{grant:?}");
    let (hidden, _) = reported(given, &["-n", "1", "-g", "0", &show])?;
    ensure!(told(&hidden.stdout_text()) == ["-1"], "{hidden:?}");
    given.is_clean()
}
