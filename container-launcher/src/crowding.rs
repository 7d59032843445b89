//! When the disks are looked at that ranks write to.

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Duration, Instant, sleep_until};

use crate::disks::{DiskLook, Disks, Suspect};

/// From the beginning of ranks to the first look.
const FIRST: Duration = Duration::from_secs(1);

/// Where the look at the disks is.
#[derive(Debug)]
pub(crate) enum Crowding {
    /// There are no ranks, or they may fill them.
    Idle,
    /// The next look is due then.
    Due(Instant),
    /// They are being looked at.
    Looking(JoinHandle<DiskLook>),
}

impl Crowding {
    /// Ranks have begun that may fill a disk up to so many hundredths; 0: to the last byte.
    pub(crate) fn begin(&mut self, percent: u8) {
        if matches!(self, Self::Idle) && percent > 0 {
            *self = Self::Due(Instant::now() + FIRST);
        }
    }

    /// Until a look is due (`None`) or there. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Option<DiskLook> {
        match self {
            Self::Idle => std::future::pending().await,
            Self::Due(at) => {
                sleep_until(*at).await;
                None
            }
            Self::Looking(look) => look.await.ok(),
        }
    }

    /// Looks at them, where nobody waits for it: a disk may be slow.
    pub(crate) fn look(disks: Disks, percent: u8, suspects: Vec<Suspect>) -> Self {
        Self::Looking(spawn_blocking(move || disks.filled(percent, &suspects)))
    }
}
