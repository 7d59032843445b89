//! Plays queues of jobs on the clusters.

use anyhow::{Context as _, Result};
use policy::schedule::named;

use super::clusters::Cluster;
use super::jobs::{Jobs, Version};
use super::settings::{KEYS, Settings};
use crate::run::in_seconds;
use crate::{Outcome, Run, Workload};

/// What the figures are made of: the jobs' numbers, the nodes' slots, the policies' keys.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub(super) jobs: Jobs,
    pub(super) settings: Settings,
}

/// Who chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// `fifo`: no slot is idle that could have a task.
    Fifo,
    /// `fifo-barrier`: the paper's picture of Hadoop's default.
    Barrier,
    /// `fifo-blind`.
    Blind,
    /// `hpe`.
    Hpe,
    /// `hpe-literal`.
    Literal,
}

impl World {
    /// Other numbers for a job: `M:maps=16,load=3`.
    ///
    /// # Errors
    ///
    /// There is no such job, or key, or the value makes no sense; the message has what there is.
    pub fn set_job(&mut self, text: &str) -> Result<()> {
        self.jobs.set(text).with_context(|| format!("--job {text}"))
    }

    /// Another setting: `slots.map.gpu=3`.
    ///
    /// # Errors
    ///
    /// There is no such key, or the value makes no sense; the message has what there is.
    pub fn set(&mut self, text: &str) -> Result<()> {
        self.settings
            .set(text)
            .with_context(|| format!("-D {text}"))?;
        for policy in [self.settings.hpe(), self.settings.literal()] {
            named(&policy).with_context(|| format!("-D {text}"))?;
        }
        Ok(())
    }

    /// The keys of [`set`](Self::set), a line each.
    #[must_use]
    pub fn keys() -> String {
        let lines = KEYS.iter();
        let lines = lines.map(|(key, what)| format!("        {key:<14} {what}\n"));
        lines.collect()
    }

    fn policy(&self, policy: Policy) -> String {
        match policy {
            Policy::Fifo => "fifo".to_owned(),
            Policy::Barrier => "fifo-barrier".to_owned(),
            Policy::Blind => "fifo-blind".to_owned(),
            Policy::Hpe => self.settings.hpe(),
            Policy::Literal => self.settings.literal(),
        }
    }

    /// Plays `queue`, a letter a job, all submitted at 0.
    pub(super) fn play(
        &self,
        cluster: Cluster,
        policy: Policy,
        version: Version,
        queue: &str,
    ) -> Result<Outcome> {
        let jobs = queue.chars().enumerate();
        let jobs = jobs.map(|(number, name)| self.jobs.job(name, number, version));
        let workload = Workload {
            nodes: cluster.nodes(&self.settings),
            jobs: jobs.collect::<Result<_>>()?,
            losses: Vec::new(),
            start_ms: 0,
        };
        let policy = self.policy(policy);
        let run = Run::new(&workload, named(&policy)?).queued();
        run.play()
            .with_context(|| format!("{queue} under {policy} on {}", cluster.name))
    }

    /// Seconds from the first submission to the last end.
    pub(super) fn ends(
        &self,
        cluster: Cluster,
        policy: Policy,
        version: Version,
        queue: &str,
    ) -> Result<f64> {
        let outcome = self.play(cluster, policy, version, queue)?;
        Ok(in_seconds(outcome.end))
    }
}

/// By how much less `ours` is than `base`, in percent.
pub(super) fn gain(base: f64, ours: f64) -> f64 {
    (base - ours) / base * 100.0
}
