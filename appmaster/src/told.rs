//! What becomes of the containers, as the job's machine hears it.

use holding::{Granted, Heard};
use job::wire::launcher_order::Order as ToLauncher;
use policy::lifecycle::{Action, Event, Grant, KillReason};
use policy::{ContainerId, NodeId};

use crate::act::merged;
use crate::follow::Appmaster;

impl Appmaster {
    /// What the machine wants done about it.
    pub(crate) fn told(&mut self, heard: Heard) -> Vec<Action> {
        let Some(heard) = self.holding.hear(heard) else {
            return Vec::new();
        };
        let event = match heard {
            Heard::Granted(granted) => return self.granted(&granted),
            Heard::Ended {
                container,
                status,
                diagnostics,
            } => {
                self.ended(&container, status);
                Event::ContainerEnded {
                    container,
                    status,
                    diagnostics,
                }
            }
            Heard::StartFailed { container, why } => Event::StartFailed { container, why },
            Heard::Localizing(container) => Event::Localizing(container),
            Heard::Joined {
                container, node, ..
            } => {
                tracing::info!(
                    glibc = node.glibc,
                    cores = node.cores,
                    "{container} has joined"
                );
                if let Some(door) = &self.door {
                    self.holding
                        .tell(&container, ToLauncher::Door(door.clone()));
                }
                Event::Joined(container)
            }
            Heard::Said { container, event } => return self.launcher_said(container, event),
            Heard::Lost(container) => Event::LinkLost(container),
            Heard::Misbehaved { container, what } => Event::Misbehaved { container, what },
            Heard::Freed => Event::Freed,
            Heard::WantedBack(containers) => {
                self.wanted_back(containers);
                return Vec::new();
            }
            Heard::Asked { containers, rows } => {
                let now = self.now();
                self.story.asked(now, containers, rows);
                return Vec::new();
            }
            Heard::Refused(words) => Event::RequestsRefused { words },
            Heard::Nodes(Ok(view)) => Event::Snapshot(view),
            Heard::Nodes(Err(why)) => Event::SnapshotFailed(why),
            Heard::ResourceManagerRestarted => Event::ResourceManagerRestarted,
            Heard::ResourceManagerLost { silent } => Event::ResourceManagerLost { silent },
            Heard::Killed => Event::KillRequested(KillReason::Terminated),
            Heard::Cut | Heard::Headroom(_) | Heard::Finished(_) => return Vec::new(),
        };
        self.step(event)
    }

    /// After the verdict.
    pub(crate) fn told_late(&mut self, heard: Heard) {
        match self.holding.hear(heard) {
            Some(Heard::Ended {
                container, status, ..
            }) => self.ended(&container, status),
            // Whoever ends this very process does not wait for terminals.
            Some(Heard::Killed) => {
                self.hasty = true;
                self.leaving = true;
            }
            Some(Heard::Finished(finished)) => self.finished = Some(finished),
            _ => {}
        }
    }

    /// Orders every launcher something.
    pub(crate) fn order_all(&self, order: &ToLauncher) {
        self.holding.tell_all(order);
    }

    /// Orders the launcher in one container something, if it is there.
    pub(crate) fn order(&self, container: &ContainerId, order: ToLauncher) {
        self.holding.tell(container, order);
    }

    /// YARN says that a container is over. Of those that were given back nothing is kept: a job that
    /// waits for long has ever more.
    fn ended(&mut self, container: &ContainerId, status: i32) {
        if self.holding.is_granted(container) {
            self.exits.ended(container.clone(), status);
        }
    }

    /// The containers of one answer.
    fn granted(&mut self, granted: &[Granted]) -> Vec<Action> {
        let mut actions = Vec::new();
        for granted in granted {
            let types = &self.holding.cluster().limits().types;
            let grant = Grant {
                container: ContainerId(granted.container.id.to_string()),
                node: NodeId(granted.container.node.to_string()),
                resources: holding::amount(&granted.container.resource, types),
                round: granted.round,
            };
            actions.extend(self.step(Event::Granted(grant)));
        }
        merged(actions)
    }
}
