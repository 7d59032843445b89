//! `hollow up`: hollow nodes under a real ResourceManager by hand, for as long as the command runs.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use it::hollow::{Fleet, FleetPlan, Phases, annex};
use it::{Daemon, Version, load};

/// A ResourceManager (and nothing else) with nodes that run nothing.
#[derive(Debug, Parser)]
enum HollowCommand {
    /// Starts them, prints `export HADOOP_CONF_DIR=...`, and takes all down at Ctrl-C or SIGTERM.
    Up {
        #[arg(long, default_value_t = FleetPlan::default().nodes)]
        nodes: usize,
        /// 2.10.2, 3.3.6, 3.4.2 or 3.5.0
        #[arg(long, default_value = "3.4.2")]
        version: Version,
        /// Of each node, in MiB, and the largest container.
        #[arg(long, default_value_t = FleetPlan::default().memory_mib)]
        memory: u64,
        /// Of the ResourceManager, in MiB.
        #[arg(long, default_value_t = FleetPlan::default().heap_mib)]
        heap: u32,
        /// Milliseconds between two reports of a node.
        #[arg(long, default_value_t = 1000)]
        heartbeat: u64,
        /// All nodes report at one moment; otherwise they are spread over the interval.
        #[arg(long)]
        together: bool,
        /// Launchers' containers sleep; otherwise they connect to their ApplicationMaster.
        #[arg(long)]
        without_links: bool,
    },
    /// By the other one, for nodes that it cannot hold.
    #[command(name = annex::COMMAND, hide = true)]
    Annex,
}
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
    let plan = match HollowCommand::parse() {
        HollowCommand::Annex => return annex::live(),
        HollowCommand::Up {
            nodes,
            version,
            memory,
            heap,
            heartbeat,
            together,
            without_links,
        } => FleetPlan {
            nodes,
            version,
            memory_mib: memory,
            heap_mib: heap,
            heartbeat: Duration::from_millis(heartbeat),
            phases: match together {
                true => Phases::Together,
                false => FleetPlan::default().phases,
            },
            links: !without_links,
            ..FleetPlan::default()
        },
    };
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
