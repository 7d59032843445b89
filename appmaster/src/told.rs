//! What becomes of the containers, as a job hears it.

use holding::{Granted, amount};
use job::wire::MpiEvent;
use job::wire::launcher_event::Event as Said;
use policy::lifecycle::{Event, Grant, KillReason};
use policy::{ContainerId, NodeId};

use crate::session::{JobId, MPI, Session};
use crate::work::Heard;

impl Session {
    /// Which job hears what of it, after the books are kept; `None`: it is of no concern to any.
    pub(crate) fn told(&mut self, heard: holding::Heard) -> Option<(JobId, Heard)> {
        use holding::Heard as Of;
        let heard = Heard::Machine(match self.holding.hear(heard)? {
            Of::Granted(granted) => {
                return Some((MPI, Heard::Granted(self.grants(&granted))));
            }
            Of::Joined {
                container, node, ..
            } => return Some((MPI, Heard::Joined { container, node })),
            Of::Said { container, event } => return said(container, event),
            Of::Lost(container) => return Some((MPI, Heard::Lost(container))),
            Of::WantedBack(containers) => return Some((MPI, Heard::WantedBack(containers))),
            Of::Asked { containers, rows } => {
                return Some((MPI, Heard::Asked { containers, rows }));
            }
            Of::Finished(finished) => return Some((MPI, Heard::Finished(finished))),
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
        });
        Some((MPI, heard))
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

/// What a launcher said, for the job that it is about.
fn said(container: ContainerId, event: Said) -> Option<(JobId, Heard)> {
    let what = match event {
        Said::Mpi(MpiEvent { job, event }) => {
            let event = event?;
            return Some((JobId(job), Heard::Said { container, event }));
        }
        Said::Hello(_) => "said hello twice",
        Said::Task(_) | Said::FilesFetched(_) | Said::JobLeft(_) => {
            "answered what it was not ordered"
        }
    };
    let what = what.into();
    let misbehaved = Event::Misbehaved { container, what };
    Some((MPI, Heard::Machine(misbehaved)))
}
