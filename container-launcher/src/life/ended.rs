//! Jobs that are over here.

use std::collections::BTreeSet;

use job::JobId;

/// So many are remembered. Numbers ascend, and who still speaks of a job that is over speaks of a young one.
const KEPT: usize = 1024;

/// Those that ended last: what is still said of them is not heard.
#[derive(Debug, Default)]
pub(super) struct EndedJobs(BTreeSet<JobId>);

impl EndedJobs {
    pub(super) fn add(&mut self, job: JobId) {
        self.0.insert(job);
        while self.0.len() > KEPT {
            self.0.pop_first();
        }
    }

    /// It begins again.
    pub(super) fn remove(&mut self, job: JobId) {
        self.0.remove(&job);
    }

    pub(super) fn has(&self, job: JobId) -> bool {
        self.0.contains(&job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_youngest_are_remembered() {
        let mut ended = EndedJobs::default();
        let many = u32::try_from(KEPT).unwrap() * 3;
        for number in 1..=many {
            ended.add(JobId(number));
        }
        assert_eq!(ended.0.len(), KEPT);
        assert!(ended.has(JobId(many)) && !ended.has(JobId(1)));
        assert!(!ended.has(JobId(many + 1)));
        ended.remove(JobId(many));
        assert!(!ended.has(JobId(many)));
    }
}
