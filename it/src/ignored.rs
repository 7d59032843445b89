//! The tests of other crates that need a real cluster or a real MPI library, which those crates leave out
//! of their own runs.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::Run;
use crate::cargo::cargo;

/// Compiling a crate from nothing on a busy machine, then its tests.
const DEADLINE: Duration = Duration::from_secs(900);

/// `cargo test` of those tests of one program that have `module` in their names: of all, where it is empty. The crate is
/// not named: cargo then builds as for all crates together, and what was built for their own tests is used again.
#[must_use]
pub fn ignored_tests(program: &str, module: &str) -> Command {
    let mut cargo = cargo();
    cargo
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(["test", "--locked", "--test", program])
        // Tests of one cluster watch the same nodes.
        .args(["--", "--ignored", "--test-threads=1", module]);
    cargo
}

/// Runs the ignored tests, and says how many did.
///
/// # Errors
///
/// One failed, or none ran.
#[expect(
    clippy::print_stdout,
    reason = "whoever counts tests reads this output"
)]
pub fn run(cargo: Command) -> Result<()> {
    let finished = Run::new(cargo)
        .deadline(DEADLINE)
        .finish()?
        .success("cargo test")?;
    let stdout = finished.stdout_text();
    let results: Vec<&str> = stdout
        .lines()
        .filter(|line| line.starts_with("test result:"))
        .collect();
    let ran: u32 = results.iter().map(|line| passed(line)).sum();
    ensure!(ran > 0, "no test ran\n{stdout}{}", finished.stderr_text());
    // Behind the name of the trial, which has no end of line yet.
    println!();
    for line in results.iter().filter(|line| passed(line) > 0) {
        println!("{line}");
    }
    Ok(())
}

/// 4, of `test result: ok. 4 passed; 0 failed; …`
fn passed(line: &str) -> u32 {
    let before = line.split(" passed").next().unwrap_or_default();
    let number = before.rsplit(' ').next().unwrap_or_default();
    number.parse().unwrap_or(0)
}
