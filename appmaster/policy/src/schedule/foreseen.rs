//! How long a job will take on all slots of a session, before any of its tasks has run: from what an earlier run of it took.
//!
//! Each stage takes ARIA's [estimate](super::StageSpan) of its tasks, with the mean and the longest of the earlier run's; the
//! reduces come after the maps. Where slots have several speeds, all of them together are as fast as as many slots alike.
//!
//! Cost: O(slots) a stage.

use serde::{Deserialize, Serialize};

use super::misses::AllSlots;
use super::trace::TracedJob;
use super::{Measured, Nanos, Need, Session, Speed, Stage, StageSpan};
use crate::Few;

/// What the tasks of a job have taken, by the speed of their slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProfile {
    /// Of each stage of which a task has ended well.
    pub stages: Few<Stage, Few<Speed, Measured>>,
}

impl JobProfile {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stages.iter().len() == 0
    }

    /// What a task of a stage has taken on slots of a speed; where none was measured there, on those where it took the least.
    pub(super) fn of(&self, stage: Stage, speed: Speed) -> Option<&Measured> {
        let measured = self.stages.get(&stage)?;
        let quickest = || measured.iter().map(|(_, of)| of).min_by_key(|of| of.mean);
        measured.get(&speed).or_else(quickest)
    }
}

/// Of a trace, which does not say on what slots the tasks were.
impl From<&TracedJob> for JobProfile {
    fn from(job: &TracedJob) -> Self {
        let reduce = job.shuffle.plus(job.reduce);
        let stages = [
            (Stage::Map, job.maps, job.map),
            (Stage::Reduce, job.reduces, reduce),
        ];
        let stages = stages.into_iter().filter(|(_, tasks, _)| *tasks > 0);
        let stages = stages.map(|(stage, count, each)| {
            let measured = Measured {
                count,
                mean: each,
                longest: each,
            };
            (stage, [(Speed::Plain, measured)].into_iter().collect())
        });
        Self {
            stages: stages.collect(),
        }
    }
}

/// How long a job will take on all slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// Of each stage with tasks, how many there are, and on how many slots.
    pub stages: Vec<(Stage, u32, u32)>,
    /// How long all take, about.
    pub takes: Nanos,
}

/// How long a job of so many maps and reduces will take that is like one before; `None` where a stage of it was not
/// measured, or has no slots.
#[must_use]
pub fn foreseen(
    session: &Session,
    profile: &JobProfile,
    maps: u32,
    reduces: u32,
) -> Option<Foreseen> {
    let mut all = Foreseen {
        stages: Vec::new(),
        takes: Nanos(0),
    };
    let stages = [(Stage::Map, maps), (Stage::Reduce, reduces)];
    for (stage, tasks) in stages.into_iter().filter(|(_, tasks)| *tasks > 0) {
        let measured = profile.stages.get(&stage)?;
        let longest = measured.iter().map(|(_, of)| of.longest).max()?;
        // What a task needs of devices makes slots fewer, and the job later.
        let slots = AllSlots::of(session, &Need::default(), stage, measured)?;
        let span = StageSpan {
            least: slots.least(tasks),
            most: slots.least(tasks.saturating_sub(1)).plus(longest),
        };
        all.takes = all.takes.plus(span.middle());
        all.stages.push((stage, tasks, slots.slots));
    }
    Some(all)
}
