//! What runs of earlier jobs tell of those of the same name: whom such a job belongs with, and whether it can keep its
//! deadline, as soon as it is there. A client that knows of a run ([`TracedJob`]) goes before what the session remembers.

use std::collections::BTreeMap;

use job::JobId;
use policy::Millis;
use policy::schedule::trace::TracedJob;
use policy::schedule::{Foreseen, JobClass, JobProfile, Nanos, Stage};

use super::Slots;
use super::misses::seconds;

/// Names whose last runs are known, some hundred bytes each.
const NAMES: usize = 1_000;

/// A run that is over.
#[derive(Clone, Debug)]
struct LastRun {
    job: JobId,
    /// Of its queue.
    class: Option<JobClass>,
    profile: JobProfile,
}

/// The last run of each name.
#[derive(Debug, Default)]
pub(super) struct LastRuns(BTreeMap<String, LastRun>);

impl LastRuns {
    /// A job has run so far; the oldest of too many is forgotten.
    fn keep(&mut self, name: &str, run: LastRun) {
        self.0.insert(name.to_owned(), run);
        if self.0.len() > NAMES {
            let oldest = self.0.iter().min_by_key(|(_, run)| run.job);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                self.0.remove(&name);
            }
        }
    }
}

/// Who tells what a job was like before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunSource {
    /// Its client.
    Client,
    /// This job, which ran in this session.
    Run(JobId),
}

/// An earlier run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EarlierRun {
    source: RunSource,
    /// Whom it belonged with, where its queue, or its client, said so.
    pub(crate) class: Option<JobClass>,
    pub(crate) profile: JobProfile,
}

impl EarlierRun {
    /// What a job is told that names no queue, and is in this one because of it.
    pub(crate) fn of_queue(&self, class: JobClass) -> String {
        let source = match self.source {
            RunSource::Client => "its --profile says".to_owned(),
            RunSource::Run(job) => format!("its last run was, job {}", job.0),
        };
        let queue = class.queue();
        format!("the job is in queue {queue}, as {source}; --queue names another")
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
            let run = LastRun {
                job,
                class: JobClass::of_queue(&loan.request.queue),
                profile,
            };
            self.last_runs.keep(&loan.name, run);
        }
    }

    /// An earlier run of a job of this name: the one that its client knows of, or the last one here.
    pub(crate) fn earlier(&self, name: &str, traced: Option<&TracedJob>) -> Option<EarlierRun> {
        let of_client = traced.map(|job| EarlierRun {
            source: RunSource::Client,
            class: job.class,
            profile: job.into(),
        });
        let of_session = || {
            let run = self.last_runs.0.get(name)?;
            Some(EarlierRun {
                source: RunSource::Run(run.job),
                class: run.class,
                profile: run.profile.clone(),
            })
        };
        of_client.or_else(of_session)
    }

    /// What a job of so many maps and reduces is to be told that wants to be done `within` this time, where all slots of the
    /// session would not do, if it is like an earlier run.
    pub(crate) fn foresee(
        &self,
        earlier: &EarlierRun,
        within: Millis,
        maps: u32,
        reduces: u32,
    ) -> Option<String> {
        let all = self.lending.foreseen(&earlier.profile, maps, reduces)?;
        let is_late = all.takes > Nanos::from_millis(within.0);
        is_late.then(|| sentence(earlier.source, within, &all))
    }
}

fn sentence(source: RunSource, within: Millis, all: &Foreseen) -> String {
    let source = match source {
        RunSource::Client => "its --profile,".to_owned(),
        RunSource::Run(job) => format!("its last run, job {},", job.0),
    };
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
        "the job can hardly keep its deadline, which is in {} s: by {source} {} take about {} s on all slots",
        seconds(Nanos::from_millis(within.0)),
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
            sentence(RunSource::Run(JobId(3)), Millis(20_000), &all),
            "the job can hardly keep its deadline, which is in 20 s: by its last run, job 3, 40 maps (12) and 1 reduce (4) \
             take about 35 s on all slots"
        );
        let by_client = sentence(RunSource::Client, Millis(20_000), &all);
        assert!(
            by_client.contains("in 20 s: by its --profile, 40 maps (12)"),
            "{by_client}"
        );
        let earlier = |source| EarlierRun {
            source,
            class: Some(JobClass::Batch),
            profile: JobProfile::default(),
        };
        assert_eq!(
            earlier(RunSource::Run(JobId(3))).of_queue(JobClass::Batch),
            "the job is in queue batch, as its last run was, job 3; --queue names another"
        );
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let run = |number| LastRun {
            job: JobId(number),
            class: None,
            profile: JobProfile::default(),
        };
        let mut runs = LastRuns::default();
        for number in 0..=1_000 {
            let name = format!("{}", 1_000 - number);
            runs.keep(&name, run(number));
        }
        assert!(runs.0.len() == NAMES && !runs.0.contains_key("1000"));
        // A name that is there again is no more than before.
        runs.keep("7", run(2_000));
        assert!(runs.0.len() == NAMES && runs.0["7"].job == JobId(2_000));
    }
}
