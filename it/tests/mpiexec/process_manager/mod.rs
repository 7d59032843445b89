//! What MPI libraries ask of a process manager: processes that are spawned, names and ports, the universe, which ranks
//! share a node; with MPICH, with Intel MPI and from Python.

mod launcher;
mod open_mpi;
mod python;
mod spawned;
mod told;

use it::bed::Case;

pub const CASES: &[&[(&str, Case)]] = &[
    spawned::CASES,
    told::CASES,
    python::CASES,
    launcher::CASES,
    open_mpi::CASES,
];
