//! What a session was told and what was decided, line by line: a recorded session replays to the same decisions,
//! whoever recorded it. As JSON:
//!
//! ```text
//! {"at":0,"policy":"fifo+delay:node=1s,rack=1s+gang"}
//! {"at":2000000000,"told":{"Began":3}}
//! {"at":2000000000,"event":{"Began":4}}
//! {"at":2000000000,"decision":{"Start":{"job":1,"stage":"Map","task":0,"slot":7}}}
//! ```
//!
//! `at` counts nanoseconds; the decisions upon an event follow it in their order. A session's record begins with its
//! policy, as [`named`](mod@super::named) reads it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Decision, Event, Nanos, Scheduler, Session, SessionDriver};

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
    /// As which the policy is named.
    Policy(String),
    /// Something happened, and the policy is asked only after a later line.
    Told(Event),
    /// Something happened, and the policy was asked.
    Event(Event),
    /// The policy was asked once more, while nothing happened.
    Asked(()),
    /// Something was decided.
    Decision(Decision),
}

/// A record that another policy, or another version of it, does not repeat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Differs {
    /// The policy decides what the record does not have there.
    #[error("before line {line}: {decision} was not recorded")]
    More {
        /// The line, from 1.
        line: u64,
        /// What is decided now.
        decision: String,
    },
    /// The policy decides something else, or nothing.
    #[error("line {line}: recorded {recorded}, now {now}")]
    Other {
        /// The line, from 1.
        line: u64,
        /// What the record has.
        recorded: String,
        /// What is decided now.
        now: String,
    },
    /// The record ends before the decisions upon its last event.
    #[error("at the end: {decision} was not recorded")]
    Cut {
        /// What is decided now.
        decision: String,
    },
}

/// A policy that is told the lines of a record, in their order.
#[derive(Debug)]
pub struct Replay {
    driver: SessionDriver,
    decided: VecDeque<Decision>,
    lines: u64,
    same: u64,
}

impl Replay {
    /// Nothing is told yet.
    #[must_use]
    pub fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            driver: SessionDriver::new(scheduler),
            decided: VecDeque::new(),
            lines: 0,
            same: 0,
        }
    }

    /// The session as it is after the lines so far.
    #[must_use]
    pub const fn session(&self) -> &Session {
        self.driver.session()
    }

    /// The next line: what happened is told, what was decided is compared.
    ///
    /// # Errors
    ///
    /// A decision is another than the recorded one.
    pub fn hear(&mut self, line: RecordLine) -> Result<(), Differs> {
        self.lines = self.lines.saturating_add(1);
        let RecordLine { at, what } = line;
        match what {
            What::Policy(_) => Ok(()),
            What::Told(event) => {
                self.is_decided()?;
                self.driver.tell(at, &event);
                Ok(())
            }
            What::Event(event) => {
                self.is_decided()?;
                self.decided.extend(self.driver.happened(at, &event));
                Ok(())
            }
            What::Asked(()) => {
                self.is_decided()?;
                self.decided.extend(self.driver.decide(at));
                Ok(())
            }
            What::Decision(recorded) => match self.decided.pop_front() {
                Some(decision) if decision == recorded => {
                    self.same = self.same.saturating_add(1);
                    Ok(())
                }
                other => Err(Differs::Other {
                    line: self.lines,
                    recorded: format!("{recorded:?}"),
                    now: format!("{other:?}"),
                }),
            },
        }
    }

    /// That was the last line; how many decisions were the same.
    ///
    /// # Errors
    ///
    /// More is decided than was recorded.
    pub fn end(mut self) -> Result<u64, Differs> {
        match self.decided.pop_front() {
            None => Ok(self.same),
            Some(decision) => Err(Differs::Cut {
                decision: format!("{decision:?}"),
            }),
        }
    }

    /// All that was decided upon the last event was recorded.
    fn is_decided(&mut self) -> Result<(), Differs> {
        match self.decided.pop_front() {
            None => Ok(()),
            Some(decision) => Err(Differs::More {
                line: self.lines,
                decision: format!("{decision:?}"),
            }),
        }
    }
}
