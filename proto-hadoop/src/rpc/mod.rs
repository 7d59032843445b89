//! Hadoop IPC, version 9.
//!
//! ```text
//! client: "hrpc" 09 00 00 | context frame, call frame, call frame ...        simple log-in
//! client: "hrpc" 09 00 df | NEGOTIATE -> <- offer | INITIATE -> <- SUCCESS   token log-in, then
//!                         | context frame, call frame ...                    (wrapped, if agreed)
//! frame:   4-byte big-endian length | delimited message | delimited message ...
//! ```
//!
//! Follows `org.apache.hadoop.ipc.Client` and `Server` of Hadoop 2.10 to 3.5.

mod calls;
mod channel;
mod connection;
mod dial;
mod ended;
mod error;
pub(crate) mod frame;
mod handshake;
pub(crate) mod message;
mod names;
mod retry;
mod round;
mod timing;

#[cfg(test)]
mod golden;
#[cfg(test)]
pub(crate) mod peers;
#[cfg(test)]
mod tests;

pub(crate) use channel::{Channel, Login};
pub use error::CallError;
pub use retry::{Disposition, Idempotence, disposition};
pub use timing::Timing;
