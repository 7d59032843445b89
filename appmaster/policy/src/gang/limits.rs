//! How long the parts of coming together may take.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// The spans of a gang.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct GangLimits {
    /// Between two looks at a cluster without room.
    pub look_again: Millis,
    /// Where no node has had room for a process for so long, full nodes are asked: YARN takes room back for a queue, by
    /// preemption, or keeps it, by a reservation, only for what is asked of it.
    pub ask_full: Millis,
    /// Requests that have brought nothing for so long are placed again; also the shortest span
    /// between two askings, whatever the cluster does. At least [`SHORTEST_REISSUE`].
    pub reissue: Millis,
    /// A request for which node and queue have room, and that is not served for so long, has a node that
    /// does not answer.
    pub unanswered: Millis,
    /// From asking to the last grant; then everything is let go and asked again. At most
    /// [`LONGEST_GATHER`], and never below `reissue`.
    pub gather: Millis,
    /// Longest first pause after letting go. It doubles each time, up to [`LONGEST_PAUSE`]; how much
    /// of it is waited, at least half, is chance.
    pub pause: Millis,
    /// From the beginning to the last grant; then it is given up. `None`: it waits for ever.
    pub wait: Option<Millis>,
    /// How long a node that a container was lost with is left alone where the mode allows another that has room: as
    /// long as YARN itself may take to miss a node, by Hadoop's default.
    pub avoid: Millis,
    /// How long a gang that was whole, and that the nodes which are left can never hold, waits for those that are
    /// missing: as long as a NodeManager, or its host, takes to start again.
    pub back: Millis,
}

/// A NodeManager's heartbeat: requests cannot be served sooner.
pub const SHORTEST_REISSUE: Millis = Millis(1_000);
/// The ResourceManager takes containers back that are not started ten minutes after it gave them.
/// Chance lengthens the span by up to a fifth, and a grant takes seconds to be heard of.
pub const LONGEST_GATHER: Millis = Millis(480_000);
/// The nodes are read at least so often while some containers are held and others missing: another job that
/// waits for the same may be in the way.
pub const LONGEST_LOOK: Millis = Millis(15_000);
/// The same while none is held; and after a word that there may be room.
pub(super) const LONGEST_ROOM_LOOK: Millis = Millis(60_000);
pub(super) const LONGEST_REST: Millis = Millis(30_000);
/// How long a node that a container was lost with is left alone at the most where no other has room now.
pub(super) const AVOID_FULL: Millis = Millis(30_000);
/// Longest pause after letting go.
pub const LONGEST_PAUSE: Millis = Millis(60_000);

impl Default for GangLimits {
    fn default() -> Self {
        Self {
            look_again: Millis(1_000),
            ask_full: Millis(10_000),
            // Three heartbeats of a NodeManager, by Hadoop's default of one second.
            reissue: Millis(3_000),
            unanswered: Millis(3_000),
            gather: Millis(300_000),
            pause: Millis(3_000),
            wait: None,
            avoid: Millis(600_000),
            back: Millis(180_000),
        }
    }
}

impl GangLimits {
    /// These, within the bounds that their fields name.
    pub(super) fn bounded(self) -> Self {
        let reissue = self.reissue.max(SHORTEST_REISSUE).min(LONGEST_GATHER);
        Self {
            reissue,
            gather: self.gather.clamp(reissue, LONGEST_GATHER),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_the_cluster_cannot_live_with_are_bent() {
        let hasty = GangLimits {
            reissue: Millis(0),
            gather: Millis(3_600_000),
            ..GangLimits::default()
        };
        let bent = hasty.bounded();
        assert_eq!(bent.reissue, SHORTEST_REISSUE);
        // With a fifth more by chance still under ten minutes.
        assert!(bent.gather.0 * 6 / 5 < 600_000);
    }
}
