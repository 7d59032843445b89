//! `fpgad`: one driver a node, for all processes that share its boards.
//!
//! The life of a lease: a client connects and asks for a function; the kernel tells who it is; a
//! virtual device of a board is its own, or it waits, or is refused; it is sent memory, a doorbell and
//! an end to be woken by; its packets go through the [`queue`] of the board; when its socket closes, for
//! whatever reason, the device is free again, what waits is dropped, and the memory is given back.
//!
//! Invariants:
//! - a lease is a connected socket: whoever holds it may inherit it, nothing secret is handed on, and
//!   the kernel ends it with its last holder;
//! - nothing that a client does to its socket, its memory or its descriptors makes this process wait,
//!   fail, or mix up packets of others: sends never block, doorbells are never read, what was checked is
//!   a private copy;
//! - one thread owns the sockets; each board has a thread that sends and one that receives;
//! - a lease that has lined up many packets lets one of them go before another's; neither a packet
//!   nor what the card holds at a time asks for more work than [`crate::work`] allows.
//!
//! Caveats: a client that rings without end keeps its board's sender busy; memory whose pages a client
//! returns to the kernel by punching holes is taken anew when the driver touches it.

mod board_times;
pub mod devices;
mod door;
pub mod lease;
mod lines;
mod lock;
pub mod queue;
mod receiver;
mod recovery;
mod rounds;
mod sender;
mod serve;

pub use lock::{Lock, LockError};
pub use serve::{Driver, DriverError, DriverOptions, Stop, open_alone};
