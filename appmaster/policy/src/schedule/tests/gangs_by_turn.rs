//! Gangs in the order of the policy, and what holds of them under every one: a stream of small jobs starves none, and
//! of two none blocks the other.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bed::Bed;
use crate::schedule::{AttemptIx, AttemptOutcome, Decision, Event, JobIx, Nanos, Stage};

fn starts(decisions: &[Decision]) -> Vec<u32> {
    let gangs = decisions.iter().filter_map(|decision| match decision {
        Decision::Gang { job, .. } => Some(job.0),
        _ => None,
    });
    gangs.collect()
}

/// Whoever has fewer slots is next, though others came earlier; `bed` has four slots.
fn alternate(policy: &str, expected: &[u32]) {
    let mut bed = Bed::new(policy, 1, 4);
    let mut order = starts(&bed.submit("u0", Stage::Gang, 3));
    bed.begin_all();
    bed.submit("u0", Stage::Gang, 2);
    bed.submit("u0", Stage::Gang, 2);
    bed.submit("u1", Stage::Gang, 2);
    bed.submit("u1", Stage::Gang, 2);
    while order.len() < 5 {
        let ends = bed.driver.session().attempts().next().unwrap().1.job;
        let of_it = bed.driver.session().attempts();
        let of_it: Vec<u32> = of_it
            .filter(|(_, attempt)| attempt.job == ends)
            .map(|(_, attempt)| attempt.slot.0)
            .collect();
        for slot in of_it {
            order.extend(starts(&bed.end(slot, AttemptOutcome::Done)));
            bed.begin_all();
        }
    }
    assert_eq!(order, expected, "{policy}");
}

#[test]
fn gangs_are_ordered_as_tasks_are() {
    alternate("fifo+gang", &[0, 1, 2, 3, 4]);
    alternate("fair+gang", &[0, 3, 1, 4, 2]);
    alternate("fair:by=queue,weight.u0=2+gang", &[0, 3, 1, 4, 2]);
    alternate("capacity:queue.u0=50,queue.u1=50+gang", &[0, 3, 1, 4, 2]);
    alternate("fair:by=job+gang", &[0, 1, 2, 3, 4]);
}

#[test]
fn a_queue_that_may_not_have_more_gets_no_further_gang_and_others_do() {
    let mut bed = Bed::new("capacity:queue.u0=50,queue.u1=50,elastic=false+gang", 1, 4);
    assert_eq!(starts(&bed.submit("u0", Stage::Gang, 2)), [0]);
    assert_eq!(starts(&bed.submit("u0", Stage::Gang, 1)), Vec::<u32>::new());
    assert_eq!(starts(&bed.submit("u1", Stage::Gang, 2)), [2]);
    bed.begin_all();
    assert_eq!(starts(&bed.end(0, AttemptOutcome::Done)), [1]);
    let queues = ["default", "u0", "u1"];
    assert_eq!(bed.driver.queues().unwrap(), queues);
    assert_eq!(Bed::new("fair+gang", 1, 1).driver.queues(), None);
}

const POLICIES: [&str; 9] = [
    "fifo+gang",
    "fifo-barrier+gang",
    "capacity:queue.u0=50,queue.u1=20+delay+gang",
    "capacity:queue.u0=50,queue.u1=50,elastic=false+gang",
    "fair+delay+speculate+avoid+gang",
    "fair:by=queue,weight.u1=3+gang",
    "fair:by=job+gang",
    "fair+priority+gang",
    "hpe+gang",
];

/// One of the stream: whose, whether ranks or maps, how many, how many seconds each lasts.
type Small = (u8, bool, usize, u64);

/// Every second another small job comes, and never an end; by when each of two wide gangs has started.
fn streamed(policy: &str, small: &[Small], wide: [u8; 2]) -> [Option<u64>; 2] {
    const SLOTS: usize = 4;
    const BEFORE: usize = 4;
    let mut bed = Bed::new(policy, 2, SLOTS / 2);
    let mut lasts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut began: BTreeMap<AttemptIx, u64> = BTreeMap::new();
    let mut started = [None; 2];
    let mut jobs = 0;
    let mut own = [u32::MAX; 2];
    for second in 0..600_u64 {
        bed.now = Nanos::from_secs(second);
        let at = usize::try_from(second).unwrap();
        let (user, ranks, tasks, length) = small[at % small.len()];
        let stage = if ranks { Stage::Gang } else { Stage::Map };
        bed.submit(&format!("u{user}"), stage, tasks);
        lasts.insert(jobs, length);
        jobs += 1;
        if at == BEFORE {
            for (which, user) in wide.into_iter().enumerate() {
                own[which] = jobs;
                bed.submit(&format!("u{user}"), Stage::Gang, SLOTS - which);
                lasts.insert(jobs, 3);
                jobs += 1;
            }
        }
        let session = bed.driver.session();
        let holding = (0..jobs).filter(|job| session.held(JobIx(*job)).next().is_some());
        assert!(holding.count() <= 1, "{policy}: two hold at {second}");
        for (which, job) in own.into_iter().enumerate() {
            let runs = session
                .attempts()
                .any(|(_, attempt)| attempt.job == JobIx(job));
            if runs && started[which].is_none() {
                started[which] = Some(second);
            }
        }
        if started.iter().all(Option::is_some) {
            break;
        }
        let all: Vec<(AttemptIx, u32)> = session
            .attempts()
            .map(|(ix, attempt)| (ix, attempt.job.0))
            .collect();
        for (attempt, job) in all {
            let since = *began.entry(attempt).or_insert_with(|| {
                bed.tell(&Event::Began(attempt));
                second
            });
            if second >= since + lasts[&job] && bed.driver.session().attempt(attempt).is_some() {
                bed.tell(&Event::Ended {
                    attempt,
                    how: AttemptOutcome::Done,
                    phases: Vec::new(),
                });
            }
        }
        bed.tell(&Event::Wake);
    }
    started
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_of_small_jobs_starves_no_gang_and_two_do_not_block_each_other(
        small in prop::collection::vec((0..3_u8, any::<bool>(), 1..3_usize, 1..4_u64), 1..12),
        wide in [0..3_u8, 0..3_u8],
        policy in 0..POLICIES.len(),
    ) {
        let started = streamed(POLICIES[policy], &small, wide);
        prop_assert!(started.iter().all(Option::is_some), "{}: {started:?}", POLICIES[policy]);
    }
}
