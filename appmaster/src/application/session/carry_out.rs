//! What a job of a session wants done. It runs in containers that are lent to it: YARN's part is played here.
//!
//! ```text
//! TakeSnapshot ─▶ slots are wished for ─▶ lent: the cluster that it sees is just these
//! Ask ─▶ granted at once      Start ─▶ FetchFiles ─▶ joined      Leave ─▶ EndJob ─▶ lost
//! ```

use holding::{Asking, Finished};
use job::JobId;
use job::wire;
use job::wire::launcher_order::Order;
use policy::ContainerId;
use policy::lifecycle::{Grant, LifecycleEvent};

use super::Session;
use crate::mpi::MpiJobEvent;
use crate::mpi::waiting::Look;
use crate::slots::Seen;
use crate::work::{Do, JobEvent, WorkEvent};

impl Session {
    /// Does one thing for a job; what the job is to hear of it at once.
    pub(super) fn carry_out(&mut self, job: JobId, what: Do) -> Option<WorkEvent> {
        match what {
            Do::TakeSnapshot => match self.slots.see(job)? {
                Seen::Slots(view) => Some(WorkEvent::Mpi(MpiJobEvent::Machine(
                    LifecycleEvent::Snapshot(view),
                ))),
                Seen::Nothing => None,
                Seen::Leaves(containers) => {
                    self.end_job_in(job, &containers);
                    None
                }
            },
            Do::Ask(asking) => granted(&asking),
            Do::Start(container) => {
                self.start(job, &container);
                None
            }
            Do::Release(containers) => {
                for container in containers {
                    self.leave(job, &container);
                }
                None
            }
            Do::Dismiss(container) | Do::Leave(container) => {
                self.leave(job, &container);
                None
            }
            Do::LastLook => Some(WorkEvent::Mpi(MpiJobEvent::LastLook(Box::new(
                Look::nothing(),
            )))),
            Do::Unregister { .. } => {
                // Where it never came to run, the files may still be on their way, and the launchers have not been told
                // to leave: of a job by itself such containers go with the application.
                let left = self.slots.is_done(job);
                self.end_job_in(job, &left);
                // The application goes on.
                Some(WorkEvent::Every(JobEvent::Finished(Finished {
                    unregistered: true,
                    ..Finished::default()
                })))
            }
            Do::ForTasks(wanted) => {
                self.carry_out_for_tasks(job, wanted);
                None
            }
            // Nothing is asked of YARN for it, and what is in its way is known.
            Do::LookAround { .. }
            | Do::LookForRivals { .. }
            | Do::Probe(_)
            | Do::Hurry
            | Do::Progress(_) => None,
            Do::Tell { .. }
            | Do::Admit(_)
            | Do::Show(_)
            | Do::LogOutput
            | Do::CloseOutput
            | Do::LookAtOutput { .. }
            | Do::RenewInput
            | Do::EndInput
            | Do::Files(_)
            | Do::DropFiles
            | Do::Measure => self.edge.carry_out(&mut self.jobs, job, what),
        }
    }

    /// The launcher in a container that was lent brings the job's files.
    fn start(&mut self, job: JobId, container: &ContainerId) {
        if let Some(entry) = self.jobs.get(job) {
            entry.console().expect(container);
        }
        let Some(files) = self.slots.begins_in(job, container) else {
            return;
        };
        self.edge.holding.tell(container, Order::FetchFiles(files));
        // Its client hears which of its other launchers this one does not reach.
        let others = self.slots.containers_of(job);
        for sentence in self.nodes.between(container, &others) {
            self.notice(job, sentence);
        }
    }

    /// The job is over in a container.
    fn leave(&mut self, job: JobId, container: &ContainerId) {
        if self.slots.leave(job, container) {
            self.end_job_in(job, std::slice::from_ref(container));
        }
    }

    /// The launchers in these containers end what they have of the job.
    fn end_job_in(&self, job: JobId, containers: &[ContainerId]) {
        for container in containers {
            let end = wire::EndJob { job: job.0 };
            self.edge.holding.tell(container, Order::EndJob(end));
        }
    }
}

/// What is asked for is there: a node of the cluster that the job sees is a container, and has its id.
fn granted(asking: &Asking) -> Option<WorkEvent> {
    let fresh = asking.fresh().map(|share| Grant {
        container: ContainerId(share.node.0.clone()),
        node: share.node.clone(),
        resources: share.ask,
        round: asking.round,
    });
    let grants: Vec<Grant> = fresh.collect();
    (!grants.is_empty()).then_some(WorkEvent::Mpi(MpiJobEvent::Granted(grants)))
}
