//! Containers that YARN wants back, for others or since their node is to go: nothing new starts there, what is of
//! no use goes at once, and what runs there has until YARN takes it.
//!
//! ```text
//!  wanted back ─▶ no new gang or task ─▶ used by no job: given back
//!                          └─▶ YARN takes it: its jobs begin again by their own rule
//! ```
//!
//! What maps have left there for reduces is made again elsewhere before it is gone.

use policy::{Millis, NodeId};

/// A CapacityScheduler and a FairScheduler wait for so long, unless they are set otherwise; they do not say.
const PREEMPTED: Millis = Millis(15_000);
/// A node that is being decommissioned has so long where YARN does not say.
const DECOMMISSIONED: Millis = Millis(3_600_000);

/// For what a container is wanted back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// For another queue or application.
    Preempted,
    /// Its node is to go, within this time where that is known.
    Decommissioned(Option<Millis>),
}

impl Back {
    /// A part of a sentence, which says it of a container on `host`.
    pub(crate) fn words(self, host: &str) -> String {
        match self {
            Self::Preempted => format!(
                "YARN's scheduler wants the container on {host} back for another queue or \
                 application (preemption)"
            ),
            Self::Decommissioned(Some(within)) => {
                let seconds = within.0.div_ceil(1_000);
                format!("node {host} is being decommissioned, within {seconds} s")
            }
            Self::Decommissioned(None) => format!("node {host} is being decommissioned"),
        }
    }

    /// How long what runs there has.
    pub(crate) const fn grace(self) -> Millis {
        match self {
            Self::Preempted => PREEMPTED,
            Self::Decommissioned(Some(within)) => within,
            Self::Decommissioned(None) => DECOMMISSIONED,
        }
    }
}

/// What a job by itself is told of its containers that go with `node`; `None`: it has none there.
pub(crate) fn of_node(there: usize, node: &NodeId, within: Option<Millis>) -> Option<String> {
    let host = node.0.split(':').next().unwrap_or(&node.0);
    let words = Back::Decommissioned(within).words(host);
    (there > 0).then(|| format!("{words}: what runs there has until then"))
}

/// What a job by itself is told of so many containers.
pub(crate) fn of_containers(containers: usize) -> String {
    let count = match containers {
        1 => "1 container".to_owned(),
        more => format!("{more} containers"),
    };
    format!(
        "YARN's scheduler wants {count} of this job back for another queue or application \
         (preemption)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_it_back_and_until_when_is_said() {
        assert_eq!(
            Back::Preempted.words("n1"),
            "YARN's scheduler wants the container on n1 back for another queue or application \
             (preemption)"
        );
        let node = NodeId("n1:45454".into());
        assert_eq!(
            of_node(2, &node, Some(Millis(59_001))).unwrap(),
            "node n1 is being decommissioned, within 60 s: what runs there has until then"
        );
        assert_eq!(of_node(0, &node, None), None);
        assert!(of_containers(1).contains("wants 1 container of this job back"));
    }
}
