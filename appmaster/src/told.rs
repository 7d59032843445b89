//! What becomes of the containers, as a job hears it.

use holding::{Granted, amount};
use policy::lifecycle::{Event, Grant, KillReason};
use policy::{ContainerId, NodeId};

use crate::session::Session;
use crate::work::Heard;

impl Session {
    /// What a job hears of it, after the books are kept; `None`: it is of no concern to it.
    pub(crate) fn told(&mut self, heard: holding::Heard) -> Option<Heard> {
        use holding::Heard as Of;
        Some(Heard::Machine(match self.holding.hear(heard)? {
            Of::Granted(granted) => return Some(Heard::Granted(self.grants(&granted))),
            Of::Joined {
                container, node, ..
            } => return Some(Heard::Joined { container, node }),
            Of::Said { container, event } => return Some(Heard::Said { container, event }),
            Of::Lost(container) => return Some(Heard::Lost(container)),
            Of::WantedBack(containers) => return Some(Heard::WantedBack(containers)),
            Of::Asked { containers, rows } => return Some(Heard::Asked { containers, rows }),
            Of::Finished(finished) => return Some(Heard::Finished(finished)),
            Of::Cut | Of::Headroom(_) => return None,
            Of::Ended {
                container,
                status,
                diagnostics,
            } => Event::ContainerEnded {
                container,
                status,
                diagnostics,
            },
            Of::StartFailed { container, why } => Event::StartFailed { container, why },
            Of::Localizing(container) => Event::Localizing(container),
            Of::Misbehaved { container, what } => Event::Misbehaved { container, what },
            Of::Freed => Event::Freed,
            Of::Refused(words) => Event::RequestsRefused { words },
            Of::Nodes(Ok(view)) => Event::Snapshot(view),
            Of::Nodes(Err(why)) => Event::SnapshotFailed(why),
            Of::ResourceManagerRestarted => Event::ResourceManagerRestarted,
            Of::ResourceManagerLost { silent } => Event::ResourceManagerLost { silent },
            Of::Killed => Event::KillRequested(KillReason::Terminated),
        }))
    }

    fn grants(&self, granted: &[Granted]) -> Vec<Grant> {
        let types = &self.holding.cluster().limits().types;
        let grants = granted.iter().map(|granted| Grant {
            container: ContainerId(granted.container.id.to_string()),
            node: NodeId(granted.container.node.to_string()),
            resources: amount(&granted.container.resource, types),
            round: granted.round,
        });
        grants.collect()
    }
}
