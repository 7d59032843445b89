//! News: who it is for.

use job::JobId;
use tonic::Status;

use super::Session;
use crate::lifetime::Reason;
use crate::loop_event::LoopEvent;
use crate::work::{JobEvent, WorkEvent};
use proto_hadoop::yarn::FinalApplicationStatus;

impl Session {
    /// One piece of news, for the room, the job or the client that it concerns.
    pub(super) fn hear(&mut self, news: LoopEvent) {
        match news {
            LoopEvent::Terminated => self.terminated(),
            LoopEvent::Holding(heard) => self.hear_containers(heard),
            LoopEvent::ClientAttached {
                of,
                events,
                admitted,
            } => {
                let Some(entry) = self.jobs.get_mut(of) else {
                    drop(admitted.send(Err(no_job(of))));
                    return;
                };
                entry.visited((events, admitted));
                self.slots.show_soon(self.edge.now());
                self.tell(of, WorkEvent::Every(JobEvent::ClientAttached));
            }
            LoopEvent::Of(job, heard) => {
                if let (WorkEvent::Every(JobEvent::ClientLeft), Some(entry)) =
                    (&heard, self.jobs.get_mut(job))
                {
                    entry.client_left();
                }
                self.tell(job, heard);
            }
            LoopEvent::Submitted { submission, answer } => {
                drop(answer.send(self.submit(*submission)));
            }
            LoopEvent::Watched => self.slots.show_soon(self.edge.now()),
            LoopEvent::KillAsked { job, answer } => drop(answer.send(self.kill_asked(job))),
            LoopEvent::StatusAsked(answer) => drop(answer.send(Ok(self.status()))),
            LoopEvent::TimelineAsked(answer) => {
                drop(answer.send(Ok(self.ledger.timeline(self.now()))));
            }
            LoopEvent::LogAsked { request, answer } => self.log_asked(&request, answer),
            LoopEvent::NodesAsked(answer) => {
                let offers = self.slots.offers().map(|(offer, _)| offer);
                drop(answer.send(Ok(self.nodes.table(offers))));
            }
            LoopEvent::StopAsked {
                now,
                verdict,
                answer,
            } => drop(answer.send(Ok(self.stop_asked(now, verdict)))),
            LoopEvent::OwnerAttached { events, admitted } => {
                let taken = self.life.owner_comes(events);
                drop(admitted.send(taken.map_err(Status::failed_precondition)));
            }
            LoopEvent::Recovered(recovered) => {
                let words = recovered.sentence();
                tracing::warn!("{words}");
                self.life.recovered(words);
            }
            LoopEvent::RecordClosed => self.life.record_closed(),
            LoopEvent::OwnerLeft => self.owner_left("its client has left it"),
        }
    }

    /// Something is due: of jobs, and of the rooms.
    pub(super) fn wake(&mut self) {
        let now = self.now();
        for job in self.jobs.due(now) {
            if let Some(heard) = self.jobs.overdue(now, job) {
                self.tell(job, heard);
            }
        }
        self.wake_rooms();
    }

    fn wake_rooms(&mut self) {
        let now = self.now();
        let settled = self.containers.settled(now);
        let shows = self.slots.is_to_show(now);
        let wants = self.containers.tick(now);
        let resizes = self.containers.is_to_resize(now, self.may_resize());
        let lends = self.slots.is_due(now);
        let ends = self.life.due(now);
        self.want(wants);
        if lends {
            self.with_slots(|slots, now| slots.tick(now));
        }
        for container in settled {
            self.replace(&container, true);
        }
        if resizes {
            self.resize();
        }
        if shows {
            self.show_waiting();
        }
        for reason in ends {
            match reason {
                Reason::Idle => {
                    let words = sentences::NO_JOB_CAME.to_owned();
                    self.stop(false, FinalApplicationStatus::Succeeded, words);
                }
                Reason::OwnerMissed => self.owner_left("its client has not come"),
            }
        }
    }
}

/// What a client hears that names a job that is not there.
pub(super) fn no_job(job: JobId) -> Status {
    let none = format!("there is no job {} here: it is over, or never was", job.0);
    Status::not_found(none)
}
