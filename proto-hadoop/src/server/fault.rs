//! Misbehaviour on order: what a real daemon does once a year, for tests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Refusal;

/// What a server does with one call instead of answering it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Runs it, and answers after this time; later calls are answered before it.
    Late(Duration),
    /// Runs it, and never answers; the connection goes on.
    Lost,
    /// Does not run it; from now on reads nothing and writes nothing, with the connection open.
    Dead,
    /// Runs it, sends so many bytes of the answer, and closes the connection.
    Cut(usize),
    /// Runs it, and answers twice.
    Twice,
    /// Runs it, and answers with bytes that are no message.
    Garbled,
    /// Does not run it; answers with this exception.
    Refused(Refusal),
    /// Does not run it; ends the connection with this exception.
    Fatal(Refusal),
}

/// Faults to come, by the name of the method, each for one call. Empty unless a test fills it.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    due: Arc<Mutex<BTreeMap<String, VecDeque<Fault>>>>,
}

impl Faults {
    /// The next call of `method` that has no fault waiting already meets this one.
    pub fn next(&self, method: &str, fault: Fault) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.entry(method.to_owned()).or_default().push_back(fault);
    }

    pub(crate) fn take(&self, method: &str) -> Option<Fault> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.get_mut(method)?.pop_front()
    }
}
