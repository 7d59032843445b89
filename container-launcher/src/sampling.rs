//! When the processes are looked at, and what they use is told.

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::nursery::Nursery;
use crate::samples::{self, Look};

/// Where the sampling of the processes is.
#[derive(Debug)]
pub(crate) enum Sampling {
    /// There are none.
    Idle,
    /// The next look is due then.
    Due(Instant),
    /// They are being looked at.
    Looking(oneshot::Receiver<Look>),
}

impl Sampling {
    /// Processes have begun.
    pub(crate) fn begin(&mut self) {
        if matches!(self, Self::Idle) {
            *self = Self::Due(Instant::now() + samples::INTERVAL);
        }
    }

    /// Until a look is due (`None`) or there. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Option<Look> {
        match self {
            Self::Idle => std::future::pending().await,
            Self::Due(at) => {
                tokio::time::sleep_until(*at).await;
                None
            }
            Self::Looking(answer) => answer.await.ok(),
        }
    }

    /// Looks at them.
    pub(crate) fn look(nursery: &Nursery) -> Self {
        nursery.look().map_or(
            // It is busy with something else.
            Self::Due(Instant::now() + samples::INTERVAL),
            Self::Looking,
        )
    }
}
