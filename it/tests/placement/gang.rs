//! Two jobs that need the same two nodes.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};
use it::Daemon;
use it::bed::{Case, DEADLINE, Given};

use crate::report::hosts;

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
];

/// Each wants more than half of both nodes, so that one container of each on one node, and of the
/// other on the other, is a deadlock until somebody lets go.
fn both_finish(given: &Given) -> Result<()> {
    let hosts = hosts(given);
    let program = given.script("short", "sleep 0.5")?;
    let mut let_go = 0;
    for turn in 0..6u32 {
        let mut order = hosts.clone();
        let mut jobs = Vec::new();
        for name in ["one", "two"] {
            let list = order.join(",");
            order.reverse();
            let line = [
                "--name",
                name,
                "--explain",
                "--gang-timeout",
                "5s",
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
    }
    // Whether they met is chance; that both end is not.
    writeln!(std::io::stderr(), "in 6 pairs {let_go} gangs were let go")?;
    given.is_clean()
}

fn in_the_way(given: &Given) -> Result<()> {
    let hosts = hosts(given);
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
    let hosts = hosts(given);
    let entry = format!("{}:8", hosts[1]);
    let line = ["--deploy-mode", "client", "-r", "none", "-hosts", &entry];
    let (background, _) = given.held("background", &line)?;
    let list = hosts.join(",");
    let mut waiting = given.start_held("waiting", &["--deploy-mode", "client", "-hosts", &list])?;
    waiting.running.wait_for_stderr("waiting: ")?;
    given.cluster.stop(Daemon::NodeManager(1))?;
    let finished = waiting.running.finish()?;
    let lost = background.running.finish()?;
    given.cluster.start(Daemon::NodeManager(1))?;
    given.cluster.wait_for_nodes(2)?;
    ensure!(
        finished.code() != 0 && lost.code() != 0,
        "{finished:?} {lost:?}"
    );
    let stderr = finished.stderr_text();
    ensure!(stderr.contains(&hosts[1]), "{stderr}");
    given.is_clean()
}
