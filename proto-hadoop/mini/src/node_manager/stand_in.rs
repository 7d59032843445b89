//! What makes a node hollow: something that stands in for the processes of its containers, and
//! heartbeats at moments that are chosen.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use proto_hadoop::yarn::ContainerLaunch;
use proto_hadoop::{ContainerId, NodeId};
use tokio::time::Instant;

/// A container that a node has accepted.
#[derive(Debug)]
pub struct Accepted<'a> {
    /// The node that has it.
    pub node: &'a NodeId,
    /// YARN's id of it.
    pub container: ContainerId,
    /// What its ApplicationMaster, or the ResourceManager, wants run.
    pub launch: &'a ContainerLaunch,
}

/// The life of what stands in for a container's process; ends with its exit code. It is dropped when
/// the container is ordered to end, which counts as SIGTERM.
pub type Life = Pin<Box<dyn Future<Output = i32> + Send>>;

/// Decides which containers of a hollow node run no process.
pub trait StandIn: Send + Sync + 'static {
    /// What is to live in the container's place: no file is brought and no process started for it.
    /// `None`: the container is run as on any node.
    fn stand_in(&self, accepted: &Accepted<'_>) -> Option<Life>;
}

/// When a node tells of itself while nothing happens. One whose container has ended tells that at
/// once, whatever its rhythm.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Rhythm {
    /// The ResourceManager's interval after the answer before, as stock nodes do.
    #[default]
    Own,
    /// At the moments that lie a whole number of intervals, and this share of one (0 to 1), after
    /// `since`: nodes with one `since` keep their distance for ever.
    Fixed {
        /// Common to all nodes that are to keep in step.
        since: Instant,
        /// 0 to 1.
        share: f64,
    },
}

impl Rhythm {
    /// From `now` to the next heartbeat, when the ResourceManager wants one every `interval`.
    pub(super) fn pause(self, now: Instant, interval: Duration) -> Duration {
        match self {
            Self::Own => interval,
            Self::Fixed { since, share } => {
                let first = since + interval.mul_f64(share.clamp(0.0, 1.0));
                let Some(since_first) = now.checked_duration_since(first) else {
                    return first - now;
                };
                let length = interval.as_nanos().max(1);
                let gone = since_first.as_nanos() % length;
                let left = u64::try_from(length - gone).unwrap_or(u64::MAX);
                Duration::from_nanos(left)
            }
        }
    }
}

/// How a node differs from one that runs what it is given.
#[derive(Clone, Default)]
pub struct Hollow {
    /// Lives in the place of processes.
    pub stand_in: Option<Arc<dyn StandIn>>,
    /// When it tells of itself.
    pub rhythm: Rhythm,
}

impl fmt::Debug for Hollow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hollow")
            .field("stand_in", &self.stand_in.is_some())
            .field("rhythm", &self.rhythm)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fixed_rhythm_keeps_its_moments() {
        let since = Instant::now() + Duration::from_secs(5);
        let second = Duration::from_secs(1);
        let rhythm = Rhythm::Fixed { since, share: 0.25 };
        let ms = Duration::from_millis;
        for (after, pause) in [(0, 250), (249, 1), (250, 1000), (1000, 250), (9_260, 990)] {
            assert_eq!(
                rhythm.pause(since + ms(after), second),
                ms(pause),
                "{after}"
            );
        }
        assert_eq!(rhythm.pause(since - ms(500), second), ms(750));
        assert_eq!(Rhythm::Own.pause(since, second), second);
    }
}
