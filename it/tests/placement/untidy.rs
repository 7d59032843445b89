//! A cluster with other habits: a FairScheduler that puts jobs where it likes, nodes that are named with
//! their ports, a file system under the name that its key had once, no container that is larger than a quarter of a node,
//! opportunistic containers, which nobody here asks for.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use nix::sys::signal::Signal;

use it::reported::{self, hosts};
use it::session::{start_crowded, stop};

/// Everything ends up in one queue that has not asked for the other, which is small.
pub const ALLOCATIONS: &str = "<?xml version=\"1.0\"?>
<allocations>
  <queue name=\"batch\"/>
  <queue name=\"small\"><maxResources>2048 mb,2 vcores</maxResources></queue>
  <queuePlacementPolicy>
    <rule name=\"specified\" create=\"false\"/>
    <rule name=\"default\" queue=\"root.batch\"/>
  </queuePlacementPolicy>
</allocations>
";

/// A quarter of a node: the memory of a container at the most, MiB.
pub const LARGEST: &str = "2048";

pub const CASES: &[(&str, Case)] = &[
    (
        "FairScheduler: placed, run, and in a queue of its choice",
        placed,
    ),
    ("FairScheduler: a queue that is on no list", unlisted),
    (
        "FairScheduler: a queue that gives less than there is room for",
        small,
    ),
    ("nodes named with their ports: a list of hosts", listed),
    (
        "FairScheduler: a session has several of the largest containers on one node",
        crowded,
    ),
];

fn placed(given: &Given) -> Result<()> {
    let script = given.script("rank", "echo \"$PMI_RANK\"")?;
    let finished = given.succeeds(&["-n", "6", &script])?;
    ensure!(finished.stdout_text().lines().count() == 6, "{finished:?}");
    let report = given.newest()?;
    ensure!(report.queue == "root.batch", "{report:?}");
    given.is_clean()
}

fn unlisted(given: &Given) -> Result<()> {
    let finished = given.succeeds(&["--queue", "nobodys", "-n", "2", "true"])?;
    let stderr = finished.stderr_text();
    ensure!(
        stderr.contains("the queue nobodys is not on the ResourceManager's list"),
        "{stderr}"
    );
    ensure!(
        given.newest()?.queue == "root.batch",
        "{:?}",
        given.newest()?
    );
    given.is_clean()
}

/// The ApplicationMaster has half of what the queue gives. No node is to blame.
fn small(given: &Given) -> Result<()> {
    let script = given.script("rank", "echo \"$PMI_RANK\"")?;
    let line = ["--queue", "small", "-n", "8", &script];
    let finished = given.succeeds(&line)?;
    let stderr = finished.stderr_text();
    ensure!(finished.stdout_text().lines().count() == 8, "{finished:?}");
    ensure!(
        stderr.contains("degraded: ") && !stderr.contains("answer"),
        "{stderr}"
    );
    // What must not be shared waits, and says for what.
    let whole = [
        "--queue",
        "small",
        "-n",
        "3",
        "--mem-per-proc",
        "1g",
        &script,
    ];
    let mut waiting = given.gerbil(&whole)?.start()?;
    waiting.wait_for_stderr("the queue still gives this job 0 MiB")?;
    waiting.signal(Signal::SIGINT)?;
    let stderr = waiting.finish()?.stderr_text();
    ensure!(!stderr.contains("answer"), "{stderr}");
    given.is_clean()
}

fn listed(given: &Given) -> Result<()> {
    let hosts = hosts(given);
    let entries = format!("{}:2,{}:1", hosts[1], hosts[2]);
    let script = given.script("short", "hostname >/dev/null")?;
    let line = ["-r", "none", "-hosts", &entries, &script];
    let (_, report) = reported::reported(given, &line)?;
    let shares = reported::shares(given, &report)?;
    ensure!(shares == [(1, 2), (2, 1)], "{shares:?}");
    given.is_clean()
}

/// Ten on three nodes of four quarters each, of which one is the ApplicationMaster's.
fn crowded(given: &Given) -> Result<()> {
    start_crowded(given, 10, &["--memory", "1g"])?;
    let cpi = given.example("cpi")?;
    for ranks in ["20", "3"] {
        let line = ["--session", "s", "-n", ranks, &cpi];
        let finished = given.gerbil(&line)?.finish()?.success("a gang")?;
        let printed = finished.stdout_text();
        ensure!(printed.contains("pi is about 3.14159265358"), "{printed}");
    }
    stop(given, "s")
}
