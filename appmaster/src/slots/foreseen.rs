//! What runs of earlier jobs tell of those of the same name: whether one can keep its deadline, as soon as it is there.

use std::collections::BTreeMap;

use job::JobId;
use policy::Millis;
use policy::schedule::{Foreseen, JobProfile, Nanos, Stage};

use super::Slots;
use super::misses::seconds;

/// Names whose last runs are known, some hundred bytes each.
const NAMES: usize = 1_000;

/// The last run of each name.
#[derive(Debug, Default)]
pub(super) struct LastRuns(BTreeMap<String, (JobId, JobProfile)>);

impl LastRuns {
    /// A job has run so far; the oldest of too many is forgotten.
    fn keep(&mut self, name: &str, job: JobId, profile: JobProfile) {
        self.0.insert(name.to_owned(), (job, profile));
        if self.0.len() > NAMES {
            let oldest = self.0.iter().min_by_key(|(_, (job, _))| *job);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                self.0.remove(&name);
            }
        }
    }
}

impl Slots {
    /// A job is about to have no slots any more: what its tasks have taken is told of the next of its name.
    pub(super) fn keep_run(&mut self, job: JobId) {
        let Some(loan) = self.loans.get(&job) else {
            return;
        };
        let profile = loan.number.and_then(|number| self.lending.profile(number));
        if let Some(profile) = profile {
            self.last_runs.keep(&loan.name, job, profile);
        }
    }

    /// What a job of this name, and so many maps and reduces, is to be told that wants to be done `within` this time, where
    /// all slots of the session would not do.
    pub(crate) fn foresee(
        &self,
        name: &str,
        within: Millis,
        maps: u32,
        reduces: u32,
    ) -> Option<String> {
        let (job, profile) = self.last_runs.0.get(name)?;
        let all = self.lending.foreseen(profile, maps, reduces)?;
        (all.takes > Nanos::from_millis(within.0)).then(|| sentence(*job, within, &all))
    }
}

fn sentence(job: JobId, within: Millis, all: &Foreseen) -> String {
    let stages = all.stages.iter().map(|(stage, tasks, slots)| {
        let what = match (stage, tasks) {
            (Stage::Reduce, 1) => "reduce",
            (Stage::Reduce, _) => "reduces",
            (Stage::Map | Stage::Gang, 1) => "map",
            (Stage::Map | Stage::Gang, _) => "maps",
        };
        format!("{tasks} {what} ({slots})")
    });
    let stages: Vec<String> = stages.collect();
    format!(
        "the job can hardly keep its deadline, which is in {} s: by its last run, job {}, {} take about {} s on all slots",
        seconds(Nanos::from_millis(within.0)),
        job.0,
        stages.join(" and "),
        seconds(all.takes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_is_told() {
        let all = Foreseen {
            stages: vec![(Stage::Map, 40, 12), (Stage::Reduce, 1, 4)],
            takes: Nanos::from_millis(34_200),
        };
        assert_eq!(
            sentence(JobId(3), Millis(20_000), &all),
            "the job can hardly keep its deadline, which is in 20 s: by its last run, job 3, 40 maps (12) and 1 reduce (4) \
             take about 35 s on all slots"
        );
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let mut runs = LastRuns::default();
        for number in 0..=1_000 {
            let name = format!("{}", 1_000 - number);
            runs.keep(&name, JobId(number), JobProfile::default());
        }
        assert!(runs.0.len() == NAMES && !runs.0.contains_key("1000"));
        // A name that is there again is no more than before.
        runs.keep("7", JobId(2_000), JobProfile::default());
        assert!(runs.0.len() == NAMES && runs.0["7"].0 == JobId(2_000));
    }
}
