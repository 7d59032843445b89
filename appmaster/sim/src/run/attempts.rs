//! Attempts of a run: from a decision to their end.

use anyhow::Result;
use policy::schedule::{
    AttemptIx, AttemptOutcome, Decision, Event, Nanos, NodeIx, ResourceName, Speed, Stage,
};

use super::speed::CoreSpeed;
use super::{Bar, Due, Load, Times, WorkloadRun, in_seconds};
use crate::workload::{AlikeTasks, WorkloadJob, seconds};

/// From an order to end an attempt to its end.
pub(super) const STOP: Nanos = Nanos::from_millis(20);

/// From an order to move an attempt, or two, to the launcher's word.
const MOVE: Nanos = Nanos::from_millis(20);

/// A job of which a task has failed so often fails: Hadoop's `mapreduce.map.maxattempts` and the reduces' alike.
const MOST_FAILURES: u32 = 4;

impl<'a> WorkloadRun<'a> {
    pub(super) fn carry_out(&mut self, decision: &Decision) {
        let start = self.now.plus(Nanos::from_millis(self.workload.start_ms));
        match decision {
            Decision::Start { .. } | Decision::Copy { .. } => self.launch(start),
            Decision::Gang { slots, .. } => slots.iter().for_each(|_| self.launch(start)),
            Decision::Stop { attempt, .. } => {
                self.clock.at(self.now.plus(STOP), Due::Stopped(*attempt))
            }
            Decision::Move { attempt, .. } => {
                self.clock
                    .at(self.now.plus(MOVE), Due::Moved(*attempt, None));
            }
            Decision::Swap { one, other } => {
                let due = Due::Moved(*one, Some(*other));
                self.clock.at(self.now.plus(MOVE), due);
            }
            Decision::Hold { .. } => {}
        }
    }

    /// Attempts are numbered in the order of decisions, a gang's in the order of its slots.
    fn launch(&mut self, when: Nanos) {
        self.clock.at(when, Due::Began(AttemptIx(self.ordered)));
        self.ordered = self.ordered.saturating_add(1);
    }

    /// The job, the phase and the slot's speed of an attempt that is not over.
    fn known(
        &self,
        attempt: AttemptIx,
    ) -> Option<(&'a WorkloadJob, &'a AlikeTasks, CoreSpeed, NodeIx)> {
        let session = self.driver.session();
        let attempt = session.attempt(attempt)?;
        let job = self.workload.jobs.get(*self.numbers.get(&attempt.job)?)?;
        let phase = match attempt.stage {
            Stage::Map => job.maps.as_ref(),
            Stage::Reduce => job.reduces.as_ref(),
            Stage::Gang => job.ranks.as_ref(),
        };
        let speed = session.slot(attempt.slot)?.speed;
        let speed = CoreSpeed::of(&self.workload.speeds, speed, attempt.stage);
        Some((job, phase?, speed, session.node_of(attempt.slot)?))
    }

    /// What the cores are that an attempt is on.
    fn class_of_cores(&self, attempt: AttemptIx) -> Speed {
        let session = self.driver.session();
        let slot = session.attempt(attempt).map(|attempt| attempt.slot);
        let slot = slot.and_then(|slot| session.slot(slot));
        slot.map_or(Speed::Plain, |slot| slot.speed)
    }

    pub(super) fn begin(&mut self, attempt: AttemptIx) -> Result<()> {
        let of = self.driver.session().attempt(attempt);
        let of = of.map(|of| (of.job, of.task));
        let (Some((_, phase, speed, _)), Some((job, task))) = (self.known(attempt), of) else {
            return Ok(());
        };
        let takes = speed.takes(seconds(phase.seconds_of(task))?);
        self.began.insert(attempt, self.now);
        let number = self.numbers.get(&job).copied();
        if let Some(Some(Times { begin, .. })) =
            number.and_then(|number| self.times.get_mut(number))
        {
            begin.get_or_insert(self.now);
        }
        let until = self.now.plus(takes);
        let load = Load {
            until,
            speed,
            stopped: None,
            moves: 0,
            on: self.class_of_cores(attempt),
            since: self.now,
        };
        self.loads.insert(attempt, load);
        self.clock.at(until, Due::Loaded(attempt, load.moves));
        self.tell(&Event::Began(attempt))
    }

    /// The launcher confirms a move, or a swap of two: what is left of their work takes as long as their new
    /// slots' speed says.
    pub(super) fn moved(&mut self, attempt: AttemptIx, other: Option<AttemptIx>) -> Result<()> {
        // Where one of two has ended, the other goes on alone.
        let (attempt, other) = match (self.driver.session().attempt(attempt), other) {
            (None, Some(other)) => (other, None),
            _ => (attempt, other),
        };
        self.tell(&Event::Moved { attempt, ok: true })?;
        for attempt in [Some(attempt), other].into_iter().flatten() {
            self.count_busy(attempt);
            let on = self.class_of_cores(attempt);
            let speed = self.known(attempt).map(|(_, _, speed, _)| speed);
            let (Some(speed), Some(load)) = (speed, self.loads.get_mut(&attempt)) else {
                continue;
            };
            load.on = on;
            if self.now >= load.until {
                continue;
            }
            let by_now = || load.speed.does(load.until.since(self.now));
            let left = load.stopped.take().unwrap_or_else(by_now);
            load.moves = load.moves.saturating_add(1);
            if speed.is_none() {
                (load.until, load.stopped) = (Nanos(u64::MAX), Some(left));
                continue;
            }
            load.until = self.now.plus(speed.takes(left));
            load.speed = speed;
            let (until, moves) = (load.until, load.moves);
            self.clock.at(until, Due::Loaded(attempt, moves));
        }
        Ok(())
    }

    /// It wants its device; without one it stores its results at once, and where there is none it fails.
    pub(super) fn loaded(&mut self, attempt: AttemptIx) -> Result<()> {
        let Some((_, phase, _, node)) = self.known(attempt) else {
            return Ok(());
        };
        let Some(device) = phase.devices.first() else {
            return self.store(attempt);
        };
        let device = ResourceName(device.clone());
        let there = self.driver.session().node(node);
        let there = there.map_or(0, |node| node.pool.amount(&device));
        if there == 0 {
            return self.end(attempt, AttemptOutcome::Failed);
        }
        let ways = usize::try_from(node.0)
            .ok()
            .and_then(|at| self.ways.get(at));
        let most = there.saturating_mul(ways.copied().unwrap_or(1));
        if self.devices.enter((node, device), most, attempt) {
            self.compute(attempt)?;
        }
        Ok(())
    }

    /// It has its device.
    fn compute(&mut self, attempt: AttemptIx) -> Result<()> {
        if let Some((_, phase, ..)) = self.known(attempt) {
            let until = self.now.plus(seconds(phase.device_seconds)?);
            self.clock.at(until, Due::Computed(attempt));
        }
        Ok(())
    }

    pub(super) fn computed(&mut self, attempt: AttemptIx) -> Result<()> {
        if self.devices.has(attempt) {
            self.leave_line(attempt)?;
            self.store(attempt)?;
        }
        Ok(())
    }

    fn store(&mut self, attempt: AttemptIx) -> Result<()> {
        if let Some((_, phase, speed, _)) = self.known(attempt) {
            let takes = speed.takes(seconds(phase.store_seconds)?);
            self.clock.at(self.now.plus(takes), Due::Done(attempt));
        }
        Ok(())
    }

    pub(super) fn end(&mut self, attempt: AttemptIx, how: AttemptOutcome) -> Result<()> {
        self.leave_line(attempt)?;
        self.count_busy(attempt);
        self.loads.remove(&attempt);
        let Some(ended) = self.driver.session().attempt(attempt) else {
            return Ok(());
        };
        let (job, stage, task) = (ended.job, ended.stage, ended.task);
        self.note(attempt, how);
        if how == AttemptOutcome::Failed {
            let failures = self.failures.entry((job, stage, task)).or_default();
            *failures = failures.saturating_add(1);
            if *failures >= MOST_FAILURES {
                self.fail(job)?;
            }
        }
        self.tell(&Event::Ended {
            attempt,
            how,
            phases: Vec::new(),
        })?;
        self.advance(job, stage)
    }

    /// The next in line gets the device.
    pub(super) fn leave_line(&mut self, attempt: AttemptIx) -> Result<()> {
        match self.devices.leave(attempt) {
            Some(next) => self.compute(next),
            None => Ok(()),
        }
    }

    pub(super) fn note(&mut self, ix: AttemptIx, how: AttemptOutcome) {
        if self.lean {
            self.began.remove(&ix);
            return;
        }
        let session = self.driver.session();
        let Some(attempt) = session.attempt(ix) else {
            return;
        };
        let node = session
            .node_of(attempt.slot)
            .and_then(|node| session.node(node));
        let job = self
            .numbers
            .get(&attempt.job)
            .and_then(|number| self.workload.jobs.get(*number));
        let (Some(node), Some(job), Some(began)) = (node, job, self.began.remove(&ix)) else {
            return;
        };
        let bar = Bar {
            job: job.name.clone(),
            stage: match attempt.stage {
                Stage::Map => "map",
                Stage::Reduce => "reduce",
                Stage::Gang => "gang",
            },
            task: attempt.task.0,
            node: node.host.clone(),
            slot: attempt.slot.0,
            begin_s: in_seconds(began),
            end_s: in_seconds(self.now),
            how: match how {
                AttemptOutcome::Done => "done",
                AttemptOutcome::Failed => "failed",
                AttemptOutcome::Lost => "lost",
                _ => "killed",
            },
        };
        self.outcome.bars.push(bar);
    }
}
