//! `gerbil-run`: an `mpiexec` for stock Hadoop YARN.
//!
//! One run: the command line ([`arguments`], with its lists of hosts, [`hostfile`]) and Hadoop's own
//! settings become a job that is fully [`resolve`]d, what it says of placement being weighed in
//! [`wanted`]; [`preflight`] finds the nodes that [`names`] mean and proves that the cluster can give
//! what the job wants (what an argument names is said where it is [`left_here`]), while [`staging`] puts the program where YARN finds it; [`submit`] hands the
//! application over, with the [`keys`] of this one job; [`follow`] waits for its ApplicationMaster,
//! attaches, mirrors output ([`streams`]), input and signals, and ends with the program's own exit
//! code. With `--deploy-mode client` the ApplicationMaster is a task of this process ([`unmanaged`]),
//! with `--local` the cluster is too ([`local`]); the rest stays the same. What was decided is
//! [`explained`], what it came to is a [`report`]; a [`list`] is many such runs.
//!
//! The same file is also ApplicationMaster, launcher and the launcher's helpers: YARN starts it so, with
//! a first argument that no user types. Under the name `gerbil` it is the [`front`] door: a command
//! first, of which `run` is this one.

mod arguments;
mod attempts;
mod cluster;
mod data;
mod describe;
mod dry_run;
mod ended;
mod ends;
mod entry;
mod environment;
mod explained;
mod failure;
mod follow;
mod front;
mod generate;
mod history;
mod holders;
mod hostfile;
mod interrupt;
mod kept;
mod keys;
mod kill;
mod label;
mod lanes;
mod left_here;
mod link;
mod list;
mod local;
mod names;
mod outlet;
mod own_address;
mod patience;
mod pattern;
mod preflight;
mod progress;
mod ps;
mod report;
mod resolve;
mod run;
mod streams;
mod submit;
mod table;
mod tell;
mod terminal;
mod timing;
mod unmanaged;
mod wanted;
mod words;
mod write_whole;

use std::process::ExitCode;

use job::Role;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    // A word that is no text is none of these.
    let first = std::env::args_os().nth(1);
    let role = first.and_then(|first| Role::from_argument(first.to_str()?));
    // On a node the log is the container's own; at the user's terminal only what went wrong, and
    // what an ApplicationMaster in this process has to say comes with its verdict.
    let level = match role {
        Some(_) => "info",
        None => "error,appmaster=off",
    };
    let filter =
        EnvFilter::try_from_env("GERBIL_LOG").unwrap_or_else(|_unset| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    match role {
        Some(Role::Appmaster) => appmaster::main(),
        Some(Role::ContainerLauncher) => container_launcher::main(),
        Some(Role::Warden) => container_launcher::warden_main(std::env::args_os().skip(2)),
        Some(Role::Topology) => container_launcher::topology_main(std::env::args_os().skip(2)),
        None => entry::main(),
    }
}
