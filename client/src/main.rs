//! `gerbil-run`: an `mpiexec` for stock Hadoop YARN; and `gerbil`, the front door.
//!
//! One run: the command line ([`arguments`], with its lists of hosts, [`hostfile`]) and Hadoop's own
//! settings ([`cluster`]) become a [`plan`] of the job, what it says of placement being weighed
//! in [`placement_request`]; [`preflight`] finds the nodes that [`host_names`] mean and proves that the cluster can give
//! what the job wants (what an argument names is said where it is [`missing_files`]), while [`staging`] puts
//! the program where YARN finds it. What the ApplicationMaster has to know is [`mod@describe`]d, and
//! [`follow`] submits the job and ends with the program's own exit code. With `--local` the cluster is a
//! task of this process ([`local`]), or for a session one of its own; the rest stays the same. A [`list`] is many such runs. With `--session`
//! nothing is submitted to YARN: one of the user's [`sessions`] runs the job.
//!
//! The same file is also ApplicationMaster, launcher and the launcher's helpers: YARN starts it so, with
//! a first argument that no user types. Under the name `gerbil` it is the [`subcommands`] door: a command
//! first, of which `run` is this one; [`entry`] is where both begin.

mod accelerators;
mod arguments;
mod clean;
mod closed_output;
mod cluster;
mod data;
mod describe;
mod dry_run;
mod entry;
mod environment;
mod exit_table;
mod failure;
mod frame;
mod generate;
mod hadoop;
mod history;
mod host_names;
mod hostfile;
mod list;
mod local;
mod mapreduce;
mod missing_files;
mod open_mpi;
mod outcome;
mod placement_request;
mod plan;
mod preflight;
mod probe;
mod process_manager;
mod ps;
mod results;
mod run;
mod sessions;
mod split_words;
mod subcommands;
mod system;
mod upload;
mod usage;
mod version;

use std::process::ExitCode;

use container_launcher::ContainerLog;
use job::Role;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

fn main() -> ExitCode {
    // A word that is no text is none of these.
    let first = std::env::args_os().nth(1);
    let role = first.and_then(|first| Role::from_argument(first.to_str()?));
    // It says by itself what it has to say.
    if role == Some(Role::Streaming) {
        return gerbil_streaming::main(Role::Streaming.argument());
    }
    // On a node the log is the container's own; at the user's terminal only what went wrong, and
    // what an ApplicationMaster in this process has to say comes with its verdict.
    let quiet = match role {
        Some(Role::LocalCluster) => Targets::new(),
        Some(_) => Targets::new().with_default(LevelFilter::INFO),
        None => Targets::new()
            .with_default(LevelFilter::ERROR)
            .with_target("appmaster", LevelFilter::OFF),
    };
    let asked = std::env::var("GERBIL_LOG").ok();
    let levels = asked
        .and_then(|levels| levels.parse().ok())
        .unwrap_or(quiet);
    if matches!(role, Some(Role::Appmaster | Role::ContainerLauncher)) {
        ContainerLog::keep_short();
    }
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(|| ContainerLog)
        .with_ansi(false)
        .finish()
        .with(levels)
        .init();
    match role {
        Some(Role::Appmaster) => appmaster::main(),
        Some(Role::ContainerLauncher) => container_launcher::main(),
        Some(Role::Warden) => container_launcher::warden_main(std::env::args_os().skip(2)),
        Some(Role::Topology) => container_launcher::topology_main(std::env::args_os().skip(2)),
        Some(Role::Probe) => container_launcher::probe_main(std::env::args_os().skip(2)),
        Some(Role::Pmix) => container_launcher::pmix_main(),
        Some(Role::LocalCluster) => local::daemon::main(std::env::args().skip(2)),
        Some(Role::Streaming) | None => entry::main(),
    }
}
