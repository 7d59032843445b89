//! News of containers and of their launchers: the rooms hear it, and the jobs that are there.

use job::JobId;
use job::wire;
use job::wire::launcher_event::Event as Said;
use job::wire::{MpiEvent, TaskEvent, task_event};
use policy::ContainerId;
use policy::gang::GangEvent;

use super::super::grants::grants;
use super::Session;
use crate::containers::Back;
use crate::lent_events::LentEvent;
use crate::mapreduce::MapReduceEvent;
use crate::mpi::MpiJobEvent;
use crate::work::WorkEvent;

impl Session {
    /// What becomes of the containers.
    pub(super) fn hear_containers(&mut self, heard: holding::ContainerEvent) {
        use holding::ContainerEvent as Of;
        let Some(heard) = self.edge.holding.hear(heard) else {
            return;
        };
        if let Some(lost) = LentEvent::of(&heard) {
            return self.container_lost(&lost);
        }
        let now = self.now();
        match heard {
            Of::Granted(granted) => {
                let types = &self.edge.holding.cluster().limits().types;
                let grants = grants(&granted, types);
                for (granted, grant) in granted.iter().zip(grants) {
                    let wants = self.containers.granted(now, granted.request, grant);
                    self.want(wants);
                }
            }
            Of::Joined {
                container, node, ..
            } => self.launcher_joined(&container, &node),
            Of::Said { container, event } => self.launcher_said(container, *event),
            Of::Freed => self.all_hear(&GangEvent::Freed),
            Of::Nodes(view) => {
                let wants = self.containers.nodes_read(now, &view);
                self.want(wants);
            }
            Of::Refused { requests, words } => {
                tracing::warn!("the ResourceManager refuses: {words}");
                let wants = self.containers.refused(now, &requests, words);
                self.want(wants);
            }
            Of::ResourceManagerRestarted { .. } => {
                self.all_hear(&GangEvent::ResourceManagerRestarted);
            }
            Of::ResourceManagerLost { silent } => self.resource_manager_lost(silent),
            Of::Killed => self.terminated(),
            Of::Finished(_) => self.life.unregistered(),
            Of::WantedBack(containers) => self.wanted_back(&containers, Back::Preempted),
            Of::NodeLeaves { node, within } => {
                let there = self.edge.holding.on_node(&node);
                self.wanted_back(&there, Back::Decommissioned(within));
            }
            Of::Asked { .. } => self.containers.taken(),
            Of::Cut | Of::Headroom(_) | Of::Localizing(_) => {}
            // The jobs there have heard it.
            Of::Lost(_) | Of::Ended { .. } | Of::StartFailed { .. } | Of::Misbehaved { .. } => {}
        }
    }

    fn all_hear(&mut self, event: &GangEvent) {
        let wants = self.containers.all_hear(self.now(), event);
        self.want(wants);
    }

    fn launcher_said(&mut self, container: ContainerId, event: Said) {
        match event {
            Said::Mpi(MpiEvent { job, event }) => {
                let job = JobId(job);
                if let (true, Some(event)) = (self.slots.is_in(job, &container), event) {
                    self.tell(job, WorkEvent::Mpi(MpiJobEvent::Said { container, event }));
                }
            }
            Said::Task(TaskEvent {
                event: Some(task_event::Event::Log(read)),
                ..
            }) => self.ledger.answered(read),
            Said::Task(TaskEvent { job, event }) => {
                let job = JobId(job);
                if let (true, Some(event)) = (self.slots.is_in(job, &container), event) {
                    let event = Box::new(event);
                    let said = MapReduceEvent::Said { container, event };
                    self.tell(job, WorkEvent::MapReduce(said));
                }
            }
            Said::FilesFetched(fetched) => self.fetched(container, &fetched),
            Said::JobLeft(left) => self.left(container, JobId(left.job)),
            Said::Elements(found) => self.devices_found(&container, found),
            Said::PeersTried(answer) => {
                let effects = self.nodes.has_tried(&container, answer);
                self.carry_out_for_nodes(effects);
            }
            Said::Hello(_) => {
                tracing::warn!("the launcher in {container} said what makes no sense");
            }
        }
    }

    /// A launcher has brought a job's files, or not.
    fn fetched(&mut self, container: ContainerId, fetched: &wire::FilesFetched) {
        let job = JobId(fetched.job);
        let link = self.edge.holding.link(&container);
        let Some(node) = link.map(|link| link.node.clone()) else {
            return;
        };
        let are_there = fetched.trouble.is_empty();
        if !self.slots.fetched(job, &container, are_there) {
            return;
        }
        if are_there {
            tracing::info!(
                "job {}: {} bytes brought to {container} on {}",
                job.0,
                fetched.bytes,
                node.hostname
            );
        }
        let heard = LentEvent::of_files(container, node, fetched);
        self.tell(job, WorkEvent::Lent(heard));
    }

    /// Nothing of a job is left in a container.
    fn left(&mut self, container: ContainerId, job: JobId) {
        self.edge.holding.forget(&container, job.0);
        if self.slots.left(job, &container) {
            self.tell(job, WorkEvent::Lent(LentEvent::Left(container)));
        }
    }
}
