//! Jobs in the order of their deadlines: `order=deadline` of a policy that goes by the order of submission.
//!
//! Earliest deadline first, as C. L. Liu and J. W. Layland, "Scheduling Algorithms for Multiprogramming in a
//! Hard-Real-Time Environment", Journal of the ACM 20(1), 1973, has it of one processor, where it misses no deadline that
//! any order could keep. Here tasks are not interrupted, and it is no more than an order: jobs without a deadline come
//! after all others, and those of one millisecond in the order of submission.
//!
//! A job's [`seq`](super::Job::seq) is its turn by that, from its arrival on: whatever goes by the order of submission goes
//! by deadlines then, in each queue or class of jobs by itself.

use super::{Decision, Job, Nanos, NodeIx, Saved, Scheduler, Session};

/// Jobs of one millisecond that are told apart.
const OF_ONE: u64 = 1 << 24;
/// The turn of jobs without a deadline, ms; some 35 years.
const NEVER: u64 = (1 << 40) - 1;

/// The policy inside sees jobs in the order of their deadlines.
#[derive(Debug)]
pub struct ByDeadline {
    /// The policy, which goes by the order of submission.
    pub inner: Box<dyn Scheduler>,
}

impl Scheduler for ByDeadline {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        self.inner.next(now, session, node)
    }

    fn goes_by_deadline(&self) -> bool {
        true
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::ByDeadline {
            inner: Box::new(self.inner.saved()?),
        })
    }
}

/// Where a job stands among others by its deadline.
pub(super) fn turn(job: &Job) -> u64 {
    let ms = job.deadline.map(|at| at.0.div_euclid(1_000_000));
    let ms = ms.map_or(NEVER, |ms| ms.min(NEVER.saturating_sub(1)));
    let of_one = job.seq.rem_euclid(OF_ONE);
    ms.saturating_mul(OF_ONE).saturating_add(of_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Few;
    use crate::schedule::JobProfile;

    #[test]
    fn deadlines_come_first_then_the_order_of_submission() {
        let job = |seq, deadline: Option<u64>| Job {
            seq,
            submitted: Nanos(0),
            priority: 0,
            tenant: String::new(),
            queue: String::new(),
            tag: String::new(),
            deadline: deadline.map(Nanos::from_millis),
            profile: JobProfile::default(),
            any_speed: false,
            node_failures: 0,
            stages: Few::new(),
        };
        let in_turn = [
            job(7, Some(0)),
            job(3, Some(10)),
            job(4, Some(10)),
            job(0, Some(11)),
            job(9, Some(u64::MAX / 1_000_000)),
            job(1, None),
            job(OF_ONE - 1, None),
        ];
        let turns: Vec<u64> = in_turn.iter().map(turn).collect();
        assert!(turns.is_sorted_by(|one, next| one < next), "{turns:?}");
        assert_eq!(turns.last(), Some(&u64::MAX));
    }
}
