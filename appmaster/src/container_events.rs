//! What becomes of the containers, as a job hears it.

use holding::{Granted, amount};
use job::JobId;
use job::wire::launcher_event::Event as Said;
use job::wire::{MpiEvent, TaskEvent, task_event};
use policy::gang::GangEvent;
use policy::lifecycle::{Grant, KillReason, LifecycleEvent};
use policy::{ContainerId, NodeId};

use crate::leaving::{self, Back};
use crate::lent_events::LentEvent;
use crate::mapreduce::MapReduceEvent;
use crate::session::Session;
use crate::work::WorkEvent;

impl Session {
    /// The same in a session: the containers are the pool's, and each job hears of those that it is in.
    pub(crate) fn hear_shared(&mut self, heard: holding::ContainerEvent) {
        use holding::ContainerEvent as Of;
        let Some(heard) = self.holding.hear(heard) else {
            return;
        };
        if let Some(lost) = LentEvent::of(&heard) {
            return self.lent_container_lost(&lost);
        }
        match heard {
            Of::Granted(granted) => self.shared_grants(granted),
            Of::Joined {
                container, node, ..
            } => self.shared_joined(&container, &node),
            Of::Said { container, event } => self.shared_said(container, event),
            Of::Freed => self.pool_hears(&GangEvent::Freed),
            Of::Nodes(view) => self.shared_nodes(&view),
            Of::Refused { requests, words } => self.refused(&requests, words),
            Of::ResourceManagerRestarted { .. } => {
                self.pool_hears(&GangEvent::ResourceManagerRestarted);
            }
            Of::ResourceManagerLost { silent } => self.resource_manager_lost(silent),
            Of::Killed => self.terminated(),
            Of::Finished(_) => self.unregistered(),
            Of::WantedBack(containers) => self.wanted_back(&containers, Back::Preempted),
            Of::NodeLeaves { node, within } => self.node_leaves(&node, within),
            Of::Asked { .. } => self.shared_asked(),
            Of::Cut | Of::Headroom(_) | Of::Localizing(_) => {}
            // The jobs there have heard it.
            Of::Lost(_) | Of::Ended { .. } | Of::StartFailed { .. } | Of::Misbehaved { .. } => {}
        }
    }

    fn shared_said(&mut self, container: ContainerId, event: Said) {
        match event {
            Said::Mpi(MpiEvent { job, event }) => {
                let job = JobId(job);
                let is_there = self.loan(job).is_some_and(|loan| loan.is_in(&container));
                if let (true, Some(event)) = (is_there, event) {
                    self.tell(job, WorkEvent::Said { container, event });
                }
            }
            Said::Task(TaskEvent {
                event: Some(task_event::Event::Log(read)),
                ..
            }) => {
                if let Some(sharing) = &mut self.sharing {
                    sharing.ledger.answered(read);
                }
            }
            Said::Task(TaskEvent { job, event }) => {
                let job = JobId(job);
                let is_there = self.loan(job).is_some_and(|loan| loan.is_in(&container));
                if let (true, Some(event)) = (is_there, event) {
                    let event = Box::new(event);
                    let said = MapReduceEvent::Said { container, event };
                    self.tell(job, WorkEvent::OfTasks(said));
                }
            }
            Said::FilesFetched(fetched) => self.fetched(container, &fetched),
            Said::JobLeft(left) => self.left(container, JobId(left.job)),
            Said::Elements(found) => self.elements_found(&container, found),
            Said::PeersTried(answer) => self.peers_tried(&container, answer),
            Said::Hello(_) => {
                tracing::warn!("the launcher in {container} said what makes no sense");
            }
        }
    }

    /// Which job hears what of it, after the books are kept; `None`: it is of no concern to any.
    pub(crate) fn told(&mut self, heard: holding::ContainerEvent) -> Option<(JobId, WorkEvent)> {
        use holding::ContainerEvent as Of;
        let heard = WorkEvent::Machine(match self.holding.hear(heard)? {
            Of::Granted(granted) => {
                return Some((
                    JobId::OF_APPLICATION,
                    WorkEvent::Granted(self.grants(&granted)),
                ));
            }
            Of::Joined {
                container, node, ..
            } => return Some((JobId::OF_APPLICATION, WorkEvent::Joined { container, node })),
            Of::Said { container, event } => return said(container, event),
            Of::Lost(container) => {
                return Some((JobId::OF_APPLICATION, WorkEvent::Lost(container)));
            }
            Of::WantedBack(containers) => {
                let sentence = leaving::of_containers(containers.len());
                return Some((JobId::OF_APPLICATION, WorkEvent::WantedBack(sentence)));
            }
            Of::NodeLeaves { node, within } => {
                let there = self.holding.on_node(&node).len();
                let sentence = leaving::of_node(there, &node, within)?;
                return Some((JobId::OF_APPLICATION, WorkEvent::WantedBack(sentence)));
            }
            Of::Asked { containers, rows } => {
                return Some((JobId::OF_APPLICATION, WorkEvent::Asked { containers, rows }));
            }
            Of::Finished(finished) => {
                return Some((JobId::OF_APPLICATION, WorkEvent::Finished(finished)));
            }
            Of::Cut | Of::Headroom(_) => return None,
            Of::Ended {
                container,
                status,
                diagnostics,
            } => LifecycleEvent::ContainerEnded {
                container,
                status,
                diagnostics,
            },
            Of::StartFailed { container, why } => LifecycleEvent::StartFailed { container, why },
            Of::Localizing(container) => LifecycleEvent::Localizing(container),
            Of::Misbehaved { container, what } => LifecycleEvent::Misbehaved { container, what },
            Of::Freed => LifecycleEvent::Freed,
            Of::Refused { words, .. } => LifecycleEvent::RequestsRefused { words },
            Of::Nodes(Ok(view)) => LifecycleEvent::Snapshot(view),
            Of::Nodes(Err(why)) => LifecycleEvent::SnapshotFailed(why),
            Of::ResourceManagerRestarted { .. } => LifecycleEvent::ResourceManagerRestarted,
            Of::ResourceManagerLost { silent } => LifecycleEvent::ResourceManagerLost { silent },
            Of::Killed => LifecycleEvent::KillRequested(KillReason::Terminated),
        });
        Some((JobId::OF_APPLICATION, heard))
    }

    pub(crate) fn grants(&self, granted: &[Granted]) -> Vec<Grant> {
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
fn said(container: ContainerId, event: Said) -> Option<(JobId, WorkEvent)> {
    let what = match event {
        Said::Mpi(MpiEvent { job, event }) => {
            let event = event?;
            return Some((JobId(job), WorkEvent::Said { container, event }));
        }
        Said::Hello(_) => "said hello twice",
        Said::Task(_)
        | Said::FilesFetched(_)
        | Said::JobLeft(_)
        | Said::Elements(_)
        | Said::PeersTried(_) => "answered what it was not ordered",
    };
    let what = what.into();
    let misbehaved = LifecycleEvent::Misbehaved { container, what };
    Some((JobId::OF_APPLICATION, WorkEvent::Machine(misbehaved)))
}
