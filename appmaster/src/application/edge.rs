//! Carries out what jobs and rooms want. Nothing here decides, and nothing waits for a peer: what takes time is a task
//! of its own whose end is news.

use std::sync::Arc;
use std::time::SystemTime;

use holding::{ClusterLimits, Holding};
use job::JobId;
use job::wire;
use job::wire::launcher_order::Order;
use policy::Millis;
use proto_hadoop::AppAttemptId;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::console::write_to_log;
use crate::consoles::Consoles;
use crate::detached::Detached;
use crate::files::FileWork;
use crate::jobs::{JobEntry, Jobs};
use crate::loop_event::{LoopEvent, LoopEventSender};
use crate::mpi::ATTACH_DEADLINE;
use crate::mpi::MpiJobEvent;
use crate::mpi::standoff;
use crate::mpi::verdict;
use crate::mpi::waiting::Look;
use crate::work::{Do, OutputSeen, WorkEvent};

/// The number of the one request that there is.
const ONLY: u32 = 0;

/// YARN, launchers, clients and file systems, as an application reaches them.
pub(crate) struct Edge {
    pub(super) holding: Holding,
    pub(super) consoles: Arc<Consoles>,
    /// Jobs that no client follows.
    pub(super) detached: Arc<Detached>,
    /// What YARN counts this ApplicationMaster as.
    pub(super) attempt: AppAttemptId,
    /// Zero of the application's clock.
    began: Instant,
    pub(super) tasks: TaskTracker,
    pub(super) news: LoopEventSender,
}

impl Edge {
    /// The application's clock begins now.
    pub(crate) fn new(
        holding: Holding,
        consoles: Arc<Consoles>,
        detached: Arc<Detached>,
        attempt: AppAttemptId,
        tasks: TaskTracker,
        news: LoopEventSender,
    ) -> Self {
        Self {
            holding,
            consoles,
            detached,
            attempt,
            began: Instant::now(),
            tasks,
            news,
        }
    }

    /// What YARN counts this ApplicationMaster as.
    pub(crate) const fn attempt(&self) -> AppAttemptId {
        self.attempt
    }

    /// What the cluster says of its limits.
    pub(crate) fn limits(&self) -> &ClusterLimits {
        self.holding.cluster().limits()
    }

    /// Which nodes may be asked for, in words; `None`: all.
    pub(crate) fn candidates(&self) -> Option<String> {
        self.holding.cluster().candidates().words()
    }

    /// When the ResourceManager took the registration.
    pub(crate) const fn registered(&self) -> SystemTime {
        self.holding.registered()
    }

    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// Milliseconds since the application began.
    pub(super) fn now(&self) -> Millis {
        let elapsed = self.began.elapsed().as_millis();
        Millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// The job of which another stream has ended, or the last of all output was handed over.
    pub(super) async fn output_moved(&self) -> JobId {
        self.consoles.moved().await
    }

    /// Does one thing for `job`; what the job is to hear of it at once.
    pub(super) fn carry_out(&mut self, jobs: &mut Jobs, job: JobId, what: Do) -> Option<WorkEvent> {
        match what {
            Do::TakeSnapshot => self.holding.read_nodes(),
            Do::LookAround { enough } => {
                let look = Look::take(self.holding.cluster().clone(), enough);
                self.answer(job, async {
                    WorkEvent::Mpi(MpiJobEvent::Looked(Box::new(look.await)))
                });
            }
            Do::LastLook => {
                let look = Look::take(self.holding.cluster().clone(), None);
                self.answer(job, async {
                    WorkEvent::Mpi(MpiJobEvent::LastLook(Box::new(look.await)))
                });
            }
            Do::LookForRivals { holds } => {
                let cluster = Arc::clone(self.holding.cluster().client());
                let own = self.attempt.application;
                self.answer(job, async move {
                    WorkEvent::Mpi(MpiJobEvent::Rivals(
                        standoff::sight(&cluster, own, holds).await,
                    ))
                });
            }
            Do::Ask(asking) => self.holding.ask(ONLY, &asking),
            Do::Release(containers) => self.holding.release(&containers),
            Do::Start(container) => self.holding.start(&container),
            Do::Probe(container) => self.holding.probe(&container),
            Do::Hurry => self.holding.hurry(),
            Do::Progress(thousandths) => self.holding.progress(thousandths),
            Do::Tell { to, order } => {
                let order = Some(*order);
                let order = wire::MpiOrder { job: job.0, order };
                self.holding.tell(&to, Order::Mpi(order));
            }
            Do::Dismiss(container) => self.holding.dismiss(&container),
            Do::Leave(container) => self.holding.leave(&container),
            Do::Measure => return Some(WorkEvent::Mpi(MpiJobEvent::Memory(verdict::memory()))),
            Do::Unregister {
                status,
                diagnostics,
            } => self.holding.finish(status, diagnostics),
            // Only jobs of a session have tasks.
            Do::ForTasks(_) => {}
            Do::Admit(_)
            | Do::Show(_)
            | Do::LogOutput
            | Do::CloseOutput
            | Do::LookAtOutput { .. }
            | Do::RenewInput
            | Do::EndInput
            | Do::Files(_)
            | Do::DropFiles => return self.attend(jobs.get_mut(job)?, job, what),
        }
        None
    }

    /// What concerns the job's client, its output and input, and its files.
    fn attend(&self, entry: &mut JobEntry, job: JobId, what: Do) -> Option<WorkEvent> {
        let console = entry.console();
        match what {
            Do::Admit(admission) => entry.admit(admission),
            Do::Show(phase) => {
                let event = wire::job_event::Event::Phase(phase);
                match (entry.client(), self.detached.get(job)) {
                    (None, Some(kept)) => kept.hear(event),
                    (Some(_), _) | (None, None) => drop(entry.show(event)),
                }
            }
            Do::LogOutput => {
                if let Some(output) = console.take_output() {
                    tracing::warn!(
                        "no client has attached within {} s: the output goes here",
                        ATTACH_DEADLINE.0 / 1000
                    );
                    let console = Arc::clone(console);
                    self.tasks.spawn(write_to_log(output, console));
                }
            }
            Do::CloseOutput => console.close(),
            Do::LookAtOutput { run, streams } => {
                return Some(WorkEvent::Mpi(MpiJobEvent::Output(OutputSeen {
                    all_ended: console.has_all(run, &streams),
                    is_closed: console.is_closed(),
                    is_backed_up: console.is_backed_up(),
                    is_drained: console.is_drained(),
                })));
            }
            Do::RenewInput => console.renew_input(),
            Do::EndInput => drop(console.input()),
            Do::Files(work) => self.work_on_files(entry, job, work),
            Do::DropFiles => entry.drop_files(),
            // These are no concern of the job's own.
            Do::TakeSnapshot
            | Do::LookAround { .. }
            | Do::LastLook
            | Do::LookForRivals { .. }
            | Do::Ask(_)
            | Do::Release(_)
            | Do::Start(_)
            | Do::Probe(_)
            | Do::Hurry
            | Do::Progress(_)
            | Do::ForTasks(_)
            | Do::Tell { .. }
            | Do::Dismiss(_)
            | Do::Leave(_)
            | Do::Measure
            | Do::Unregister { .. } => {}
        }
        None
    }

    /// Gives `job` the answer when it is there.
    pub(super) fn answer(
        &self,
        job: JobId,
        answer: impl Future<Output = WorkEvent> + Send + 'static,
    ) {
        let news = self.news.clone();
        self.tasks.spawn(async move {
            let heard = answer.await;
            let _heard = news.send(LoopEvent::Of(job, heard)).await.is_ok();
        });
    }

    /// What may be dropped ends when the job says so.
    fn work_on_files(&self, entry: &JobEntry, job: JobId, work: FileWork) {
        let (closing, news) = (entry.closing(), self.news.clone());
        let dropped = work.may_be_dropped().then(|| entry.files());
        self.tasks.spawn(async move {
            let told = |done| LoopEvent::Of(job, WorkEvent::Mpi(MpiJobEvent::Files(done)));
            // It is a word for the user; a loop that is full of news has others.
            let away = |away| drop(news.try_send(told(away)));
            let dropped = async {
                match dropped {
                    Some(dropped) => dropped.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = dropped => {}
                done = work.done(closing, away) => if let Some(done) = done {
                    let _heard = news.send(told(done)).await.is_ok();
                },
            }
        });
    }
}
