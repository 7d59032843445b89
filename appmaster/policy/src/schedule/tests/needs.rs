//! Stages that turn out to need something else than was said.

use proptest::prelude::*;

use super::bed::{Bed, started};
use super::hpe::gpu;
use crate::schedule::{
    AttemptIx, AttemptOutcome, Bundle, ContainerIx, Event, JobIx, Nanos, NodeIx, Stage,
};

fn needs_gpu(job: u32) -> Event {
    Event::Needed {
        job: JobIx(job),
        stage: Stage::Map,
        locks: vec!["acc/gpu".into()],
        counted: Bundle::new(),
    }
}

fn ended(attempt: u32, how: AttemptOutcome) -> Event {
    Event::Ended {
        attempt: AttemptIx(attempt),
        how,
        phases: Vec::new(),
    }
}

#[test]
fn what_waits_goes_where_the_element_is_from_then_on_and_what_runs_goes_on() {
    for policy in ["fifo", "fifo-barrier", "hpe", "fair", "fifo+delay"] {
        let mut bed = Bed::new(policy, 1, 1);
        // Map 0 has the plain node, two more wait.
        let first = bed.submit("ann", Stage::Map, 3);
        assert_eq!(started(&first), [(0, Stage::Map, 0, 0)], "{policy}");
        assert_eq!(bed.tell(&needs_gpu(0)), [], "{policy}");
        assert_eq!(bed.driver.session().attempts().count(), 1);
        // It has found no device: pending again, and the plain node is nothing for it.
        assert_eq!(
            bed.tell(&ended(0, AttemptOutcome::NoDevice)),
            [],
            "{policy}"
        );
        let there = bed.join(1, 2, gpu());
        assert_eq!(
            started(&there),
            [(0, Stage::Map, 0, 1), (0, Stage::Map, 1, 2)],
            "{policy}"
        );
        let state = bed.driver.session().stage(JobIx(0), Stage::Map).unwrap();
        assert_eq!((state.pending, state.running), (1, 2), "{policy}");
        // Told once more, nothing changes; told otherwise, the plain node has the last one.
        assert_eq!(bed.tell(&needs_gpu(0)), [], "{policy}");
        let none = Event::Needed {
            job: JobIx(0),
            stage: Stage::Map,
            locks: Vec::new(),
            counted: Bundle::new(),
        };
        let mut decisions = bed.tell(&none);
        decisions.extend(bed.wait(Nanos::from_secs(60)));
        assert_eq!(started(&decisions), [(0, Stage::Map, 2, 0)], "{policy}");
        bed.tell(&Event::Left(JobIx(0)));
        for attempt in [1, 2, 3] {
            bed.tell(&ended(attempt, AttemptOutcome::Killed));
        }
        assert!(bed.driver.session().job(JobIx(0)).is_none(), "{policy}");
    }
}

#[test]
fn a_blind_policy_starts_it_where_it_fails() {
    let mut bed = Bed::new("fifo-blind", 0, 0);
    bed.submit("ann", Stage::Map, 1);
    bed.tell(&needs_gpu(0));
    let there = bed.join(0, 1, Bundle::new());
    assert_eq!(started(&there), [(0, Stage::Map, 0, 0)]);
}

const FUNCTION: &str = "acc/kmeans-map";

fn needs_functions(count: u64) -> Event {
    Event::Needed {
        job: JobIx(0),
        stage: Stage::Map,
        locks: Vec::new(),
        counted: Bundle::new().with(FUNCTION, count),
    }
}

#[test]
fn what_runs_gives_back_what_it_has_taken_whatever_its_stage_needs_by_then() {
    for policy in ["fifo", "hetero", "hetero:tenants=true"] {
        let mut bed = Bed::new(policy, 0, 0);
        bed.join(0, 4, Bundle::new().with(FUNCTION, 2));
        let plain = bed.submit("ann", Stage::Map, 6);
        assert_eq!(plain.len(), 4, "{policy}");
        let free = |bed: &Bed| {
            let node = bed.driver.session().node(NodeIx(0)).unwrap();
            node.free.amount(&FUNCTION.into())
        };
        assert_eq!((bed.tell(&needs_functions(1)), free(&bed)), (vec![], 2));
        // Those that run have taken none, and count as taking none.
        let used = |bed: &Bed| {
            let session = bed.driver.session();
            let taken = session.used_classes().map(|(class, attempts)| {
                let need = session.need(class).unwrap();
                need.bundle.amount(&FUNCTION.into()) * u64::from(attempts)
            });
            taken.sum::<u64>()
        };
        assert_eq!(used(&bed), 0, "{policy}");
        for (attempt, left) in [(0, 1), (1, 0), (2, 0), (3, 0)] {
            bed.tell(&ended(attempt, AttemptOutcome::Done));
            assert_eq!((free(&bed), used(&bed)), (left, 2 - left), "{policy}");
        }
        // And those that have taken one give back one, though others take two.
        assert_eq!(bed.tell(&needs_functions(2)), [], "{policy}");
        bed.tell(&ended(4, AttemptOutcome::Done));
        assert_eq!((free(&bed), used(&bed)), (1, 1), "{policy}");
        bed.tell(&Event::Left(JobIx(0)));
        bed.tell(&ended(5, AttemptOutcome::Killed));
        assert_eq!((free(&bed), used(&bed)), (2, 0), "{policy}");
        assert_eq!(bed.driver.session().used_classes().count(), 0, "{policy}");
    }
}

#[derive(Clone, Debug)]
enum Turn {
    Need(u64),
    End(usize),
    Has(u32, u64),
    Lose(u32),
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        2 => (0..4_u64).prop_map(Turn::Need),
        6 => (0..100_usize).prop_map(Turn::End),
        2 => (0..2_u32, 0..5_u64).prop_map(|(node, count)| Turn::Has(node, count)),
        1 => (0..2_u32).prop_map(Turn::Lose),
    ]
}

proptest! {
    #[test]
    fn never_more_functions_are_lent_than_a_node_has(
        policy in prop::sample::select(vec!["fifo", "hetero", "hpe", "fair"]),
        turns in prop::collection::vec(turn(), 0..40),
    ) {
        let mut bed = Bed::new(policy, 0, 0);
        bed.speculative = false;
        bed.node_failures = 0;
        let mut has = [3_u64, 2];
        let mut container = [0_u32, 1];
        let mut joined = 2;
        for (node, count) in [0, 1].into_iter().zip(has) {
            bed.join(node, 4, Bundle::new().with(FUNCTION, count));
        }
        bed.submit("ann", Stage::Map, 60);
        let mut needs = 0;
        // What each attempt took when it started.
        let mut taken = std::collections::BTreeMap::<AttemptIx, (u32, u64)>::new();
        for turn in std::iter::once(Turn::Need(0)).chain(turns) {
            match turn {
                Turn::Need(count) => {
                    needs = count;
                    bed.tell(&needs_functions(count));
                }
                Turn::End(at) => {
                    let running: Vec<AttemptIx> = taken.keys().copied().collect();
                    if !running.is_empty() {
                        let attempt = running[at % running.len()];
                        bed.tell(&ended(attempt.0, AttemptOutcome::Done));
                    }
                }
                Turn::Has(node, count) => {
                    has[node as usize] = count;
                    let container = ContainerIx(container[node as usize]);
                    let pool = Bundle::new().with(FUNCTION, count);
                    bed.tell(&Event::Pool { container, pool });
                }
                Turn::Lose(node) => {
                    bed.tell(&Event::Lost(ContainerIx(container[node as usize])));
                    container[node as usize] = joined;
                    joined += 1;
                    let count = has[node as usize];
                    bed.join(node, 4, Bundle::new().with(FUNCTION, count));
                }
            }
            let session = bed.driver.session();
            let mut starts = [0, 0];
            let now = session.attempts().map(|(ix, attempt)| {
                let node = session.node_of(attempt.slot).unwrap();
                let known = taken.get(&ix).copied();
                starts[node.0 as usize] += if known.is_none() { needs } else { 0 };
                (ix, known.unwrap_or((node.0, needs)))
            });
            taken = now.collect();
            for node in [0, 1_u32] {
                let here = taken.values().filter(|(at, _)| *at == node);
                let sum: u64 = here.map(|(_, count)| count).sum();
                let there = session.node(NodeIx(node)).unwrap();
                let of = has[node as usize];
                prop_assert_eq!(there.free.amount(&FUNCTION.into()), of.saturating_sub(sum));
                // More than there are only where there were more: nothing starts on what is owed.
                prop_assert!(sum <= of || starts[node as usize] == 0);
            }
        }
    }
}
