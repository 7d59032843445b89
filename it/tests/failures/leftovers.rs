//! Processes that do not want to end.

use anyhow::Result;
use it::{expect, gerbil};
use nix::sys::signal::Signal;

use crate::given::{Case, DEADLINE, Given};

pub const CASES: &[(&str, Case)] = &[
    ("Ctrl-C on a program that ignores signals", stubborn),
    ("ranks leave processes behind", escape),
];

fn stubborn(given: &Given) -> Result<()> {
    let program = given.program("stubborn")?;
    let mut running = gerbil::run(&given.cluster, ["-n", "2", &program])?
        .deadline(DEADLINE)
        .start()?;
    running.wait_for_stdout("ready")?;
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &[])?;
    given.ended(DEADLINE)?;
    Ok(())
}

fn escape(given: &Given) -> Result<()> {
    let program = given.program("escape")?;
    given.succeeds(&["-n", "2", &program])?;
    Ok(())
}
