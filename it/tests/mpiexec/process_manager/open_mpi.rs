//! Programs of Open MPI, whose ranks find a PMIx server out of their own libpmix: on this machine, in one container.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, text_of};
use it::{Finished, OpenMpi};

pub const CASES: &[(&str, Case)] = &[
    ("Open MPI: ranks of one container find each other", together),
    ("Open MPI: an abort ends the job with its code", aborted),
    ("Open MPI: a rank that is killed ends the job", killed),
];

/// Runs a program of Open MPI on this machine, after which none of its files is left where all processes share them.
fn local(given: &Given, program: &str, ranks: &str, arguments: &[&str]) -> Result<Finished> {
    let program = text_of(&OpenMpi::install()?.program(program, &given.folder)?)?;
    let before = shared()?;
    let line = [&["--local", "-n", ranks, &program], arguments].concat();
    let finished = given.gerbil(&line)?.finish()?;
    let mut left = shared()?;
    left.retain(|name| !before.contains(name));
    ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
    Ok(finished)
}

fn shared() -> Result<Vec<String>> {
    let names = fs::read_dir("/dev/shm")?.map(|entry| text_of(&entry?.path()));
    names.collect()
}

fn together(given: &Given) -> Result<()> {
    let finished = local(given, "loaded", "4", &[])?;
    let text = finished.stdout_text();
    ensure!(
        finished.code() == 0,
        "{}: {}",
        finished.code(),
        finished.stderr_text()
    );
    ensure!(text.matches(": sum 6").count() == 4, "{text}");
    ensure!(text.matches("/libpmix.so.2\n").count() == 4, "{text}");
    Ok(())
}

fn aborted(given: &Given) -> Result<()> {
    let finished = local(given, "abort", "3", &["2", "77"])?;
    let said = finished.stderr_text();
    ensure!(finished.code() == 77, "{}: {said}", finished.code());
    ensure!(said.contains("called MPI_Abort with code 77"), "{said}");
    Ok(())
}

/// All others wait for it in a barrier.
fn killed(given: &Given) -> Result<()> {
    let finished = local(given, "segv", "3", &["1"])?;
    let said = finished.stderr_text();
    let code = finished.code();
    ensure!(code == 128 + 11, "{code}: {said}");
    said.lines()
        .find(|line| line.contains("signal 11"))
        .with_context(|| format!("no word of the signal: {said}"))?;
    Ok(())
}
