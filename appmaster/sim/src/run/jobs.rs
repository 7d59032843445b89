//! Jobs of a run: submitted, released stage by stage, done.

use anyhow::Result;
use policy::schedule::{Event, JobIx, JobProfile, NodeIx, Stage, StageState, Task};

use super::attempts::STOP;
use super::{Due, Times, WorkloadRun};
use crate::workload::{AlikeTasks, seconds};

impl<'a> WorkloadRun<'a> {
    pub(super) fn submit(&mut self, number: usize) -> Result<()> {
        let Some(job) = self.workload.jobs.get(number) else {
            return Ok(());
        };
        let ix = JobIx(u32::try_from(self.numbers.len())?);
        self.numbers.insert(ix, number);
        if let Some(times) = self.times.get_mut(number) {
            *times = Some(Times {
                submit: self.now,
                begin: None,
                end: None,
                failed: false,
            });
        }
        let phases = [
            (Stage::Map, &job.maps),
            (Stage::Reduce, &job.reduces),
            (Stage::Gang, &job.ranks),
        ];
        let stages = phases.into_iter().filter_map(|(stage, phase)| {
            Some((stage, StageState::wanting(phase.as_ref()?.need())))
        });
        let within = job.deadline_s.map(seconds).transpose()?;
        let arrived = policy::schedule::Job {
            seq: u64::try_from(number)?,
            submitted: self.now,
            priority: job.priority,
            tenant: job.user.clone(),
            queue: job.queue.clone(),
            tag: String::new(),
            deadline: within.map(|within| self.now.plus(within)),
            profile: JobProfile::default(),
            any_speed: false,
            node_failures: 0,
            stages: stages.collect(),
        };
        self.tell(&Event::Arrived(arrived))?;
        for (stage, phase) in [(Stage::Map, &job.maps), (Stage::Gang, &job.ranks)] {
            self.release(ix, stage, phase.as_ref())?;
        }
        if job.maps.is_none() {
            self.release(ix, Stage::Reduce, job.reduces.as_ref())?;
        }
        Ok(())
    }

    fn release(&mut self, job: JobIx, stage: Stage, phase: Option<&AlikeTasks>) -> Result<()> {
        let Some(phase) = phase else { return Ok(()) };
        let near = |task: u32| {
            let node = phase
                .near
                .get(usize::try_from(task).ok()?.checked_rem(phase.near.len())?)?;
            Some(NodeIx(*node))
        };
        let tasks = (0..phase.count).map(|task| Task {
            nodes: near(task).into_iter().collect(),
            bytes: 0,
        });
        self.tell(&Event::Runnable {
            job,
            stage,
            tasks: tasks.collect(),
        })
    }

    /// One of a job's tasks has failed too often: nothing more of it starts, and what runs of it ends.
    pub(super) fn fail(&mut self, ix: JobIx) -> Result<()> {
        let number = self.numbers.get(&ix).copied();
        let times = number.and_then(|number| self.times.get_mut(number));
        let Some(Some(Times { end, failed, .. })) = times else {
            return Ok(());
        };
        if end.replace(self.now).is_some() {
            return Ok(());
        }
        *failed = true;
        self.open = self.open.saturating_sub(1);
        let attempts = self.driver.session().attempts();
        let running = attempts.filter(|(_, attempt)| attempt.job == ix);
        for (attempt, _) in running {
            self.clock.at(self.now.plus(STOP), Due::Stopped(attempt));
        }
        self.tell(&Event::Left(ix))
    }

    /// Maps that are done release the reduces; a job whose stages are done leaves.
    pub(super) fn advance(&mut self, ix: JobIx, stage: Stage) -> Result<()> {
        let Some(number) = self.numbers.get(&ix).copied() else {
            return Ok(());
        };
        let Some(job) = self.workload.jobs.get(number) else {
            return Ok(());
        };
        let session = self.driver.session();
        let Some(states) = session.job(ix).map(|job| &job.stages) else {
            return Ok(());
        };
        let maps_done = states.get(&Stage::Map).is_none_or(StageState::is_done);
        let released = states
            .get(&Stage::Reduce)
            .is_none_or(|state| state.runnable);
        if stage == Stage::Map && maps_done && !released {
            return self.release(ix, Stage::Reduce, job.reduces.as_ref());
        }
        if states
            .values()
            .all(|state| state.runnable && state.pending == 0 && state.running == 0)
        {
            if let Some(Some(Times { end, .. })) = self.times.get_mut(number)
                && end.replace(self.now).is_none()
            {
                self.open = self.open.saturating_sub(1);
            }
            return self.tell(&Event::Left(ix));
        }
        Ok(())
    }
}
