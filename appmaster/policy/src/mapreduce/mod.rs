//! One MapReduce job: which tasks are done, where their outputs lie, what has to be done again.
//!
//! ```text
//!  map:     runnable ─▶ attempts ─▶ output at a launcher ─▶ gathered, a bit a (map, partition) ─▶ not needed
//!              ▲                           │ lost while some partition still needs it
//!              └───────────────────────────┘
//!  reduce:  waits for its bits ─▶ runnable ─▶ attempts ─▶ one may commit ─▶ committed
//! ```
//!
//! [`MapReduceMachine`] is told what happened to attempts, outputs and fetches ([`Event`]), and says what follows
//! ([`Action`]); which slot an attempt runs on is [`crate::schedule`]'s matter, what a commit writes
//! [`crate::commit`]'s. Tasks are those of a schedule's session: a map's number is its place in the plan, a
//! reduce's the order in which partitions became runnable, which [`MapReduceMachine::partition`] turns back.
//!
//! Without partitions there is the upper line alone: a map that has ended well is committed.
//!
//! Rules: a reduce is told when its input is complete, never before; where a part of that is lost later, an
//! attempt at it waits for the part, and none commits without. Map output is needed until every
//! partition that reads it has committed; a gathered copy may be dropped at any time, which costs a fetch and
//! no map. An attempt that fails counts against its task, one that was killed, preempted or lost does not.
//! One that fails over a record which its map may leave out does not count either: the next attempts are told to.
//! A map that is done again must give the same records: where it does not, reduces that have read the first
//! output run again, and the job fails if one has committed.

mod fetches;
pub mod gathering;
mod job;
mod map_set;
mod messages;
mod outputs;
mod reduces;
mod skips;
#[cfg(test)]
mod tests;

pub use job::{MapReduceMachine, MaxAttempts};
pub use messages::{Action, Digest, Event, JobFailure};
