//! What is wrong before anything is submitted.

use std::fs;

use anyhow::{Result, ensure};
use it::{expect, gerbil};

use crate::given::{Case, DEADLINE, Given};

pub const CASES: &[(&str, Case)] = &[
    ("no such queue", no_such_queue),
    ("more memory than any node has", too_much_memory),
    ("nonsense on the command line", nonsense),
    ("no settings", no_settings),
];

/// Only the ResourceManager knows where it would put such a job: its own refusal is the error.
fn no_such_queue(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let line = ["--queue", "nosuchqueue", "-n", "2", &program, "0"];
    let finished = given.fails(&line, 65, &["the ResourceManager", "nosuchqueue"])?;
    let remark = "the queue nosuchqueue is not on the ResourceManager's list (there are ";
    ensure!(finished.stderr_text().contains(remark), "{finished:?}");
    Ok(())
}

fn too_much_memory(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    given.refused(
        &["--mem-per-proc", "100000", "-n", "2", &program, "0"],
        65,
        &["100000", "8192"],
    )
}

fn nonsense(given: &Given) -> Result<()> {
    let finished = given.run(&["--no-such-flag"])?;
    ensure!(
        finished.code() == 64,
        "exit code {}: {}",
        finished.code(),
        finished.stderr_text()
    );
    ensure!(
        finished.stderr_text().contains("--no-such-flag"),
        "{}",
        finished.stderr_text()
    );
    let finished = given.run(&["-n", "0", "./x"])?;
    ensure!(
        finished.code() == 64,
        "exit code {}: {}",
        finished.code(),
        finished.stderr_text()
    );
    Ok(())
}

fn no_settings(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let empty = given.programs.join("no-settings");
    fs::create_dir_all(&empty)?;
    let finished = gerbil::run_with(&empty, ["-n", "2", &program, "0"])?
        .deadline(DEADLINE)
        .finish()?;
    expect::sentence(&finished, 78, &["yarn-site.xml", "no-settings"])
}
