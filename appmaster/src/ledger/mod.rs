//! What a session writes down about its jobs: when they had which slots, the records of their outputs for the next
//! ApplicationMaster, and which clients wait for what their tasks have printed.
//!
//! ```text
//! slots begin, end ─────▶ Ledger ──▶ the timeline
//! an output is set up ──▶        ──▶ a record is written; it goes when the job is over
//! a client asks ────────▶        ──▶ a number for the question ─▶ launcher ─▶ the answer goes to that client
//! ```

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod inherit;
mod logged;
mod questions;
mod records;
mod storages;
#[cfg(test)]
mod tests;
mod timeline;

use job::wire;
use job::wire::session_span::{How, Stage};
use job::{JobId, StagingFolder};
use policy::lending::TaskStart;
use policy::schedule::{AttemptIx, AttemptOutcome};
use policy::{ContainerId, Millis, schedule};
use proto_hadoop::ApplicationId;

use questions::{Question, Questions};
use records::JobRecords;
use timeline::{Timeline, TimelinePiece, span};

use crate::mapreduce::Folder;

pub(crate) use inherit::inherited;
pub(crate) use logged::list as logged;
pub(crate) use questions::LogAnswer;
pub(crate) use storages::Storages;

/// The books of a session.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    timeline: Timeline,
    questions: Questions,
    records: JobRecords,
}

impl Ledger {
    /// From now on jobs leave records below this folder.
    pub(crate) fn open(&mut self, staging: &StagingFolder, application: ApplicationId) {
        self.records.open(staging, application);
    }

    /// The clients of the file systems that the jobs share.
    pub(crate) fn storages(&self) -> Storages {
        self.records.storages()
    }

    /// What makes the record of where a job's output goes; `None`: no record can be made.
    pub(crate) fn record(
        &mut self,
        job: JobId,
        name: String,
        folder: &Folder,
        began_ms: u64,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.records.begin(job, name, folder, began_ms)
    }

    /// A job is over: what removes the records that are of no use any more.
    pub(crate) fn job_over(
        &mut self,
        job: JobId,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.records.end(job)
    }

    /// The session is over: what removes all records.
    pub(crate) fn clear(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.records.clear()
    }

    /// A gang has its slots, all at one moment: containers, their hosts, and the slots there.
    pub(crate) fn gang_begins(
        &mut self,
        now: Millis,
        job: JobId,
        name: &str,
        shares: Vec<(ContainerId, String, u32)>,
    ) {
        let of_all = span(now, job, name);
        for (container, host, slots) in shares {
            let span = wire::SessionSpan {
                stage: Stage::Gang.into(),
                host,
                slots,
                ..of_all.clone()
            };
            let piece = TimelinePiece::Gang(container.clone());
            self.timeline.begins(job, piece, &container, span);
        }
    }

    /// A task has a slot.
    pub(crate) fn task_begins(&mut self, now: Millis, job: JobId, name: &str, start: &TaskStart) {
        let stage = match start.stage {
            schedule::Stage::Map => Stage::Map,
            schedule::Stage::Reduce | schedule::Stage::Gang => Stage::Reduce,
        };
        // Which slot it is matters only where slots differ.
        let is_bound = !start.cpus.is_empty();
        let bound = |container: &str| match is_bound {
            true => container.to_owned(),
            false => String::new(),
        };
        let span = wire::SessionSpan {
            stage: stage.into(),
            task: start.task.0,
            host: start.host.clone(),
            slots: 1,
            container: bound(&start.container.0),
            slot: u32::from(is_bound).saturating_mul(start.slot.saturating_add(1)),
            ..span(now, job, name)
        };
        let piece = TimelinePiece::Task(start.attempt);
        self.timeline.begins(job, piece, &start.container, span);
    }

    /// An attempt at a task goes on in another slot of its container.
    pub(crate) fn task_moves(&mut self, now: Millis, job: JobId, attempt: AttemptIx, slot: u32) {
        let piece = TimelinePiece::Task(attempt);
        self.timeline.moves(now, job, piece, slot);
    }

    /// An attempt at a task has given its slot back.
    pub(crate) fn task_ends(
        &mut self,
        now: Millis,
        job: JobId,
        attempt: AttemptIx,
        how: AttemptOutcome,
    ) {
        let how = match how {
            AttemptOutcome::Done => How::Done,
            AttemptOutcome::Failed | AttemptOutcome::NoDevice => How::Failed,
            AttemptOutcome::Killed => How::Killed,
            AttemptOutcome::Lost => How::Lost,
        };
        let piece = TimelinePiece::Task(attempt);
        self.timeline.ends(now, job, piece, how);
    }

    /// A job has none of its slots any more.
    pub(crate) fn job_ends(&mut self, now: Millis, job: JobId, how: How) {
        self.timeline.job_ends(now, job, how);
    }

    /// A container is gone.
    pub(crate) fn container_lost(&mut self, now: Millis, container: &ContainerId) {
        self.timeline.container_lost(now, container);
    }

    /// What the jobs had of the slots, and when.
    pub(crate) fn timeline(&self, now: Millis) -> wire::SessionTimeline {
        self.timeline.told(now)
    }

    /// A client waits for what an attempt has printed on this host: the number of its question. `None`: too many
    /// questions are open, and it has been told so.
    pub(crate) fn ask(&mut self, answer: LogAnswer, attempt: u32, host: String) -> Option<u32> {
        self.questions.add(Question {
            answer,
            attempt,
            host,
        })
    }

    /// A launcher has answered a question.
    pub(crate) fn answered(&mut self, read: wire::LogRead) {
        self.questions.answered(read);
    }
}
