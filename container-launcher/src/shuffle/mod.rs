//! What maps have left in this container, and what reduces here fetch from others.
//!
//! A map's output stays with its launcher ([`map_outputs`]) until the job is over. A reduce reads it where it lies, or
//! has its launcher bring it ([`bring`]) from those that have it ([`serve`]), several at once ([`gather`]), or before it
//! begins, while other maps run ([`ahead`]): over
//! a connection each, which carries data one way. Who fetches has a file for it before it asks, and reads as fast as it writes
//! that; who serves reads what it keeps, and needs nothing of what it fetches itself: no two launchers wait
//! for each other, however full their disks are.
//!
//! Invariants: both ends show the launchers' certificate; a launcher gives away what maps of that job have left,
//! and nothing else; whoever is silent for [`SILENCE`] is given up; at most [`SERVED_MAX`] connections are served at a
//! time, which send by turns, dealt over their jobs ([`turns`]); connections that are not authenticated yet take none of these places ([`door`]).

mod ahead;
mod bring;
#[cfg(test)]
mod cost;
mod door;
mod exchange;
mod gather;
mod map_outputs;
mod patient;
mod serve;
#[cfg(test)]
mod tests;
mod turns;

use std::time::Duration;

pub(crate) use ahead::{Ahead, Copies, Gatherer};
pub(crate) use bring::{Fetched, Fetcher, Waiting};
pub(crate) use exchange::Exchange;
pub(crate) use gather::{FetchedParts, From, Gather, Missing};
pub(crate) use map_outputs::{MapOutput, MapOutputs};
pub(crate) use serve::Server;

/// From a connection's first packet until it is heard.
const OPEN: Duration = Duration::from_secs(10);
/// Longest silence in the middle.
const SILENCE: Duration = Duration::from_secs(30);
/// Connections that are served at the same time, to launchers of the application: each has a thread. Others wait until
/// one is done.
const SERVED_MAX: usize = 128;
/// Whoever fetches has something after so long, or knows that it gets nothing: a task in which neither has
/// happened hangs at something else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
/// What is read and sent in one turn, bytes.
const PIECE: usize = 256 * 1024;
/// Longest message, bytes: a request of ten thousand maps has less.
const MESSAGE_MAX: usize = 1 << 20;
