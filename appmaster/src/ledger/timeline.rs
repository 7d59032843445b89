//! What a session's jobs had of its slots, and when: all spans that have not ended, and the last of those that have.

use std::collections::{BTreeMap, VecDeque};

use job::JobId;
use job::wire;
use job::wire::session_span::How;
use policy::schedule::AttemptIx;
use policy::{ContainerId, Millis};

/// Spans that are over and kept, some hundred bytes each.
const MOST: usize = 1_000;
/// Letters of a job's name.
const NAME_MAX: usize = 64;

/// What has slots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimelinePiece {
    /// Processes of a gang in one container.
    Gang(ContainerId),
    /// An attempt at a task.
    Task(AttemptIx),
}

/// The spans.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    running: BTreeMap<(JobId, TimelinePiece), (ContainerId, wire::SessionSpan)>,
    over: VecDeque<wire::SessionSpan>,
    left_out: u64,
}

impl Timeline {
    /// A job has slots in a container.
    pub(super) fn begins(
        &mut self,
        job: JobId,
        piece: TimelinePiece,
        within: &ContainerId,
        span: wire::SessionSpan,
    ) {
        self.running.insert((job, piece), (within.clone(), span));
    }

    /// Slots are free again.
    pub(super) fn ends(&mut self, now: Millis, job: JobId, piece: TimelinePiece, how: How) {
        if let Some((_, span)) = self.running.remove(&(job, piece)) {
            self.is_over(now, how, [span]);
        }
    }

    /// What has a slot goes on in another of its container.
    pub(super) fn moves(&mut self, now: Millis, job: JobId, piece: TimelinePiece, slot: u32) {
        if let Some((within, span)) = self.running.remove(&(job, piece.clone())) {
            let goes_on = wire::SessionSpan {
                began_ms: now.0,
                container: within.0.clone(),
                slot: slot.saturating_add(1),
                ..span.clone()
            };
            self.is_over(now, How::Moved, [span]);
            self.begins(job, piece, &within, goes_on);
        }
    }

    /// A job has none any more.
    pub(super) fn job_ends(&mut self, now: Millis, job: JobId, how: How) {
        self.end_of(now, how, |(of, _), _| *of == job);
    }

    /// A container is gone.
    pub(super) fn container_lost(&mut self, now: Millis, container: &ContainerId) {
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

    /// All that is kept.
    pub(super) fn told(&self, now: Millis) -> wire::SessionTimeline {
        let running = self.running.values().map(|(_, span)| span);
        wire::SessionTimeline {
            spans: self.over.iter().chain(running).cloned().collect(),
            now_ms: now.0,
            left_out: self.left_out,
        }
    }
}

/// What all spans of a job have that begin now.
pub(super) fn span(now: Millis, job: JobId, name: &str) -> wire::SessionSpan {
    wire::SessionSpan {
        job: job.0,
        name: name.chars().take(NAME_MAX).collect(),
        began_ms: now.0,
        ..wire::SessionSpan::default()
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
        timeline.moves(Millis(21), JobId(3), TimelinePiece::Task(AttemptIx(9)), 2);
        let told = timeline.told(Millis(22));
        let moved: Vec<_> = told.spans.iter().filter(|span| span.job == 3).collect();
        assert_eq!((moved[0].ended_ms, moved[0].how()), (21, How::Moved));
        assert_eq!((moved[1].began_ms, moved[1].how()), (21, How::Running));
        assert_eq!((moved[1].slot, moved[1].container.as_str()), (3, "c1"));
        for number in 0..2_000 {
            begins(&mut timeline, 4, TimelinePiece::Task(AttemptIx(number)), 1);
            let piece = TimelinePiece::Task(AttemptIx(number));
            timeline.ends(Millis(30), JobId(4), piece, How::Done);
        }
        let told = timeline.told(Millis(40));
        assert_eq!((told.spans.len(), told.left_out), (MOST + 1, 1_004));
        assert_eq!(told.spans.last().map(|span| span.job), Some(3));
    }
}
