//! How long to wait for what.

use std::time::Duration;

/// Deadlines of a client. Every wait has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From looking up the name to the end of the log-in, per address. Stock: 20 s for the TCP
    /// connection alone.
    pub connect: Duration,
    /// From sending a call to its answer. Stock: 120 s from 3.4 on, unlimited before.
    pub call: Duration,
    /// The same for one of several servers that has not answered any call yet: it may be frozen, or its machine off, and
    /// another one active. It doubles with each round, as long as another refuses, which may become active, until each has
    /// its whole time. Stock has no such limit.
    pub first: Duration,
    /// While calls wait and nothing else is sent, a ping goes out so often. Stock: 60 s.
    pub ping: Duration,
    /// How long to go on trying all addresses where a server has said that it takes no calls now, or
    /// has let one drop. Every address is tried at least once. Stock: 900 s.
    pub patience: Duration,
    /// The same while no server can be connected to at all: one that restarts, or a wrong address.
    /// Stock: 900 s.
    pub absence: Duration,
    /// Pause between the first two rounds over all addresses, at most; it doubles with each up to
    /// eight times. Stock: 30 s.
    pub pause: Duration,
}

impl Default for Timing {
    /// 10 s to connect, 30 s a call, 5 s for the first of several servers, ping every 15 s, one round over the addresses, at most half a
    /// second between the first rounds. For callers that repeat their calls themselves; others choose
    /// their patience, see [`Timing::patient`].
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            call: Duration::from_secs(30),
            first: Duration::from_secs(5),
            ping: Duration::from_secs(15),
            patience: Duration::ZERO,
            absence: Duration::ZERO,
            pause: Duration::from_millis(500),
        }
    }
}

impl Timing {
    /// The default, with `patience` for servers that are there and do not serve, and for such as are
    /// absent.
    #[must_use]
    pub fn patient(patience: Duration) -> Self {
        Self {
            patience,
            absence: patience,
            ..Self::default()
        }
    }
}
