//! How the connections between our own processes are set up, the same at both ends.
//!
//! An HTTP/2 connection has one flow-control window, and each of its streams another. A receiver
//! that stops reading one stream holds back at most that stream's window; as long as the
//! connection's window is larger, all other streams go on. So output that nobody reads never stops
//! a barrier or the report of a rank's end.

use std::time::Duration;

/// Window of one stream, bytes: four pieces of [`crate::CHUNK_MAX`] under way.
pub const STREAM_WINDOW: u32 = 64 * 1024;
/// Window of a connection, bytes: it has three streams at most, of which two carry bulk data.
pub const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Largest message, bytes: the values of one barrier of a large job, `pmi::EXCHANGE_MAX`, and half
/// as much again for what the encoding adds.
pub const MESSAGE_MAX: usize = 96 * 1024 * 1024;
/// Pause between pings, whether or not anything else is said.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// A ping not answered for so long: the other side is lost.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
