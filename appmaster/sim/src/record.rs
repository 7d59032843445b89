//! What a session was told and what was decided, line by line as JSON: a recorded session replays to the same
//! decisions, whoever recorded it.
//!
//! ```text
//! {"at":2000000000,"event":{"Began":3}}
//! {"at":2000000000,"decision":{"Start":{"job":1,"stage":"Map","task":0,"slot":7}}}
//! ```
//!
//! `at` counts nanoseconds; the decisions upon an event follow it in their order.

use std::collections::VecDeque;
use std::io::{BufRead, Write};

use anyhow::{Context as _, Result, bail};
use policy::schedule::{Decision, Event, Nanos, Scheduler, SessionDriver};
use serde::{Deserialize, Serialize};

/// A line of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordLine {
    /// Time of the session's clock, ns.
    pub at: Nanos,
    /// What happened or was decided then.
    #[serde(flatten)]
    pub what: What,
}

/// What was told, or decided upon it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Something happened.
    Event(Event),
    /// Something was decided.
    Decision(Decision),
}

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

/// Tells `scheduler` the events of a record and compares its decisions with the recorded ones; how many these were.
///
/// # Errors
///
/// A line is none, or a decision is another: the message says which line, and both.
pub fn replay(scheduler: Box<dyn Scheduler>, from: impl BufRead) -> Result<u64> {
    let mut driver = SessionDriver::new(scheduler);
    let (mut decided, mut same) = (VecDeque::new(), 0_u64);
    for (line, number) in from.lines().zip(1_u64..) {
        let line: RecordLine =
            serde_json::from_str(&line?).with_context(|| format!("line {number} of the record"))?;
        match line.what {
            What::Event(event) => {
                if let Some(decision) = decided.pop_front() {
                    bail!("before line {number}: {decision:?} was not recorded");
                }
                decided.extend(driver.happened(line.at, &event));
            }
            What::Decision(recorded) => match decided.pop_front() {
                Some(decision) if decision == recorded => same = same.saturating_add(1),
                other => bail!("line {number}: recorded {recorded:?}, now {other:?}"),
            },
        }
    }
    if let Some(decision) = decided.pop_front() {
        bail!("at the end: {decision:?} was not recorded");
    }
    Ok(same)
}
