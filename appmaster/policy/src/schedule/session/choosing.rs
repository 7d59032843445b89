//! Looking for the job that is next: the orders in which policies walk, and what they may see of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Class, Owner, Shown};
use crate::schedule::{JobIx, Nanos, Need, NodeIx, Session, Stage};

impl Session {
    /// What a task of the class takes.
    #[must_use]
    pub fn need(&self, class: Class) -> Option<&Need> {
        self.state.needs.get(class.0 as usize)
    }

    /// Classes of which a job has pending tasks of `stage`.
    pub fn classes(&self, stage: Stage) -> impl Iterator<Item = Class> {
        let from = (stage, Class(0));
        let of_stage = self.state.runnable.range(from..);
        of_stage
            .take_while(move |((other, _), _)| *other == stage)
            .map(|((_, class), _)| *class)
    }

    /// Jobs in sight with pending tasks of a stage and class, in order of submission.
    pub fn runnable(&self, stage: Stage, class: Class) -> impl Iterator<Item = JobIx> {
        let jobs = match self.shown.priority {
            Some(priority) => self.state.by_priority.get(&(stage, priority, class)),
            None => self.state.runnable.get(&(stage, class)),
        };
        self.in_sight(jobs)
    }

    /// The same of one queue or user.
    pub fn runnable_of(
        &self,
        owner: &Owner,
        stage: Stage,
        class: Class,
    ) -> impl Iterator<Item = JobIx> {
        let jobs = self.state.by_owner.get(&(stage, owner.clone(), class));
        let priority = self.shown.priority;
        self.in_sight(jobs).filter(move |job| {
            priority.is_none_or(|wanted| self.job(*job).is_some_and(|job| job.priority == wanted))
        })
    }

    fn in_sight<'a>(
        &'a self,
        jobs: Option<&'a BTreeSet<(u64, JobIx)>>,
    ) -> impl Iterator<Item = JobIx> + 'a {
        let Shown { job, hidden, .. } = &self.shown;
        let jobs = jobs.into_iter().flatten().map(|(_, job)| *job);
        jobs.filter(move |ix| job.is_none_or(|only| only == *ix) && !hidden.contains(ix))
    }

    /// Queues and users with pending tasks of a stage.
    #[must_use]
    pub fn owners(&self, stage: Stage) -> BTreeSet<&Owner> {
        let keys = self.state.by_owner.keys();
        keys.filter(|(other, _, _)| *other == stage)
            .map(|(_, owner, _)| owner)
            .collect()
    }

    /// Priorities of jobs with pending tasks, highest first.
    #[must_use]
    pub fn priorities(&self) -> Vec<i32> {
        let all: BTreeSet<i32> = self
            .state
            .by_priority
            .keys()
            .map(|(_, priority, _)| *priority)
            .collect();
        all.into_iter().rev().collect()
    }

    /// The first job, in order of submission, whose stage is there and not done.
    #[must_use]
    pub fn first_unfinished(&self, stage: Stage) -> Option<JobIx> {
        let jobs = self.state.unfinished.get(&stage)?;
        jobs.first().map(|(_, job)| *job)
    }

    /// The stage that has waited longest with nothing of it running, and since when.
    #[must_use]
    pub fn longest_waiting(&self) -> Option<(Nanos, JobIx, Stage)> {
        self.state.waiting.first().copied()
    }

    /// Attempts under way of a queue or user.
    #[must_use]
    pub fn used(&self, owner: &Owner) -> u32 {
        self.state.used.get(owner).copied().unwrap_or(0)
    }

    /// Bytes of a partition that lie at a node.
    #[must_use]
    pub fn gathered(&self, job: JobIx, partition: u32, node: NodeIx) -> u64 {
        let record = self.state.jobs.get(&job);
        record
            .and_then(|record| record.gathered.get(&(partition, node)))
            .copied()
            .unwrap_or(0)
    }

    /// Bytes of all partitions of all jobs that lie at a node.
    #[must_use]
    pub fn gathered_at(&self, node: NodeIx) -> u64 {
        let all = self.state.jobs.values().flat_map(|record| &record.gathered);
        all.filter(|((_, at), _)| *at == node)
            .fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Where a partition is gathered.
    #[must_use]
    pub fn home(&self, job: JobIx, partition: u32) -> Option<NodeIx> {
        self.state.jobs.get(&job)?.homes.get(&partition).copied()
    }

    /// The same facts, with only the jobs of one priority in sight.
    #[must_use]
    pub fn only_priority(&self, priority: i32) -> Self {
        let mut shown = self.shown.clone();
        shown.priority = Some(priority);
        Self {
            state: Arc::clone(&self.state),
            shown,
        }
    }

    /// The same facts, with one job in sight.
    #[must_use]
    pub fn only(&self, job: JobIx) -> Self {
        let mut shown = self.shown.clone();
        shown.job = Some(job);
        Self {
            state: Arc::clone(&self.state),
            shown,
        }
    }

    /// The same facts, with one job less in sight.
    #[must_use]
    pub fn without(&self, job: JobIx) -> Self {
        let mut shown = self.shown.clone();
        shown.hidden.insert(job);
        Self {
            state: Arc::clone(&self.state),
            shown,
        }
    }
}
