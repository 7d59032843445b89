//! Records as files: a line of JSON for each event and decision.

use std::io::{BufRead, Write};

use anyhow::{Context as _, Result, ensure};
use policy::schedule::Scheduler;
use policy::schedule::record::{RecordLine, Replay, What};

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
/// A line is none, or a decision is another: the message says which line, and both. Or there is no decision.
pub fn replay(scheduler: Box<dyn Scheduler>, from: impl BufRead) -> Result<u64> {
    replay_lines(scheduler, lines(from))
}

/// The policy that a record names, and its lines.
///
/// # Errors
///
/// The first line is none.
pub fn open(
    from: impl BufRead,
) -> Result<(Option<String>, impl Iterator<Item = Result<RecordLine>>)> {
    let mut lines = lines(from);
    let first = lines.next().transpose()?;
    let policy = first.as_ref().and_then(|line| match &line.what {
        What::Policy(name) => Some(name.clone()),
        What::Told(_) | What::Event(_) | What::Asked(()) | What::Decision(_) => None,
    });
    Ok((policy, first.map(Ok).into_iter().chain(lines)))
}

/// As [`replay`], of lines that are read already.
///
/// # Errors
///
/// As [`replay`].
pub fn replay_lines(
    scheduler: Box<dyn Scheduler>,
    lines: impl Iterator<Item = Result<RecordLine>>,
) -> Result<u64> {
    let mut replay = Replay::new(scheduler);
    for line in lines {
        replay.hear(line?)?;
    }
    let same = replay.end()?;
    ensure!(
        same > 0,
        "the record has no decision: nothing can be the same, or other"
    );
    Ok(same)
}
