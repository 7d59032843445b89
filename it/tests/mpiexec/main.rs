//! What a user of mpiexec, mpirun or srun types and expects, on a real cluster of several nodes: the
//! environment, several programs, the numbering and binding of ranks, streams, files, ends, terminals; what
//! MPI libraries ask of it; README's commands.

mod binding;
mod ends;
mod environment;
mod files;
mod process_manager;
mod programs;
mod readme;
mod streams;
mod terminal;

use std::process::ExitCode;

use it::Cluster;
use it::bed::Given;
use it::suite::{self, Group};

/// The nodes by name.
pub fn hosts(given: &Given) -> Vec<String> {
    given
        .cluster
        .nodes()
        .into_iter()
        .map(|n| n.host.to_string())
        .collect()
}

fn main() -> ExitCode {
    let own = [
        environment::CASES,
        programs::CASES,
        binding::CASES,
        streams::CASES,
        files::CASES,
        ends::CASES,
        terminal::CASES,
        readme::CASES,
    ];
    let cases = [&own[..], process_manager::CASES].concat();
    suite::run(vec![Group::new(Cluster::builder().nodes(4), &cases)])
}
