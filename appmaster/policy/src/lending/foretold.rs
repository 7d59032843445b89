//! What is known of a job before it ends: whether it keeps its deadline, and which slots it may have.

use super::{Lending, nanos};
use crate::schedule::{
    DeadlineMiss, Foreseen, JobProfile, Speed, Stage, deadline_miss, foreseen, without_own_slots,
};
use crate::{Few, Millis};

impl Lending {
    /// How `job` misses its deadline for certain; `None`: it may keep it, or has none.
    #[must_use]
    pub fn deadline_miss(&self, now: Millis, job: u32) -> Option<DeadlineMiss> {
        let ix = self.jobs.get(&job)?.ix;
        deadline_miss(self.driver.session(), nanos(now), ix)
    }

    /// What the tasks of `job` have taken so far; `None`: none has ended well.
    #[must_use]
    pub fn profile(&self, job: u32) -> Option<JobProfile> {
        let job = self.driver.session().job(self.jobs.get(&job)?.ix)?;
        let measured = job
            .stages
            .iter()
            .filter(|(_, of)| of.measured.iter().len() > 0);
        let stages: Few<_, _> = measured
            .map(|(stage, of)| (*stage, of.measured.clone()))
            .collect();
        (stages.iter().len() > 0).then_some(JobProfile { stages })
    }

    /// How long a job of so many maps and reduces will take on all slots that there are now, if it is like one before.
    #[must_use]
    pub fn foreseen(&self, profile: &JobProfile, maps: u32, reduces: u32) -> Option<Foreseen> {
        foreseen(self.driver.session(), profile, maps, reduces)
    }

    /// The speed of the slots that jobs of a queue have before others; `None`: the policy does not tell slots apart.
    #[must_use]
    pub fn own_speed(&self, queue: &str) -> Option<Speed> {
        self.driver.own_speed(queue, 0)
    }

    /// Stages of a job of so many maps and reduces that have none but spare slots, and the speed of those that its queue has
    /// before others; `None`: each stage has some of these.
    #[must_use]
    pub fn spare_alone(&self, queue: &str, maps: u32, reduces: u32) -> Option<(Speed, Vec<Stage>)> {
        let own = self.driver.own_speed(queue, maps.saturating_add(reduces))?;
        let stages = without_own_slots(self.driver.session(), own, maps, reduces);
        (!stages.is_empty()).then_some((own, stages))
    }
}
