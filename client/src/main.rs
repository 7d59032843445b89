//! `gerbil-run`: an `mpiexec` for stock Hadoop YARN.

fn main() {}
