//! What a job of a session waits for.

use serde::{Deserialize, Serialize};

/// Jobs that one line names; of more the rest is counted.
pub const HOLDERS: usize = 16;

/// It has no slots, or none for any of its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsForSlots {
    /// When, ms since the job was submitted.
    pub at_ms: u64,
    /// Why, in one sentence.
    pub reason: String,
    /// Slots that it wants; of a MapReduce job, for tasks that may start.
    pub wanted: u32,
    /// Slots that one of its processes could have now; absent where it does not compete for slots yet.
    pub free: Option<u32>,
    /// The same if nobody else had any.
    pub all: Option<u32>,
    /// Jobs that have slots, those with the most first, at most [`HOLDERS`].
    pub holders: Vec<SlotHolder>,
    /// Such jobs that are not in `holders`.
    #[serde(default)]
    pub left_out: u32,
    /// Jobs that wait as well and came earlier.
    pub ahead: u32,
    /// Why the session has not more containers; empty: it has as many as it wants, or they are on their way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asking: String,
}

/// A job that has slots of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotHolder {
    /// Its number there.
    pub job: u32,
    /// How many.
    pub slots: u32,
}
