//! The way that a stream's chunks take: with all others through the ApplicationMaster, or by a lane.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use job::CHUNK_MAX;
use job::lane::PIECE_MAX;
use job::wire::OutputChunk;
use nix::fcntl::{FcntlArg, fcntl};
use tokio::time::Instant;

use super::{PIPE_MAX, Pump};
use crate::lane::Lane;
use crate::say;

/// A stream that brings so many bytes within [`BURST`] takes a lane.
const MUCH: usize = 4 * 1024 * 1024;
const BURST: Duration = Duration::from_secs(1);
/// A lane that has nothing to carry for so long is left.
pub(super) const IDLE: Duration = Duration::from_secs(2);
/// After no lane was to be had.
const LANE_PAUSE: Duration = Duration::from_secs(30);

/// How a stream's chunks get to the client.
pub(crate) enum Way {
    /// Through the ApplicationMaster. So many bytes went since that moment; a lane may be taken from it
    /// on.
    Common { bytes: usize, since: Instant },
    /// The same, while a lane is being opened.
    Opening(Pin<Box<dyn Future<Output = io::Result<Box<Lane>>> + Send>>),
    /// By this lane.
    Lane(Box<Lane>),
}

impl Way {
    pub(crate) fn common() -> Self {
        Self::Common {
            bytes: 0,
            since: Instant::now(),
        }
    }

    /// Longest piece that goes this way, bytes.
    pub(super) const fn longest(&self) -> usize {
        match self {
            Self::Common { .. } | Self::Opening(_) => CHUNK_MAX,
            Self::Lane(_) => PIECE_MAX,
        }
    }
}

impl Pump {
    pub(super) const fn has_lane(&self) -> bool {
        matches!(self.way, Way::Lane(_))
    }

    /// Sees whether the stream has much to say, and asks for a lane.
    pub(super) fn count(&mut self, length: usize) {
        let Way::Common { bytes, since } = &mut self.way else {
            return;
        };
        let now = Instant::now();
        if now < *since {
            return;
        }
        if now - *since > BURST {
            (*bytes, *since) = (0, now);
        }
        *bytes = bytes.saturating_add(length);
        if *bytes >= MUCH && self.lanes.are_open() {
            self.way = Way::Opening(Box::pin(self.lanes.clone().open()));
        }
    }

    /// The lane follows what has been said so far.
    pub(super) async fn change_to(&mut self, opened: io::Result<Box<Lane>>) {
        match opened {
            Ok(lane) => {
                let mark = OutputChunk {
                    lane: lane.number(),
                    ..self.chunk(Bytes::new())
                };
                self.pass(mark).await;
                // Fewer turns of the rank and of this task; without it they are more.
                let length = i32::try_from(PIPE_MAX).unwrap_or(i32::MAX);
                let _set = fcntl(&self.pipe, FcntlArg::F_SETPIPE_SZ(length)).is_ok();
                self.way = Way::Lane(lane);
            }
            Err(error) => {
                say(&format!(
                    "output goes on through the ApplicationMaster: no way leads to the client ({error})"
                ));
                self.way = Way::Common {
                    bytes: 0,
                    since: Instant::now() + LANE_PAUSE,
                };
            }
        }
    }

    /// Back to the common way, when all that went by the lane is written.
    pub(super) async fn leave_lane(&mut self) {
        let Way::Lane(mut lane) = std::mem::replace(&mut self.way, Way::common()) else {
            return;
        };
        match lane.end().await {
            Ok(()) => {
                let mark = self.chunk(Bytes::new());
                self.pass(mark).await;
            }
            Err(error) => {
                lane.abandon();
                self.lost(&error).await;
            }
        }
    }

    /// The lane broke: nobody knows how much of what went by it has come.
    pub(super) async fn lost(&mut self, error: &io::Error) {
        say(&format!("a connection to the client broke: {error}"));
        let next = Way::Common {
            bytes: 0,
            since: Instant::now() + LANE_PAUSE,
        };
        if let Way::Lane(lane) = std::mem::replace(&mut self.way, next) {
            lane.abandon();
        }
        let mark = OutputChunk {
            lost: true,
            ..self.chunk(Bytes::new())
        };
        self.pass(mark).await;
    }
}

/// The lane that is being opened, if one is.
pub(super) async fn opened(way: &mut Way) -> io::Result<Box<Lane>> {
    match way {
        Way::Opening(opening) => opening.await,
        Way::Common { .. } | Way::Lane(_) => std::future::pending().await,
    }
}
