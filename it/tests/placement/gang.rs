//! Two jobs that need the same two nodes, the two large ones.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use it::Daemon;
use it::bed::{Case, DEADLINE, Given, text_of};

use crate::UNITS;
use it::reported::{self, hosts};

pub const CASES: &[(&str, Case)] = &[
    (
        "gang: two jobs that each hold half both finish",
        both_finish,
    ),
    (
        "gang: a job that cannot start in time says who is in the way",
        in_the_way,
    ),
    ("gang: a listed host that is lost ends the wait", host_lost),
    (
        "gang: what stalls is placed again where there is room by now",
        placed_again,
    ),
];

/// The two nodes that are as large as any.
fn large(given: &Given) -> Vec<String> {
    let mut hosts = hosts(given);
    hosts.truncate(2);
    hosts
}

/// Each wants more than half of both nodes, so that one container of each on one node, and of the
/// other on the other, is a deadlock until somebody lets go: the younger one, long before its gang's own
/// deadline.
fn both_finish(given: &Given) -> Result<()> {
    let hosts = large(given);
    let program = given.script("short", "sleep 0.5")?;
    let (mut let_go, mut longest) = (0, Duration::ZERO);
    for turn in 0..6u32 {
        let mut order = hosts.clone();
        let mut jobs = Vec::new();
        let began = Instant::now();
        for name in ["one", "two"] {
            let list = order.join(",");
            order.reverse();
            let line = [
                "--name",
                name,
                "--explain",
                "-o",
                "false",
                "--mem-per-proc",
                "5g",
                "-hosts",
                &list,
                &program,
            ];
            jobs.push(given.gerbil(&line)?.deadline(DEADLINE).start()?);
            // At any phase of the nodes' heartbeats.
            it::wait::pause(Duration::from_millis(u64::from(turn) * 137 % 700));
        }
        for job in jobs {
            let finished = job.finish()?.success("one of two jobs")?;
            let_go += finished.stderr_text().matches("given back").count();
        }
        longest = longest.max(began.elapsed());
    }
    // Whether they met is chance; that both end is not.
    writeln!(
        std::io::stderr(),
        "in 6 pairs {let_go} gangs were let go, and the longest took {longest:.1?}"
    )?;
    given.is_clean()
}

fn in_the_way(given: &Given) -> Result<()> {
    let hosts = large(given);
    let (background, report) = given.held(
        "background",
        &[
            "--deploy-mode",
            "client",
            "-r",
            "none",
            "-hosts",
            &format!("{}:8", hosts[1]),
        ],
    )?;
    let program = given.script("short", "true")?;
    let list = hosts.join(",");
    let line = ["--wait-timeout", "4s", "-hosts", &list, &program];
    let finished = given.gerbil(&line)?.finish()?;
    ensure!(finished.code() != 0, "{finished:?}");
    let stderr = finished.stderr_text();
    for word in [hosts[1].as_str(), &report.id, "background"] {
        ensure!(stderr.contains(word), "no {word} in {stderr}");
    }
    background.let_go()?;
    given.is_clean()
}

fn host_lost(given: &Given) -> Result<()> {
    let hosts = large(given);
    let entry = format!("{}:8", hosts[1]);
    // It would wait for three minutes for the host to come back.
    let line = ["--deploy-mode", "client", "-r", "none", "-hosts", &entry];
    let line = [&line[..], &["--wait-timeout", "20s"]].concat();
    let (background, _) = given.held("background", &line)?;
    let list = hosts.join(",");
    let mut waiting = given.start_held("waiting", &["--deploy-mode", "client", "-hosts", &list])?;
    waiting.running.wait_for_stderr("waiting: ")?;
    given.cluster.stop(Daemon::NodeManager(1))?;
    let finished = waiting.running.finish()?;
    let lost = background.running.finish()?;
    given.cluster.start(Daemon::NodeManager(1))?;
    given.cluster.wait_for_nodes(UNITS.len())?;
    ensure!(
        finished.code() != 0 && lost.code() != 0,
        "{finished:?} {lost:?}"
    );
    let stderr = finished.stderr_text();
    ensure!(stderr.contains(&hosts[1]), "{stderr}");
    given.is_clean()
}

/// Both nodes that have room for all of it are full, so that the job is asked for on the first; the second is free first.
fn placed_again(given: &Given) -> Result<()> {
    let hosts = large(given);
    let fill = |name: &str, host: &str| {
        let entry = format!("{host}:8");
        let line = ["--deploy-mode", "client", "-r", "none", "-hosts", &entry];
        given.held(name, &line)
    };
    let (stays, _) = fill("stays", &hosts[0])?;
    let (goes, _) = fill("goes", &hosts[1])?;
    let program = given.script("short", "hostname >/dev/null")?;
    let path = text_of(&given.folder.join("report.json"))?;
    let entry = format!("{}:8", hosts[0]);
    let line = ["--deploy-mode", "client", "-r", "loc", "-hosts", &entry];
    let line = [&line[..], &["-o", "false", "--report", &path, &program]].concat();
    let mut waiting = given.gerbil(&line)?.start()?;
    waiting.wait_for_stderr("waiting: ")?;
    goes.let_go()?;
    waiting.finish()?.success("the job that was placed again")?;
    stays.let_go()?;
    let report = reported::read(&path)?;
    let shares = reported::shares(given, &report)?;
    ensure!(shares == [(1, 8)], "{shares:?}");
    ensure!(report.asking_allocates > 1, "{report:?}");
    given.is_clean()
}
