//! Jobs that will miss their deadlines whatever the policy does. Each is told once, as soon as it is certain.

use job::JobId;
use policy::Millis;
use policy::schedule::{DeadlineMiss, Nanos, Stage};

use super::Slots;

impl Slots {
    /// Jobs of which it is certain and whose clients do not know, each with the sentence for its client.
    pub(crate) fn misses(&self, now: Millis) -> Vec<(JobId, String)> {
        let untold = self.wishes.iter().filter(|(_, job)| {
            let loan = self.loans.get(job);
            loan.is_some_and(|loan| loan.request.deadline.is_some() && !loan.knows_miss)
        });
        let missing = untold.filter_map(|(number, job)| {
            let miss = self.lending.deadline_miss(now, *number)?;
            Some((*job, sentence(&miss)))
        });
        missing.collect()
    }

    /// The client of a job knows that it misses its deadline.
    pub(crate) fn knows_miss(&mut self, job: JobId) {
        if let Some(loan) = self.loans.get_mut(&job) {
            loan.knows_miss = true;
        }
    }
}

fn sentence(miss: &DeadlineMiss) -> String {
    let DeadlineMiss {
        stage,
        tasks,
        slots,
        takes,
        left,
    } = miss;
    let (some, wait) = match (stage, tasks) {
        (Stage::Reduce, 1) => ("reduces", "reduce waits, and takes"),
        (Stage::Reduce, _) => ("reduces", "reduces wait, and take"),
        (Stage::Map | Stage::Gang, 1) => ("maps", "map waits, and takes"),
        (Stage::Map | Stage::Gang, _) => ("maps", "maps wait, and take"),
    };
    let takes = seconds(*takes);
    let takes = format!("{tasks} {wait} at least {takes} s on all slots for {some} ({slots})");
    match left {
        Nanos(0) => format!("the job has missed its deadline: {takes}"),
        left => format!(
            "the job will miss its deadline, which is in {} s: {takes}",
            seconds(*left)
        ),
    }
}

/// Rounded up: less than a second is no second less.
pub(super) const fn seconds(span: Nanos) -> u64 {
    span.0.div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_is_told() {
        let miss = DeadlineMiss {
            stage: Stage::Map,
            tasks: 40,
            slots: 12,
            takes: Nanos::from_millis(34_200),
            left: Nanos::from_secs(20),
        };
        assert_eq!(
            sentence(&miss),
            "the job will miss its deadline, which is in 20 s: 40 maps wait, and take at least 35 s on all slots \
             for maps (12)"
        );
        let passed = DeadlineMiss {
            stage: Stage::Reduce,
            tasks: 1,
            slots: 1,
            left: Nanos(0),
            ..miss
        };
        assert_eq!(
            sentence(&passed),
            "the job has missed its deadline: 1 reduce waits, and takes at least 35 s on all slots for reduces (1)"
        );
    }
}
