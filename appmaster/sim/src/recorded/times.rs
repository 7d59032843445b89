//! When a session's jobs came and how long each task took, of its record.

use std::collections::BTreeMap;

use anyhow::Result;
use policy::schedule::record::{RecordLine, Replay, What};
use policy::schedule::{
    AttemptIx, AttemptOutcome, ContainerIx, Event, Job, JobIx, Nanos, Need, Scheduler, Session,
    Speed, Stage, Task, TaskIx,
};

use super::slots::node;
use crate::run::{CoreSpeed, in_seconds};
use crate::{AlikeNodes, AlikeTasks, CoreSpeeds};

/// How long an attempt had slots of which speeds, one after the other.
type Stays = Vec<(Speed, Nanos)>;

/// What a record tells of times.
#[derive(Debug, Default)]
pub(super) struct RecordedTimes {
    /// By their numbers.
    pub(super) jobs: Vec<RecordedJob>,
    /// By their numbers, with when each came.
    pub(super) joined: Vec<(Nanos, AlikeNodes)>,
    /// Containers that were lost, and when.
    pub(super) lost: Vec<(Nanos, ContainerIx)>,
    /// Attempts that ended, and not well.
    pub(super) without: u32,
    /// From decisions to starts.
    starts: Vec<Nanos>,
    /// Attempts that run: since when they have their slot, and where they were before.
    running: BTreeMap<AttemptIx, (Nanos, Stays)>,
}

/// A job.
#[derive(Debug)]
pub(super) struct RecordedJob {
    pub(super) arrived: Nanos,
    /// When the last of its tasks was done; `None`: none was.
    pub(super) end: Option<Nanos>,
    pub(super) user: String,
    pub(super) queue: String,
    pub(super) priority: i32,
    pub(super) deadline: Option<Nanos>,
    stages: BTreeMap<Stage, RecordedStage>,
}

/// Its tasks of one stage.
#[derive(Debug)]
struct RecordedStage {
    need: Need,
    /// A container of the first node that has the input of each.
    near: Vec<Option<ContainerIx>>,
    done: BTreeMap<TaskIx, Stays>,
}

impl RecordedTimes {
    /// Those of a record, which `scheduler` is to repeat.
    ///
    /// # Errors
    ///
    /// A line is none, or the policy decides otherwise.
    pub(super) fn of(
        scheduler: Box<dyn Scheduler>,
        lines: impl Iterator<Item = Result<RecordLine>>,
    ) -> Result<Self> {
        let mut times = Self::default();
        let mut replay = Replay::new(scheduler);
        for line in lines {
            let line = line?;
            if let What::Told(event) | What::Event(event) = &line.what {
                times.hear(line.at, event, replay.session())?;
            }
            replay.hear(line)?;
        }
        replay.end()?;
        Ok(times)
    }

    /// When the first job came.
    pub(super) fn begin(&self) -> Option<Nanos> {
        self.jobs.iter().map(|job| job.arrived).min()
    }

    /// From a decision to its attempt's start, the median.
    pub(super) fn start(&self) -> Nanos {
        let mut all = self.starts.clone();
        all.sort_unstable();
        let middle = all.get(all.len().div_euclid(2));
        middle.copied().unwrap_or(Nanos(0))
    }

    /// Something happens in a session that is as it was before.
    fn hear(&mut self, at: Nanos, event: &Event, session: &Session) -> Result<()> {
        match event {
            Event::Joined(host, container, slots) => {
                self.joined.push((at, node(host, container, slots)?));
            }
            Event::Lost(container) => self.lost.push((at, *container)),
            Event::Arrived(job) => self.jobs.push(RecordedJob::new(at, job)),
            Event::Runnable { job, stage, tasks } => {
                if let Some(of) = self.stage(*job, *stage) {
                    of.near.extend(tasks.iter().map(|task| near(task, session)));
                }
            }
            Event::Began(attempt) => {
                if let Some(of) = session.attempt(*attempt) {
                    self.starts.push(at.since(of.ordered));
                    self.running.insert(*attempt, (of.ordered, Vec::new()));
                }
            }
            Event::Moved { attempt, ok: true } => {
                let other = session.attempt(*attempt).and_then(|of| of.swaps);
                for moved in [Some(*attempt), other].into_iter().flatten() {
                    self.leaves_slot(at, moved, session);
                }
            }
            Event::Ended { attempt, how, .. } => self.ended(at, *attempt, *how, session),
            _ => {}
        }
        Ok(())
    }

    /// An attempt was on its slot until now.
    fn leaves_slot(&mut self, at: Nanos, attempt: AttemptIx, session: &Session) {
        let slot = session.attempt(attempt).map(|of| of.slot);
        let speed = slot.and_then(|slot| session.slot(slot)).map(|of| of.speed);
        if let (Some(speed), Some((since, stays))) = (speed, self.running.get_mut(&attempt)) {
            stays.push((speed, at.since(*since)));
            *since = at;
        }
    }

    fn ended(&mut self, at: Nanos, attempt: AttemptIx, how: AttemptOutcome, session: &Session) {
        self.leaves_slot(at, attempt, session);
        let stays = self.running.remove(&attempt);
        let (Some(of), Some((_, stays)), AttemptOutcome::Done) =
            (session.attempt(attempt), stays, how)
        else {
            self.without = self.without.saturating_add(1);
            return;
        };
        if let Some(stage) = self.stage(of.job, of.stage) {
            stage.done.insert(of.task, stays);
        }
        if let Some(job) = self.job(of.job) {
            job.end = Some(at);
        }
    }

    fn job(&mut self, job: JobIx) -> Option<&mut RecordedJob> {
        self.jobs.get_mut(usize::try_from(job.0).ok()?)
    }

    fn stage(&mut self, job: JobIx, stage: Stage) -> Option<&mut RecordedStage> {
        self.job(job)?.stages.get_mut(&stage)
    }

    /// How fast slow cores are for this stage, thousandths of fast ones, by the jobs that had tasks on both which were not
    /// moved; `None`: no job had.
    pub(super) fn slow(&self, stage: Stage) -> Option<u64> {
        let stages = self.jobs.iter().filter_map(|job| job.stages.get(&stage));
        let both = stages.filter_map(|of| Some((of.mean(Speed::Fast)?, of.mean(Speed::Slow)?)));
        let sum = |(fast, slow): (u128, u128), (f, s): (Nanos, Nanos)| {
            (
                fast.saturating_add(f.0.into()),
                slow.saturating_add(s.0.into()),
            )
        };
        let (fast, slow) = both.fold((0, 0), sum);
        let thousandths = fast.saturating_mul(1000).checked_div(slow)?;
        Some(u64::try_from(thousandths).unwrap_or(u64::MAX).max(1))
    }
}

/// Where the input of a task is.
fn near(task: &Task, session: &Session) -> Option<ContainerIx> {
    let mut nodes = task.nodes.iter();
    nodes.find_map(|node| session.containers_of(*node).next())
}

impl RecordedJob {
    fn new(arrived: Nanos, job: &Job) -> Self {
        let stages = job.stages.iter().map(|(stage, state)| {
            let of = RecordedStage {
                need: state.need.clone(),
                near: Vec::new(),
                done: BTreeMap::new(),
            };
            (*stage, of)
        });
        Self {
            arrived,
            end: None,
            user: job.tenant.clone(),
            queue: job.queue.clone(),
            priority: job.priority,
            deadline: job.deadline,
            stages: stages.collect(),
        }
    }

    /// Its tasks of a stage as a workload has them, where each begins this time after its decision; `None`: none was done.
    pub(super) fn tasks(
        &self,
        stage: Stage,
        speeds: CoreSpeeds,
        start: Nanos,
    ) -> Option<AlikeTasks> {
        let of = self.stages.get(&stage)?;
        let work = |(number, (speed, span)): (usize, &(Speed, Nanos))| {
            let before = if number == 0 { start } else { Nanos(0) };
            let span = Nanos(span.0.saturating_sub(before.0));
            CoreSpeed::of(&speeds, *speed, stage).does(span).0
        };
        let each = of.done.values();
        let each = each.map(|stays| in_seconds(Nanos(stays.iter().enumerate().map(work).sum())));
        let each: Vec<f64> = each.collect();
        if each.is_empty() {
            return None;
        }
        let memory = of
            .need
            .bundle
            .iter()
            .find(|(name, _)| name.0 == "memory-mb");
        let takes = of
            .need
            .bundle
            .iter()
            .filter(|(name, _)| name.0 != "memory-mb");
        let near = of.near.iter().map(|near| near.map(|container| container.0));
        let near: Option<Vec<u32>> = near.collect();
        Some(AlikeTasks {
            memory_mb: memory.map_or(0, |(_, amount)| amount),
            takes: takes
                .map(|(name, amount)| (name.0.clone(), amount))
                .collect(),
            devices: of.need.locks.iter().map(|name| name.0.clone()).collect(),
            near: near
                .filter(|near| near.len() == each.len())
                .unwrap_or_default(),
            ..AlikeTasks::each(each)
        })
    }
}

impl RecordedStage {
    /// Of the tasks that were on slots of this speed alone.
    fn mean(&self, speed: Speed) -> Option<Nanos> {
        let alone = self
            .done
            .values()
            .filter_map(|stays| match stays.as_slice() {
                [(on, span)] if *on == speed => Some(span.0),
                _ => None,
            });
        let (sum, count) = alone.fold((0_u64, 0_u64), |(sum, count), span| {
            (sum.saturating_add(span), count.saturating_add(1))
        });
        sum.checked_div(count).map(Nanos)
    }
}
