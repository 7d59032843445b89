//! `hollow up`: hollow nodes under a real ResourceManager by hand, for as long as the command runs.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use it::hollow::{Fleet, Phases, Plan, annex};
use it::{Daemon, Version, load};

const USAGE: &str =
    "usage: hollow up [--nodes N] [--version 2.10.2|3.3.6|3.4.2|3.5.0] [--memory MIB]
    [--heap MIB] [--heartbeat MS] [--together] [--without-links]
Starts a ResourceManager (and nothing else) with N nodes that run nothing, prints
`export HADOOP_CONF_DIR=...`, and takes all down at Ctrl-C or SIGTERM.
  --memory         of each node, and the largest container (8192)
  --heap           of the ResourceManager (1024)
  --heartbeat      of each node (1000)
  --together       all nodes heartbeat at one moment; otherwise they are spread over the interval
  --without-links  launchers' containers sleep; otherwise they connect to their ApplicationMaster";
/// Between two accounts of what it costs.
const ACCOUNT: Duration = Duration::from_secs(10);

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hollow: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("up") => {}
        // By the other one, for nodes that it cannot hold.
        Some(annex::COMMAND) => return annex::live(),
        _ => bail!("{USAGE}"),
    }
    let mut plan = Plan::default();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} wants a value\n{USAGE}"))
        };
        let wants = || format!("{argument} wants a number");
        match argument.as_str() {
            "--nodes" => plan.nodes = value()?.parse().with_context(wants)?,
            "--version" => plan.version = value()?.parse::<Version>()?,
            "--memory" => plan.memory_mib = value()?.parse().with_context(wants)?,
            "--heap" => plan.heap_mib = value()?.parse().with_context(wants)?,
            "--heartbeat" => {
                plan.heartbeat = Duration::from_millis(value()?.parse().with_context(wants)?);
            }
            "--together" => plan.phases = Phases::Together,
            "--without-links" => plan.links = false,
            _ => bail!("{argument}: not known\n{USAGE}"),
        }
    }
    // Caught from the beginning: a Ctrl-C while nodes register must not leave the ResourceManager.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut interrupt, mut terminate) = runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        anyhow::Ok((interrupt, signal(SignalKind::terminate())?))
    })?;
    let fleet = Fleet::start(&plan)?;
    let cluster = fleet.cluster();
    let mut stdout = std::io::stdout();
    writeln!(
        stdout,
        "# Hadoop {}, {} hollow nodes, registered within {:.1} s, heartbeat {} ms, {:?}, heap {} MiB",
        cluster.version()?,
        plan.nodes,
        fleet.registering().as_secs_f64(),
        plan.heartbeat.as_millis(),
        plan.phases,
        plan.heap_mib,
    )?;
    writeln!(
        stdout,
        "export HADOOP_CONF_DIR={}",
        cluster.conf_dir().display()
    )?;
    stdout.flush()?;
    let manager = cluster.daemon_process(Daemon::ResourceManager);
    let manager = manager.context("no ResourceManager")?;
    let usages = || -> Result<_> {
        Ok((
            load::Usage::of(manager)?,
            load::All::of(&fleet.processes())?,
        ))
    };
    let mut before = usages()?;
    loop {
        let ended = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => true,
                _ = terminate.recv() => true,
                () = tokio::time::sleep(ACCOUNT) => false,
            }
        });
        if ended {
            return Ok(());
        }
        let now = usages()?;
        let account = fleet.account()?;
        writeln!(
            stdout,
            "# ResourceManager: {:.0} MB, {:.0} % of a core; the nodes: {:.0} MB, {:.0} %; launchers: {} \
             joined, {} left{}",
            now.0.resident_mb(),
            now.0.percent_since(&before.0),
            now.1.resident_mb(),
            now.1.percent_since(&before.1),
            account.joined,
            account.left,
            account
                .trouble
                .map_or_else(String::new, |words| format!("; {words}")),
        )?;
        stdout.flush()?;
        before = now;
    }
}
