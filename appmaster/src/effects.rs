//! Carries out what jobs want. Nothing here decides, and nothing waits for a peer: whatever takes time
//! is a task of its own whose end is news.

use std::ops::ControlFlow;
use std::sync::Arc;

use job::JobId;
use job::wire;
use job::wire::launcher_order::Order;
use tonic::Status;

use crate::console::write_to_log;
use crate::files::FileWork;
use crate::loop_event::LoopEvent;
use crate::mpi::ATTACH_DEADLINE;
use crate::mpi::standoff;
use crate::mpi::verdict;
use crate::mpi::waiting::Look;
use crate::session::Session;
use crate::work::{Do, OutputSeen, WorkEvent};

/// The number of the one request that there is.
const ONLY: u32 = 0;

impl Session {
    /// Does one thing for `job`; what the job is to hear of it at once.
    pub(crate) fn carry_out(&mut self, job: JobId, what: Do) -> Option<WorkEvent> {
        let is_lent = self
            .jobs
            .get(&job)
            .is_some_and(|entry| entry.loan.is_some());
        let what = match is_lent {
            true => match self.carry_out_lent(job, what) {
                ControlFlow::Break(heard) => return heard,
                ControlFlow::Continue(what) => what,
            },
            false => what,
        };
        match what {
            Do::TakeSnapshot => self.holding.read_nodes(),
            Do::LookAround { enough } => {
                let look = Look::take(self.holding.cluster().clone(), enough);
                self.answer(job, async { WorkEvent::Looked(Box::new(look.await)) });
            }
            Do::LastLook => {
                let look = Look::take(self.holding.cluster().clone(), None);
                self.answer(job, async { WorkEvent::LastLook(Box::new(look.await)) });
            }
            Do::LookForRivals { holds } => {
                let cluster = Arc::clone(self.holding.cluster().client());
                let own = self.attempt.application;
                self.answer(job, async move {
                    WorkEvent::Rivals(standoff::sight(&cluster, own, holds).await)
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
            Do::ForTasks(wanted) => self.carry_out_for_tasks(job, wanted),
            Do::Dismiss(container) => self.holding.dismiss(&container),
            Do::Leave(container) => self.holding.leave(&container),
            Do::Files(work) => self.work_on_files(job, work),
            Do::Measure => return Some(WorkEvent::Memory(verdict::memory())),
            Do::Unregister {
                status,
                diagnostics,
            } => self.holding.finish(status, diagnostics),
            other => return self.attend(job, other),
        }
        None
    }

    /// What concerns the job's client, its output and its input.
    fn attend(&mut self, job: JobId, what: Do) -> Option<WorkEvent> {
        let entry = self.jobs.get_mut(&job)?;
        let console = &entry.console;
        match what {
            Do::Admit(admission) => {
                let (events, admitted) = entry.visitor.take()?;
                if admission.is_ok() {
                    entry.client = Some(events);
                }
                let admission = admission.map_err(Status::failed_precondition);
                let _heard = admitted.send(admission).is_ok();
            }
            Do::Show(phase) => {
                let event = Some(wire::job_event::Event::Phase(phase));
                if let Some(events) = &entry.client {
                    let _shown = events.try_send(Ok(wire::JobEvent { event })).is_ok();
                } else if let (Some(kept), Some(event)) = (self.detached.get(job), event) {
                    kept.hear(event);
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
                return Some(WorkEvent::Output(OutputSeen {
                    all_ended: console.has_all(run, &streams),
                    is_closed: console.is_closed(),
                    is_backed_up: console.is_backed_up(),
                    is_drained: console.is_drained(),
                }));
            }
            Do::RenewInput => console.renew_input(),
            Do::EndInput => drop(console.input()),
            Do::DropFiles => std::mem::take(&mut entry.files).cancel(),
            _ => {}
        }
        None
    }

    /// Gives `job` the answer when it is there.
    pub(crate) fn answer(
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
    fn work_on_files(&self, job: JobId, work: FileWork) {
        let Some(entry) = self.jobs.get(&job) else {
            return;
        };
        let (closing, news) = (Arc::clone(&entry.closing), self.news.clone());
        let dropped = work.may_be_dropped().then(|| entry.files.clone());
        self.tasks.spawn(async move {
            let dropped = async {
                match dropped {
                    Some(dropped) => dropped.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = dropped => {}
                done = work.done(closing) => if let Some(done) = done {
                    let answer = LoopEvent::Of(job, WorkEvent::Files(done));
                    let _heard = news.send(answer).await.is_ok();
                },
            }
        });
    }
}
