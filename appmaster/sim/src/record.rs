//! Records as files: a line of JSON for each event and decision.

use std::io::{BufRead, Write};

use anyhow::{Context as _, Result};
use policy::schedule::Scheduler;
use policy::schedule::record::{RecordLine, Replay};

/// Writes lines.
///
/// # Errors
///
/// They cannot be written.
pub fn write(lines: &[RecordLine], mut to: impl Write) -> Result<()> {
    for line in lines {
        serde_json::to_writer(&mut to, line)?;
        to.write_all(b"\n")?;
    }
    Ok(to.flush()?)
}

/// The lines of a record, one after the other.
///
/// # Errors
///
/// One is none; the message says which.
pub fn lines(from: impl BufRead) -> impl Iterator<Item = Result<RecordLine>> {
    from.lines().zip(1_u64..).map(|(line, number)| {
        serde_json::from_str(&line?).with_context(|| format!("line {number} of the record"))
    })
}

/// Tells `scheduler` the events of a record and compares its decisions with the recorded ones; how many these were.
///
/// # Errors
///
/// A line is none, or a decision is another: the message says which line, and both.
pub fn replay(scheduler: Box<dyn Scheduler>, from: impl BufRead) -> Result<u64> {
    let mut replay = Replay::new(scheduler);
    for line in lines(from) {
        replay.hear(line?)?;
    }
    Ok(replay.end()?)
}
