//! Launchers that do not answer, at moments at which the ApplicationMaster has much to tell them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::chaos::fault::Needs;
use it::chaos::network::{Cut, TcpConnection, connections};
use it::expect;
use it::process::signal_by_id;
use it::sweep::FoundProcess;
use nix::sys::signal::Signal;

/// What every machine can try.
pub const CASES: &[(&str, Case)] = &[(
    "stuck: Ctrl-C twice while a launcher is stopped",
    interrupted_twice,
)];

/// What takes the kernel's packet filter.
pub const CUT: &[(&str, Case)] = &[("stuck: spawns across a link that is cut", spawns)];

/// The client is back, whatever the launcher does.
const AT_ONCE: Duration = Duration::from_secs(8);
/// Spawned one after the other, which takes longer than a link is silent before it is dialled anew.
const SPAWNS: usize = 60;

/// The launchers, and the ApplicationMaster.
pub(crate) fn processes(given: &Given) -> Result<(Vec<FoundProcess>, FoundProcess)> {
    let all = given.cluster.container_processes()?;
    let with = |role: job::Role| -> Vec<FoundProcess> {
        let has =
            |found: &&FoundProcess| found.arguments.iter().any(|word| word == role.argument());
        all.iter().filter(has).cloned().collect()
    };
    let launchers = with(job::Role::ContainerLauncher);
    let own = |found: &FoundProcess| {
        let mut words = found.arguments.iter();
        words
            .next()
            .is_some_and(|first| first.ends_with("gerbil-run"))
    };
    let launchers = launchers.into_iter().filter(own).collect();
    let master = with(job::Role::Appmaster).into_iter().find(own);
    Ok((launchers, master.context("no ApplicationMaster")?))
}

fn interrupted_twice(given: &Given) -> Result<()> {
    let linger = given.program("linger")?;
    let line = ["-n", "3", "-ppn", "1", &linger, "600"];
    let mut running = given.gerbil(&line)?.start()?;
    running.wait_for_stdout("ready")?;
    let (launchers, _) = processes(given)?;
    let stuck = launchers.last().context("no launcher")?.pid;
    signal_by_id(stuck, Signal::SIGSTOP)?;
    running.signal(Signal::SIGINT)?;
    running.wait_for_stderr("once more")?;
    let began = Instant::now();
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    let took = began.elapsed();
    expect::failure(&given.cluster, &finished, 130, &["interrupted"])?;
    ensure!(took < AT_ONCE, "{took:?}: {finished:?}");
    given.is_clean()
}

fn spawns(given: &Given) -> Result<()> {
    ensure!(Needs::PacketFilter.are_met(), "no packet filter");
    let program = given.program("spawn")?;
    let times = SPAWNS.to_string();
    let line = ["-n", "3", "-ppn", "1", &program, "again", &times];
    let mut running = given.gerbil(&line)?.start()?;
    running.wait_for_stdout("0: spawn success")?;
    let (launchers, master) = processes(given)?;
    let served: Vec<u16> = connections(master.pid)?
        .iter()
        .map(|found| found.local.port())
        .collect();
    let victim = launchers.last().context("no launcher")?.pid;
    let links: Vec<TcpConnection> = connections(victim)?
        .into_iter()
        .filter(|found| served.contains(&found.remote.port()))
        .collect();
    ensure!(!links.is_empty(), "{victim} has no link to the master");
    // For good: what is under way goes on over the link that is dialled instead.
    let mut cut = Cut::new()?;
    for link in links {
        cut.connection(given.cluster.folder(), link)?;
    }
    let finished = running.finish()?;
    cut.heal()?;
    ensure!(finished.code() == 0, "{finished:?}");
    let spawned = finished.stdout_text().matches("0: spawn success").count();
    ensure!(spawned == SPAWNS, "{spawned}: {finished:?}");
    ensure!(!finished.stderr_text().contains("run 2"), "{finished:?}");
    given.is_clean()
}
