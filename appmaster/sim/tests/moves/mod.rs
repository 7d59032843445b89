//! Attempts that go on on another slot of their node, under policies that do little else.

use policy::schedule::wrapper::{Delay, GangScheduling, Priority, Speculate};
use policy::schedule::{
    AttemptIx, Decision, Nanos, NodeIx, Scheduler, Session, SlotIx, Speed, named,
};
use sim::{Workload, WorkloadRun};

/// A free fast slot takes over an attempt of a slow one of its node, where nothing is pending.
#[derive(Debug)]
struct Mover(Box<dyn Scheduler>);

impl Scheduler for Mover {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.0)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.0)
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let decision = self.0.next(now, session, node);
        let at = node.filter(|_| decision.is_none());
        let is_slow = |slot: SlotIx| session.slot(slot).is_some_and(|s| s.speed == Speed::Slow);
        let moved = at.and_then(|at| {
            let to = session.free_slots(at).find(|slot| !is_slow(*slot))?;
            let mut attempts = session.attempts();
            let (attempt, _) = attempts.find(|(_, attempt)| {
                let settled = attempt.began.is_some() && attempt.to.is_none();
                settled && session.node_of(attempt.slot) == node && is_slow(attempt.slot)
            })?;
            Some(Decision::Move { attempt, to })
        });
        decision.or(moved)
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        true
    }
}

/// The first two attempts change places once both run.
#[derive(Debug)]
struct Swapper {
    inner: Box<dyn Scheduler>,
    done: bool,
}

impl Scheduler for Swapper {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let decision = self.inner.next(now, session, node);
        let (one, other) = (AttemptIx(0), AttemptIx(1));
        let runs = |attempt| session.attempt(attempt).is_some_and(|a| a.began.is_some());
        let swaps = decision.is_none() && node.is_none() && !self.done && runs(one) && runs(other);
        self.done |= swaps;
        decision.or_else(|| swaps.then_some(Decision::Swap { one, other }))
    }
}

const TWO: &str = r#"{
    "start_ms": 0,
    "nodes": [{ "map_slots": 1, "slow_map_slots": 1 }],
    "jobs": [
        { "name": "a", "maps": { "count": 1, "seconds": 9 } },
        { "name": "b", "maps": { "count": 1, "seconds": 9 } }
    ]
}"#;

fn ends(policy: Box<dyn Scheduler>) -> Vec<String> {
    let workload: Workload = serde_json::from_str(TWO).unwrap();
    let outcome = WorkloadRun::new(&workload, policy).play().unwrap();
    let ends = outcome.jobs.iter().map(|job| format!("{:.3}", job.end_s));
    ends.collect()
}

fn fifo() -> Box<dyn Scheduler> {
    named("fifo").unwrap()
}

/// The same policy inside each rule, and inside all of them.
fn wrapped(inner: fn() -> Box<dyn Scheduler>) -> Vec<Box<dyn Scheduler>> {
    let minute = Nanos::from_secs(60);
    let gang = |inner| Box::new(GangScheduling::new(minute, inner)) as Box<dyn Scheduler>;
    let priority = |inner| Box::new(Priority::new(true, inner)) as Box<dyn Scheduler>;
    let delay = |inner| Box::new(Delay::new(minute, minute, inner)) as Box<dyn Scheduler>;
    let speculate =
        |inner| Box::new(Speculate::new(150, 10, Nanos::from_secs(3), inner)) as Box<dyn Scheduler>;
    vec![
        inner(),
        gang(inner()),
        priority(inner()),
        delay(inner()),
        speculate(inner()),
        gang(delay(priority(speculate(inner())))),
    ]
}

#[test]
fn an_attempt_that_is_moved_ends_by_the_speed_of_both_slots() {
    // A slow core takes 1/0.45 of the time.
    assert_eq!(ends(fifo()), ["9.000", "20.000"]);
    // Of b 4.059 s are done when it moves, at 9.02: 4.941 are left.
    for policy in wrapped(|| Box::new(Mover(fifo()))) {
        let shown = format!("{policy:?}");
        assert_eq!(ends(policy), ["9.000", "13.961"], "{shown}");
    }
}

#[test]
fn attempts_that_are_swapped_end_by_the_speed_of_both_slots() {
    let swapper = || -> Box<dyn Scheduler> {
        Box::new(Swapper {
            inner: fifo(),
            done: false,
        })
    };
    // They change at 0.02: a has 8.98 s left, and 1/0.45 of that; b 8.991.
    for policy in wrapped(swapper) {
        let shown = format!("{policy:?}");
        assert_eq!(ends(policy), ["19.976", "9.011"], "{shown}");
    }
}
