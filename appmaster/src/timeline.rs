//! What a session's jobs had of its slots, and when, for whoever asks: all that they have, and of what they had the
//! last.

use std::collections::{BTreeMap, VecDeque};

use job::JobId;
use job::wire;
use job::wire::session_span::{How, Stage};
use policy::lending::{Lent, TaskStart};
use policy::lifecycle::Cause;
use policy::schedule::{AttemptIx, AttemptOutcome};
use policy::{ContainerId, Millis, schedule};
use tonic::Status;

use crate::session::Session;
use crate::work::JobWork;

/// Spans that are over and kept, some hundred bytes each.
const MOST: usize = 1_000;
/// Letters of a job's name.
const NAME_MAX: usize = 64;

/// What has slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimelinePiece {
    /// Processes of a gang in one container.
    Gang(ContainerId),
    /// An attempt at a task.
    Task(AttemptIx),
}

/// The spans.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    running: BTreeMap<(JobId, TimelinePiece), (ContainerId, wire::SessionSpan)>,
    over: VecDeque<wire::SessionSpan>,
    left_out: u64,
}

impl Timeline {
    fn begins(
        &mut self,
        job: JobId,
        piece: TimelinePiece,
        within: &ContainerId,
        span: wire::SessionSpan,
    ) {
        self.running.insert((job, piece), (within.clone(), span));
    }

    /// Slots are free again.
    pub(crate) fn ends(&mut self, now: Millis, job: JobId, piece: TimelinePiece, how: How) {
        if let Some((_, span)) = self.running.remove(&(job, piece)) {
            self.is_over(now, how, [span]);
        }
    }

    /// A job has none any more.
    pub(crate) fn job_ends(&mut self, now: Millis, job: JobId, how: How) {
        self.end_of(now, how, |(of, _), _| *of == job);
    }

    /// A container is gone.
    pub(crate) fn container_lost(&mut self, now: Millis, container: &ContainerId) {
        self.end_of(now, How::Lost, |_, within| within == container);
    }

    fn end_of(
        &mut self,
        now: Millis,
        how: How,
        mut is_meant: impl FnMut(&(JobId, TimelinePiece), &ContainerId) -> bool,
    ) {
        let mut ended = Vec::new();
        self.running.retain(|key, (within, span)| {
            let ends = is_meant(key, within);
            if ends {
                ended.push(std::mem::take(span));
            }
            !ends
        });
        self.is_over(now, how, ended);
    }

    fn is_over(
        &mut self,
        now: Millis,
        how: How,
        ended: impl IntoIterator<Item = wire::SessionSpan>,
    ) {
        let ended = ended.into_iter().map(|span| wire::SessionSpan {
            ended_ms: now.0.max(1),
            how: how.into(),
            ..span
        });
        self.over.extend(ended);
        while self.over.len() > MOST {
            self.over.pop_front();
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    fn told(&self, now: Millis) -> wire::SessionTimeline {
        let running = self.running.values().map(|(_, span)| span);
        wire::SessionTimeline {
            spans: self.over.iter().chain(running).cloned().collect(),
            now_ms: now.0,
            left_out: self.left_out,
        }
    }
}

impl Session {
    /// What the jobs of a session had of its slots.
    pub(crate) fn timeline(&self) -> Result<wire::SessionTimeline, Status> {
        let none = "this application was started for one job and is no session";
        let sharing = self.sharing.as_ref();
        let sharing = sharing.ok_or_else(|| Status::failed_precondition(none))?;
        Ok(sharing.timeline.told(self.now()))
    }

    /// A gang has its slots.
    pub(crate) fn gang_begins(&mut self, job: JobId, lent: &Lent) {
        // All of it begins at one moment.
        let of_all = self.span(job);
        for (container, slots) in &lent.shares {
            let host = self.holding.host_of(container).unwrap_or_default();
            let span = wire::SessionSpan {
                stage: Stage::Gang.into(),
                host,
                slots: *slots,
                ..of_all.clone()
            };
            if let Some(sharing) = &mut self.sharing {
                let piece = TimelinePiece::Gang(container.clone());
                sharing.timeline.begins(job, piece, container, span);
            }
        }
    }

    /// A task has a slot.
    pub(crate) fn task_begins(&mut self, job: JobId, start: &TaskStart) {
        let stage = match start.stage {
            schedule::Stage::Map => Stage::Map,
            schedule::Stage::Reduce | schedule::Stage::Gang => Stage::Reduce,
        };
        let span = wire::SessionSpan {
            stage: stage.into(),
            task: start.task.0,
            host: start.host.clone(),
            slots: 1,
            ..self.span(job)
        };
        if let Some(sharing) = &mut self.sharing {
            let piece = TimelinePiece::Task(start.attempt);
            sharing.timeline.begins(job, piece, &start.container, span);
        }
    }

    /// An attempt at a task has given its slot back.
    pub(crate) fn task_ends(&mut self, job: JobId, attempt: AttemptIx, how: AttemptOutcome) {
        let now = self.now();
        let how = match how {
            AttemptOutcome::Done => How::Done,
            AttemptOutcome::Failed | AttemptOutcome::NoDevice => How::Failed,
            AttemptOutcome::Killed | AttemptOutcome::Preempted => How::Killed,
            AttemptOutcome::Lost => How::Lost,
        };
        if let Some(sharing) = &mut self.sharing {
            sharing
                .timeline
                .ends(now, job, TimelinePiece::Task(attempt), how);
        }
    }

    /// A job has given all back that it had.
    pub(crate) fn spans_end(&mut self, job: JobId) {
        let now = self.now();
        let how = match self.jobs.get(&job).map(|entry| &entry.work) {
            Some(JobWork::Mpi(mpi)) => match mpi.cause() {
                None => How::Done,
                Some(Cause::Killed(_)) => How::Killed,
                Some(_) => How::Failed,
            },
            // Its tasks have told of themselves before.
            Some(JobWork::MapReduce(_) | JobWork::Queued(_)) | None => How::Killed,
        };
        if let Some(sharing) = &mut self.sharing {
            sharing.timeline.job_ends(now, job, how);
        }
    }

    /// What all spans of a job have that begin now.
    fn span(&self, job: JobId) -> wire::SessionSpan {
        let loan = self.jobs.get(&job).and_then(|entry| entry.loan.as_ref());
        let name = loan.map_or("", |loan| loan.name.as_str());
        wire::SessionSpan {
            job: job.0,
            name: name.chars().take(NAME_MAX).collect(),
            began_ms: self.now().0,
            ..wire::SessionSpan::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_told_behind_the_last_of_what_is_over() {
        let mut timeline = Timeline::default();
        let within = |number: u32| ContainerId(format!("c{number}"));
        let begins = |timeline: &mut Timeline, job: u32, piece: TimelinePiece, container: u32| {
            let span = wire::SessionSpan {
                job,
                began_ms: 5,
                ..wire::SessionSpan::default()
            };
            timeline.begins(JobId(job), piece, &within(container), span);
        };
        begins(&mut timeline, 1, TimelinePiece::Gang(within(1)), 1);
        begins(&mut timeline, 1, TimelinePiece::Gang(within(2)), 2);
        begins(&mut timeline, 2, TimelinePiece::Task(AttemptIx(7)), 2);
        timeline.ends(
            Millis(9),
            JobId(2),
            TimelinePiece::Task(AttemptIx(8)),
            How::Done,
        );
        assert_eq!(timeline.told(Millis(9)).spans.len(), 3);
        timeline.container_lost(Millis(10), &within(2));
        timeline.job_ends(Millis(12), JobId(1), How::Done);
        begins(&mut timeline, 3, TimelinePiece::Task(AttemptIx(9)), 1);
        let told = timeline.told(Millis(20));
        let rows = told
            .spans
            .iter()
            .map(|span| (span.job, span.ended_ms, span.how()));
        let wanted = [
            (1, 10, How::Lost),
            (2, 10, How::Lost),
            (1, 12, How::Done),
            (3, 0, How::Running),
        ];
        assert_eq!(rows.collect::<Vec<_>>(), wanted);
        for number in 0..2_000 {
            begins(&mut timeline, 4, TimelinePiece::Task(AttemptIx(number)), 1);
            let piece = TimelinePiece::Task(AttemptIx(number));
            timeline.ends(Millis(30), JobId(4), piece, How::Done);
        }
        let told = timeline.told(Millis(40));
        assert_eq!((told.spans.len(), told.left_out), (MOST + 1, 1_003));
        assert_eq!(told.spans.last().map(|span| span.job), Some(3));
    }
}
