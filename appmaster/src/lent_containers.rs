//! What a job wants that runs in lent containers: YARN's part is played here.
//!
//! ```text
//! TakeSnapshot ─▶ slots are wished for ─▶ lent: the cluster that it sees is just these
//! Ask ─▶ granted at once      Start ─▶ FetchFiles ─▶ joined      Leave ─▶ EndJob ─▶ lost
//! ```
//!
//! A job that has lost a part of its slots, and may begin again, takes another snapshot: it leaves what it still
//! has, returns all, and wishes for as many anew. Nobody holds slots while it waits for others.

use std::ops::ControlFlow;
use std::sync::Arc;

use holding::Finished;
use job::JobId;
use job::wire;
use job::wire::launcher_order::Order;
use policy::ContainerId;
use policy::lending::SlotRequest;
use policy::lifecycle::{Grant, LifecycleEvent};

use crate::lent_events::LentEvent;
use crate::loan::{Loan, Use};
use crate::mpi::waiting::Look;
use crate::session::Session;
use crate::work::{Do, WorkEvent};

impl Session {
    /// Does one thing for a job that has a loan: breaks with what it is to hear of it at once, or goes on
    /// with what is to be done as for any other job.
    pub(crate) fn carry_out_lent(
        &mut self,
        job: JobId,
        what: Do,
    ) -> ControlFlow<Option<WorkEvent>, Do> {
        ControlFlow::Break(match what {
            Do::TakeSnapshot => self.view_of(job),
            Do::Ask(asking) => {
                // A node of the cluster that it sees is a container, and has its id.
                let fresh = asking.fresh().map(|share| Grant {
                    container: ContainerId(share.node.0.clone()),
                    node: share.node.clone(),
                    resources: share.ask,
                    round: asking.round,
                });
                let grants: Vec<Grant> = fresh.collect();
                (!grants.is_empty()).then_some(WorkEvent::Granted(grants))
            }
            Do::Start(container) => {
                if let Some(entry) = self.jobs.get(&job) {
                    entry.console.expect(&container);
                }
                let Some(loan) = self.loan(job) else {
                    return ControlFlow::Break(None);
                };
                loan.containers.insert(container.clone(), Use::Fetching);
                loan.has_begun = true;
                let files = loan.files.clone();
                self.holding.tell(&container, Order::FetchFiles(files));
                self.tell_unreached(job, &container);
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
            Do::LastLook => Some(WorkEvent::LastLook(Box::new(Look::nothing()))),
            Do::Unregister { .. } => {
                // Where it never came to run, the files may still be on their way, and nobody has been told
                // to leave: of a job by itself such containers go with the application.
                let used = self.loan(job).map(Loan::used).unwrap_or_default();
                for container in used {
                    self.leave(job, &container);
                }
                if let Some(loan) = self.loan(job) {
                    loan.is_done = true;
                }
                // The application goes on.
                Some(WorkEvent::Finished(Finished {
                    unregistered: true,
                    ..Finished::default()
                }))
            }
            // Nothing is asked of YARN for it, and who is in its way is known.
            Do::LookAround { .. }
            | Do::LookForRivals { .. }
            | Do::Probe(_)
            | Do::Hurry
            | Do::Progress(_) => None,
            other => return ControlFlow::Continue(other),
        })
    }

    /// The slots that it has, as a cluster; where it has none they are wished for, and where it has used them
    /// others are.
    fn view_of(&mut self, job: JobId) -> Option<WorkEvent> {
        let loan = self.loan(job)?;
        if loan.has_begun {
            loan.begins_again = true;
            for container in loan.used() {
                self.leave(job, &container);
            }
            return None;
        }
        let sharing = self.sharing.as_mut()?;
        let loan = self.jobs.get_mut(&job)?.loan.as_mut()?;
        match &loan.lent {
            Some(lent) => {
                let view = sharing.lending.view(lent, loan.request.unit);
                Some(WorkEvent::Machine(LifecycleEvent::Snapshot(view)))
            }
            None => {
                if loan.number.is_none() {
                    sharing.hold_back(job, &loan.request);
                }
                None
            }
        }
    }

    /// Slots of a job that waits for others are returned, when no container has anything of it, and as many
    /// wished for.
    pub(crate) fn may_begin_again(&mut self, job: JobId) {
        let now = self.now();
        let Some(loan) = self.loan(job) else {
            return;
        };
        let request = Arc::clone(&loan.request);
        let Some(number) = loan.begin_again() else {
            return;
        };
        if let Some(sharing) = &mut self.sharing {
            let how = wire::session_span::How::Lost;
            sharing.ledger.job_ends(now, job, how);
        }
        self.wish_anew(job, number, &request);
    }

    /// The slots of a wish, as far as there are some, are returned, and as many wished for, in the job's old turn:
    /// who gets them is decided when it stands there again.
    pub(crate) fn wish_anew(&mut self, job: JobId, number: u32, request: &SlotRequest) {
        let now = self.now();
        let turn = self.sharing.as_ref().and_then(|of| of.lending.turn(number));
        if let (Some(loan), Some(turn)) = (self.loan(job), turn) {
            loan.turn = Some(turn);
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.lending.given_back(now, number);
            sharing.wish_ends(number, request);
            sharing.hold_back(job, request);
        }
        self.wish();
        self.lending(|lending| lending.tick(now));
    }

    /// The job is over in a container.
    fn leave(&mut self, job: JobId, container: &ContainerId) {
        if self.loan(job).is_some_and(|loan| loan.leave(container)) {
            let end = wire::EndJob { job: job.0 };
            self.holding.tell(container, Order::EndJob(end));
        }
    }

    /// A launcher has brought a job's files, or not.
    pub(crate) fn fetched(&mut self, container: ContainerId, fetched: &wire::FilesFetched) {
        let job = JobId(fetched.job);
        let Some(node) = self.holding.link(&container).map(|link| link.node.clone()) else {
            return;
        };
        let Some(of) = self
            .loan(job)
            .and_then(|loan| loan.containers.get_mut(&container))
        else {
            return;
        };
        if *of != Use::Fetching {
            return;
        }
        let (host, bytes) = (node.hostname.clone(), fetched.bytes);
        let heard = LentEvent::of_files(container, node, fetched);
        if let LentEvent::Joined { container, .. } = &heard {
            *of = Use::Joined;
            tracing::info!(
                "job {}: {bytes} bytes brought to {container} on {host}",
                job.0
            );
        }
        self.tell(job, WorkEvent::Lent(heard));
    }

    /// Nothing of a job is left in a container.
    pub(crate) fn left(&mut self, container: ContainerId, job: JobId) {
        self.holding.forget(&container, job.0);
        let Some(loan) = self.loan(job) else {
            return;
        };
        if loan.containers.remove(&container).is_some() {
            self.tell(job, WorkEvent::Lent(LentEvent::Left(container)));
        }
    }
}
