//! Plays queues of jobs on the clusters.

use anyhow::{Context as _, Result, ensure};
use policy::schedule::{Nanos, named};

use super::clusters::HpeCluster;
use super::jobs::{JobKinds, Version};
use super::settings::HpeSettings;
use crate::run::in_seconds;
use crate::{AlikeNodes, CoreSpeeds, RunResult, Workload, WorkloadJob, WorkloadRun};

/// What the figures are made of: the jobs' numbers, the nodes' slots, the policies' keys.
#[derive(Clone, Debug, Default)]
pub struct HpeWorld {
    pub(super) jobs: JobKinds,
    pub(super) settings: HpeSettings,
}

/// Who chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `fifo`: no slot is idle that could have a task.
    Fifo,
    /// `fifo-barrier`: the paper's picture of Hadoop's default.
    Barrier,
    /// `fifo-blind`.
    Blind,
    /// `hpe`.
    Hpe,
    /// `hpe-conserve`.
    Conserve,
    /// `hpe-literal`.
    Literal,
}

impl HpeWorld {
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
        let settings = &self.settings;
        for policy in [settings.hpe(), settings.conserve(), settings.literal()] {
            named(&policy).with_context(|| format!("-D {text}"))?;
        }
        Ok(())
    }

    /// What a session is started with for it, `hpe:skip=3,window=plain,age=0`.
    #[must_use]
    pub fn policy(&self, policy: Policy) -> String {
        match policy {
            Policy::Fifo => "fifo".to_owned(),
            Policy::Barrier => "fifo-barrier".to_owned(),
            Policy::Blind => "fifo-blind".to_owned(),
            Policy::Hpe => self.settings.hpe(),
            Policy::Conserve => self.settings.conserve(),
            Policy::Literal => self.settings.literal(),
        }
    }

    /// Its nodes, those with a GPU first.
    #[must_use]
    pub fn nodes(&self, cluster: HpeCluster) -> Vec<AlikeNodes> {
        cluster.nodes(&self.settings)
    }

    /// The job that a letter of a queue stands for, at this place of it.
    ///
    /// # Errors
    ///
    /// It stands for none.
    pub fn job(&self, letter: char, place: usize, version: Version) -> Result<WorkloadJob> {
        let HpeSettings { nodes, time, .. } = self.settings;
        let mut job = self.jobs.job(letter, place, version)?;
        for phase in [&mut job.maps, &mut job.reduces].into_iter().flatten() {
            phase.count = phase.count.div_ceil(nodes);
            phase.seconds /= f64::from(time);
            phase.device_seconds /= f64::from(time);
            phase.store_seconds /= f64::from(time);
        }
        Ok(job)
    }

    /// What every caption says.
    pub(super) fn caption(&self) -> String {
        let HpeSettings {
            slots, nodes, time, ..
        } = self.settings;
        let mut caption = self.jobs.caption();
        if nodes > 1 || time > 1 {
            caption.push_str(&format!(
                " Nodes and tasks are divided by {nodes}, times by {time}."
            ));
        }
        if let Some(slots) = slots {
            caption.push_str(&format!(
                " A node has {slots} slots, for maps and reduces alike."
            ));
        }
        caption
    }

    /// Plays `queue`, a letter a job, all submitted at 0.
    ///
    /// # Errors
    ///
    /// A letter stands for no job, or the run does not come to its end, or takes no time.
    pub fn play(
        &self,
        cluster: HpeCluster,
        policy: Policy,
        version: Version,
        queue: &str,
    ) -> Result<RunResult> {
        let jobs = queue.chars().enumerate();
        let jobs = jobs.map(|(place, letter)| self.job(letter, place, version));
        let workload = Workload {
            speeds: CoreSpeeds::default(),
            nodes: self.nodes(cluster),
            jobs: jobs.collect::<Result<_>>()?,
            losses: Vec::new(),
            start_ms: 0,
        };
        let policy = self.policy(policy);
        let run = WorkloadRun::new(&workload, named(&policy)?).queued();
        let result = run
            .play()
            .with_context(|| format!("{queue} under {policy} on {}", cluster.name))?;
        ensure!(
            result.end > Nanos(0),
            "{queue} under {policy} on {} takes no time at all, and nothing can be compared with that: give its jobs seconds \
             with --job",
            cluster.name
        );
        Ok(result)
    }

    /// Seconds from the first submission to the last end.
    pub(super) fn ends(
        &self,
        cluster: HpeCluster,
        policy: Policy,
        version: Version,
        queue: &str,
    ) -> Result<f64> {
        let outcome = self.play(cluster, policy, version, queue)?;
        Ok(in_seconds(outcome.end))
    }
}

/// By how much less `ours` is than `base`, in percent.
#[must_use]
pub fn gain(base: f64, ours: f64) -> f64 {
    (base - ours) / base * 100.0
}
