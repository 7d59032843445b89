//! An application of one job, which ends with it: all containers are the job's, and all news is for it.

use std::collections::VecDeque;

use job::JobId;
use job::wire::launcher_event::Event as Said;
use job::wire::{MpiEvent, TaskLog, TaskLogRequest};
use policy::ContainerId;
use policy::lifecycle::{KillReason, LifecycleEvent};
use tonic::Status;

use super::grants::grants;
use super::turns::Turn;
use super::{Edge, Turns, ranks_and_no_tasks};
use crate::containers;
use crate::jobs::{JobEntry, Jobs};
use crate::lifetime::NOT_OWNED;
use crate::loop_event::LoopEvent;
use crate::mpi::MpiJobEvent;
use crate::work::{Do, JobEvent, JobWork, WorkEvent};

/// What a client hears that takes it for a session.
const NO_SESSION: &str = "this application was started for one job and is no session";
/// The only job.
const ONLY: JobId = JobId::OF_APPLICATION;

/// The application.
pub(crate) struct SingleJob {
    jobs: Jobs,
    edge: Edge,
}

impl SingleJob {
    /// The application is registered, and the job has not begun.
    pub(crate) fn new(work: JobWork, edge: Edge) -> Self {
        let mut jobs = Jobs::default();
        if let Some(console) = edge.consoles.get(ONLY) {
            jobs.insert(ONLY, JobEntry::of_application(work, console));
        }
        Self { jobs, edge }
    }

    /// Until the job is over, and YARN and the client know it.
    pub(crate) async fn run(&mut self, mut turns: Turns) {
        let todo = self.jobs.begin(self.edge.now(), ONLY);
        let answers = self.carry_out(todo);
        answers.into_iter().for_each(|heard| self.tell(heard));
        while !self.jobs.are_over() {
            let next = turns.next(&mut self.jobs, &self.edge, Vec::new());
            match next.await {
                None => return,
                Some(Turn::News(news)) => self.hear(news),
                Some(Turn::Due) => {
                    for _ in self.jobs.due(self.edge.now()) {
                        self.tell(WorkEvent::Every(JobEvent::Tick));
                    }
                }
                Some(Turn::Place(job, place)) => {
                    if let Some(heard) = self.jobs.post(job, place) {
                        self.tell(heard);
                    }
                }
                Some(Turn::OutputMoved(_)) => self.tell(WorkEvent::Mpi(MpiJobEvent::OutputMoved)),
            }
        }
    }

    /// Tells the job what has happened, and carries out what it wants.
    fn tell(&mut self, heard: WorkEvent) {
        let mut told = VecDeque::from([heard]);
        while let Some(heard) = told.pop_front() {
            let todo = self.jobs.hear(self.edge.now(), ONLY, heard);
            told.extend(self.carry_out(todo));
        }
    }

    fn carry_out(&mut self, todo: Vec<Do>) -> Vec<WorkEvent> {
        let done = todo.into_iter();
        done.filter_map(|what| self.edge.carry_out(&mut self.jobs, ONLY, what))
            .collect()
    }

    fn hear(&mut self, news: LoopEvent) {
        match news {
            LoopEvent::Terminated => {
                self.tell(WorkEvent::Every(JobEvent::Killed(KillReason::Terminated)));
            }
            LoopEvent::Holding(heard) => self.hear_containers(heard),
            LoopEvent::ClientAttached {
                of,
                events,
                admitted,
            } => match self.jobs.get_mut(of) {
                Some(entry) => {
                    entry.visited((events, admitted));
                    self.tell(WorkEvent::Every(JobEvent::ClientAttached));
                }
                None => drop(admitted.send(Err(no_job(of)))),
            },
            LoopEvent::Of(job, heard) => {
                if let (WorkEvent::Every(JobEvent::ClientLeft), Some(entry)) =
                    (&heard, self.jobs.get_mut(job))
                {
                    entry.client_left();
                }
                if job == ONLY {
                    self.tell(heard);
                }
            }
            LoopEvent::Submitted { submission, answer } => {
                let one = "this application was started for one job and takes no other";
                let refused = holding::same_build(&submission.build);
                let refused = refused.and_then(|()| Err(Status::failed_precondition(one)));
                drop(answer.send(refused));
            }
            LoopEvent::KillAsked { job, answer } => drop(answer.send(Err(no_job(job)))),
            LoopEvent::StatusAsked(answer) => drop(answer.send(Err(no_session()))),
            LoopEvent::TimelineAsked(answer) => drop(answer.send(Err(no_session()))),
            LoopEvent::NodesAsked(answer) => drop(answer.send(Err(no_session()))),
            LoopEvent::StopAsked { answer, .. } => drop(answer.send(Err(no_session()))),
            LoopEvent::LogAsked { request, answer } => {
                drop(answer.send(self.log_asked(&request)));
            }
            LoopEvent::OwnerAttached { admitted, .. } => {
                drop(admitted.send(Err(Status::failed_precondition(NOT_OWNED))));
            }
            LoopEvent::Watched
            | LoopEvent::OwnerLeft
            | LoopEvent::Recovered(_)
            | LoopEvent::RecordClosed => {}
        }
    }

    /// Its job has no tasks of which something could be read.
    fn log_asked(&self, request: &TaskLogRequest) -> Result<TaskLog, Status> {
        let job = JobId(request.job);
        match self.jobs.get(job) {
            Some(_) => Err(ranks_and_no_tasks(self.edge.attempt, job)),
            None => Err(Status::not_found(format!("there is no job {} here", job.0))),
        }
    }

    /// What becomes of the containers.
    fn hear_containers(&mut self, heard: holding::ContainerEvent) {
        let is_of_room = matches!(heard, holding::ContainerEvent::Headroom(_));
        let heard = self.edge.holding.hear(heard);
        let heard = heard.and_then(|heard| self.of_job(heard));
        if let Some(headroom) = self.edge.holding.headroom().filter(|_| is_of_room) {
            self.tell(WorkEvent::Mpi(MpiJobEvent::Headroom(headroom)));
        }
        if let Some(heard) = heard {
            self.tell(heard);
        }
    }

    /// What the job hears of it; `None`: nothing.
    fn of_job(&self, heard: holding::ContainerEvent) -> Option<WorkEvent> {
        use holding::ContainerEvent as Of;
        Some(WorkEvent::Mpi(MpiJobEvent::Machine(match heard {
            Of::Granted(granted) => {
                let types = &self.edge.holding.cluster().limits().types;
                return Some(WorkEvent::Mpi(MpiJobEvent::Granted(grants(
                    &granted, types,
                ))));
            }
            Of::Joined {
                container, node, ..
            } => return Some(WorkEvent::Mpi(MpiJobEvent::Joined { container, node })),
            Of::Said { container, event } => return said(container, *event),
            Of::Lost(container) => return Some(WorkEvent::Mpi(MpiJobEvent::Lost(container))),
            Of::WantedBack(containers) => {
                let sentence = containers::of_containers(containers.len());
                return Some(WorkEvent::Mpi(MpiJobEvent::WantedBack(sentence)));
            }
            Of::NodeLeaves { node, within } => {
                let there = self.edge.holding.on_node(&node).len();
                let sentence = containers::of_node(there, &node, within)?;
                return Some(WorkEvent::Mpi(MpiJobEvent::WantedBack(sentence)));
            }
            Of::Asked { containers, rows } => {
                return Some(WorkEvent::Mpi(MpiJobEvent::Asked { containers, rows }));
            }
            Of::Finished(finished) => return Some(WorkEvent::Every(JobEvent::Finished(finished))),
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
            Of::ResourceManagerLost { silent } => {
                return Some(WorkEvent::Every(JobEvent::ResourceManagerLost { silent }));
            }
            Of::Killed => {
                return Some(WorkEvent::Every(JobEvent::Killed(KillReason::Terminated)));
            }
        })))
    }
}

/// What the job hears of what a launcher said; `None`: it is of another job.
fn said(container: ContainerId, event: Said) -> Option<WorkEvent> {
    let what = match event {
        Said::Mpi(MpiEvent { job, event }) => {
            let event = event.filter(|_| JobId(job) == ONLY)?;
            return Some(WorkEvent::Mpi(MpiJobEvent::Said { container, event }));
        }
        Said::Hello(_) => "said hello twice",
        Said::Task(_)
        | Said::FilesFetched(_)
        | Said::JobLeft(_)
        | Said::Elements(_)
        | Said::PeersTried(_) => "answered what it was not ordered",
    };
    let what = what.into();
    Some(WorkEvent::Mpi(MpiJobEvent::Machine(
        LifecycleEvent::Misbehaved { container, what },
    )))
}

fn no_session() -> Status {
    Status::failed_precondition(NO_SESSION)
}

fn no_job(job: JobId) -> Status {
    let none = format!("there is no job {} here: it is over, or never was", job.0);
    Status::not_found(none)
}
