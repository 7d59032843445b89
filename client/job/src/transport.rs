//! How the connections between our own processes are set up, the same at both ends.
//!
//! An HTTP/2 connection has one flow-control window, and each of its streams another. A receiver
//! that stops reading one stream holds back at most that stream's window; as long as the
//! connection's window is larger, all other streams go on. So output that nobody reads never stops
//! a barrier or the report of a rank's end.

use std::time::Duration;

/// Window of one stream, bytes, where one peer sends: several pieces of [`crate::CHUNK_MAX`] are under
/// way, so that no side waits for the other's turn on the processor.
pub const STREAM_WINDOW: u32 = 1024 * 1024;
/// The least, where many send: one piece.
const STREAM_WINDOW_MIN: u32 = 64 * 1024;
/// What the windows of all senders may hold together, bytes, until there are so many that each has the
/// least.
const ALL_WINDOWS: u32 = 32 * 1024 * 1024;

/// Largest frame, bytes: a piece of output in one, and so in few calls of the kernel.
pub const FRAME_MAX: u32 = 128 * 1024;

/// Window of one stream, bytes, where so many peers may send at once to one that must not grow.
#[must_use]
pub fn stream_window(senders: u32) -> u32 {
    let share = ALL_WINDOWS / senders.max(1);
    share.clamp(STREAM_WINDOW_MIN, STREAM_WINDOW)
}

/// What is taken from the kernel at once of one of so many connections, bytes.
#[must_use]
pub fn piece(senders: u32) -> usize {
    // Of a full window an eighth lies here, and the rest with the kernel and in the streams.
    usize::try_from(stream_window(senders) / 8).unwrap_or(crate::CHUNK_MAX)
}

/// Calls that a launcher may have under way at once when it runs so many jobs: its link, output and input
/// of each, and those of the last jobs that have ended, until the ApplicationMaster has seen it.
#[must_use]
pub const fn calls(jobs: u32) -> u32 {
    const ENDING: u32 = 4;
    jobs.saturating_mul(2).saturating_add(1 + ENDING)
}

/// Jobs that one launcher may run at once. The clients of all of them may take no more, while others of the
/// same connection go on.
pub const JOBS_MAX: u32 = 512;

/// Window of a connection, bytes, whose streams have windows of `stream`: more than all of them hold when
/// nobody reads any of [`JOBS_MAX`] jobs, so that each is bounded by its own.
#[must_use]
pub const fn connection_window(stream: u32) -> u32 {
    let window = stream.saturating_mul(calls(JOBS_MAX));
    if window > WINDOW_MAX {
        return WINDOW_MAX;
    }
    window
}

/// Largest window of HTTP/2.
const WINDOW_MAX: u32 = i32::MAX as u32;

/// Largest message, bytes: the values of one barrier of a large job, `pmi::EXCHANGE_MAX`, and half
/// as much again for what the encoding adds.
pub const MESSAGE_MAX: usize = 96 * 1024 * 1024;
/// Pause between pings, whether or not anything else is said.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// A client whose ping is not answered for so long takes the ApplicationMaster for lost. As long as launchers are given
/// ([`LOST`]): a network that is away for half of it costs no job, even where TCP doubles its pauses meanwhile.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(40);
/// How often a client says that it is there, and how long it is missed before it is taken for lost. Pings of
/// the connection's own would end it while the client is stopped, and that may be for as long as its user
/// likes, when it has said so before.
pub const ALIVE: Duration = Duration::from_secs(5);
/// A client of which nothing was heard for so long is lost, though its connection stands. A machine that has much to do
/// starves a process for tens of seconds; a connection that ends is the client's end at once.
pub const LEASE: Duration = Duration::from_secs(60);
/// A launcher says as often as a client that it is there, and is answered at once. One that has heard no
/// answer for so long dials anew.
pub const MISSED: Duration = Duration::from_secs(15);
/// A launcher that is not heard of for so long is lost, and so is one that takes no order for so long. It
/// has given up by itself before: its time begins with its last word that was answered.
pub const LOST: Duration = Duration::from_secs(40);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_senders_share_what_there_is() {
        assert_eq!(stream_window(0), STREAM_WINDOW);
        assert_eq!(stream_window(32), STREAM_WINDOW);
        assert_eq!(stream_window(64), STREAM_WINDOW / 2);
        assert_eq!(stream_window(1_000_000), STREAM_WINDOW_MIN);
        assert_eq!(piece(1), 128 * 1024);
        assert_eq!(piece(1_000_000), 8 * 1024);
        assert!(connection_window(STREAM_WINDOW) > 2 * JOBS_MAX * STREAM_WINDOW);
        assert_eq!(connection_window(u32::MAX), WINDOW_MAX);
        assert!(calls(1) >= 3);
    }
}
