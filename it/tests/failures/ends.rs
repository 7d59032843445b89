//! Programs that end as they should not.

use anyhow::{Result, ensure};
use it::expect;

use crate::given::{Case, Given};

pub const CASES: &[(&str, Case)] = &[
    ("one rank returns 7", one_rank_returns_7),
    ("one rank is hit by SIGSEGV", one_rank_segfaults),
    ("MPI_Abort(77)", abort_77),
    ("a rank returns 5 before MPI_Init", exit_before_init),
    ("a rank returns 0 before MPI_Init", quiet_exit_before_init),
];

fn one_rank_returns_7(given: &Given) -> Result<()> {
    let program = given.program("exit_code")?;
    given.fails(&["-n", "4", &program, "2", "7"], 7, &["rank 2", "code 7"])?;
    given.recorded_failure(&["rank 2", "7"])
}

fn one_rank_segfaults(given: &Given) -> Result<()> {
    let program = given.program("segv")?;
    given.fails(&["-n", "4", &program, "1"], 139, &["rank 1", "SIGSEGV"])?;
    given.recorded_failure(&["rank 1", "SIGSEGV"])
}

fn abort_77(given: &Given) -> Result<()> {
    let program = given.program("abort")?;
    given.fails(&["-n", "4", &program, "3", "77"], 77, &["rank 3", "77"])?;
    given.recorded_failure(&["rank 3", "77"])
}

fn exit_before_init(given: &Given) -> Result<()> {
    let program = given.program("exit_before_init")?;
    given.fails(&["-n", "4", &program, "1", "5"], 5, &["rank 1", "code 5"])?;
    Ok(())
}

fn quiet_exit_before_init(given: &Given) -> Result<()> {
    let program = given.program("exit_before_init")?;
    let finished = given.run(&["-n", "4", &program, "1", "0"])?;
    ensure!(finished.code() != 0, "the job is said to have succeeded");
    expect::failure(
        &given.cluster,
        &finished,
        finished.code(),
        &["rank 1", "MPI_Init"],
    )
}
