//! What MPI libraries ask of a process manager, on a real cluster: processes that are spawned, names and
//! ports, the universe, which ranks share a node; with MPICH, with Intel MPI and from Python.

mod launcher;
mod python;
mod spawned;
mod told;

use std::process::ExitCode;

use it::Cluster;
use it::suite::{self, Group};

fn main() -> ExitCode {
    suite::run(vec![Group::new(
        Cluster::builder().nodes(4),
        &[spawned::CASES, told::CASES, python::CASES, launcher::CASES],
    )])
}
