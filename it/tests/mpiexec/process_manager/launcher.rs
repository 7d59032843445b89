//! container-launcher's own tests that need a real MPI library.

use anyhow::Result;
use it::Mpich;
use it::bed::{Case, Given};
use it::ignored::{ignored_tests, run};

pub const CASES: &[(&str, Case)] = &[("container-launcher's own tests with MPICH 5", own_tests)];

fn own_tests(_: &Given) -> Result<()> {
    let mut cargo = ignored_tests("launcher", "mpich::");
    cargo.env("GERBIL_MPICC", Mpich::install()?.mpicc());
    run(cargo)
}
