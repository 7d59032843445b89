//! `gerbil-run`: an `mpiexec` for stock Hadoop YARN.

#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the command line that stages is the next part of the client"
    )
)]
mod stage;

fn main() {}
