//! Engines that read, go, hang and say what they must not.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::read_order::{
    BROKER_ENGINES, BrokerError, BrokerGrant, ChunkCost, ENGINE_TASKS, EngineContainer, EngineIx,
    EnginePlace, READ_ORDERS, ReadBroker, TASK_BUFFERS, TaskReady, read_order,
};
use crate::schedule::Nanos;

const A: EngineIx = EngineIx(7);
const B: EngineIx = EngineIx(3);
const TIMEOUT: Nanos = Nanos(30_000);
const MIB: u64 = 1 << 20;

fn place(job: &str) -> EnginePlace {
    EnginePlace {
        job: job.to_owned(),
        gpu: "nvidia0".to_owned(),
        container: EngineContainer::Shared,
    }
}

fn ready(task: u32) -> TaskReady {
    TaskReady {
        task,
        chunk: MIB,
        bytes: 4 * MIB,
        priority: 1,
    }
}

fn grant(engine: EngineIx, task: u32) -> BrokerGrant {
    BrokerGrant { engine, task }
}

/// Two engines of two jobs, with a task of two buffers each.
fn two(order: &str) -> ReadBroker {
    let mut broker = ReadBroker::new(read_order(order).unwrap(), TIMEOUT);
    for (engine, job) in [(A, "a"), (B, "b")] {
        broker.join(engine, place(job)).unwrap();
        broker.ready(engine, &ready(0)).unwrap();
        broker.ready(engine, &ready(0)).unwrap();
    }
    broker
}

#[test]
fn one_engine_reads_and_the_next_when_the_token_is_back() {
    let mut broker = two("rr:turn=1");
    assert_eq!(broker.grants(Nanos(0)), [grant(A, 0)]);
    // B is chosen, and not told.
    assert_eq!(broker.grants(Nanos(1)), []);
    assert_eq!(
        broker.read(Nanos(1), B, 0),
        Err(BrokerError::Token { task: 0 })
    );
    broker.read(Nanos(9), A, 0).unwrap();
    assert_eq!(broker.grants(Nanos(9)), [grant(B, 0)]);
}

#[test]
fn an_engine_that_reads_on_is_told_one_read_ahead() {
    let mut broker = ReadBroker::new(read_order("spmario").unwrap(), TIMEOUT);
    broker.join(A, place("a")).unwrap();
    for task in [0, 0, 1] {
        broker.ready(A, &ready(task)).unwrap();
    }
    let ahead = broker.grants(Nanos(0));
    assert_eq!(ahead, [grant(A, 0), grant(A, 1)]);
    assert_eq!(broker.grants(Nanos(0)), []);
    broker.read(Nanos(5), A, 0).unwrap();
    assert_eq!(broker.grants(Nanos(5)), [grant(A, 0)]);
    broker.read(Nanos(9), A, 1).unwrap();
    // No buffer is free.
    assert_eq!(broker.grants(Nanos(9)), []);
    broker.ready(A, &ready(1)).unwrap();
    assert_eq!(broker.grants(Nanos(9)), [grant(A, 1)]);
    // What is read ahead may be said in one breath.
    broker.read(Nanos(10), A, 0).unwrap();
    broker.read(Nanos(10), A, 1).unwrap();
    assert_eq!(broker.grants(Nanos(10)), []);
}

#[test]
fn an_engine_that_is_gone_gives_its_token_back() {
    let mut broker = two("rr:turn=1");
    assert_eq!(broker.grants(Nanos(0)), [grant(A, 0)]);
    broker.leave(A);
    assert_eq!(broker.grants(Nanos(1)), [grant(B, 0), grant(B, 0)]);
    // What was chosen for one that is gone is chosen anew.
    broker.join(A, place("a")).unwrap();
    broker.ready(A, &ready(0)).unwrap();
    broker.read(Nanos(2), B, 0).unwrap();
    assert_eq!(broker.grants(Nanos(2)), []);
    broker.leave(A);
    broker.read(Nanos(3), B, 0).unwrap();
    assert_eq!(broker.grants(Nanos(3)), []);
    broker.ready(B, &ready(0)).unwrap();
    assert_eq!(broker.grants(Nanos(4)), [grant(B, 0)]);
    broker.leave(B);
    assert_eq!(broker.driver().state().tasks().count(), 0);
}

#[test]
fn a_token_that_is_kept_for_too_long_is_reported() {
    let mut broker = two("rr:turn=1");
    assert_eq!(broker.due(), None);
    broker.grants(Nanos(100));
    assert_eq!(broker.due(), Some(Nanos(30_100)));
    assert_eq!(broker.overdue(Nanos(30_099)).next(), None);
    let overdue: Vec<BrokerGrant> = broker.overdue(Nanos(30_100)).collect();
    assert_eq!(overdue, [grant(A, 0)]);
    // Nobody is late with what another one keeps from him.
    broker.read(Nanos(30_200), A, 0).unwrap();
    broker.grants(Nanos(30_200));
    assert_eq!(broker.due(), Some(Nanos(60_200)));
}

#[test]
fn engines_share_a_container_by_their_gpu_or_their_word() {
    let mut broker = ReadBroker::new(read_order("spmario").unwrap(), TIMEOUT);
    let named = |name: &str| EngineContainer::Named(name.to_owned());
    let places = [
        ("nvidia0", EngineContainer::Shared),
        ("nvidia0", EngineContainer::Shared),
        ("nvidia1", EngineContainer::Shared),
        ("nvidia0", EngineContainer::Own),
        ("nvidia0", EngineContainer::Own),
        ("nvidia0", named("night")),
        ("nvidia1", named("night")),
    ];
    for (number, (gpu, container)) in (0..).zip(places) {
        let place = EnginePlace {
            gpu: gpu.to_owned(),
            container,
            ..place("a")
        };
        broker.join(EngineIx(number), place).unwrap();
        broker.ready(EngineIx(number), &ready(0)).unwrap();
    }
    let tasks = broker.driver().state().tasks();
    let found: Vec<(u32, u32)> = tasks.map(|(_, task)| (task.container, task.gpu)).collect();
    assert_eq!(
        found,
        [(0, 0), (0, 0), (1, 1), (2, 0), (3, 0), (4, 0), (4, 1)]
    );
}

#[test]
fn processes_that_know_nothing_of_each_other_read_side_by_side() {
    let mut broker = two("gpmr");
    assert_eq!(broker.grants(Nanos(0)), [grant(A, 0), grant(B, 0)]);
    broker.read(Nanos(5), B, 0).unwrap();
    // The next when this one is computed.
    assert_eq!(broker.grants(Nanos(5)), []);
    broker.done(Nanos(6), B, 0, &ChunkCost::default()).unwrap();
    broker.ready(B, &ready(0)).unwrap();
    assert_eq!(broker.grants(Nanos(6)), [grant(B, 0)]);
}

#[test]
fn what_an_engine_must_not_say_is_refused() {
    let mut broker = two("spmario");
    assert_eq!(broker.ended(A, 5), Err(BrokerError::Task { task: 5 }));
    let cost = ChunkCost::default();
    assert_eq!(
        broker.done(Nanos(0), A, 5, &cost),
        Err(BrokerError::Task { task: 5 })
    );
    for task in 1..8 {
        broker.ready(A, &ready(task)).unwrap();
    }
    assert_eq!(ENGINE_TASKS, 8);
    assert_eq!(
        broker.ready(A, &ready(8)),
        Err(BrokerError::Tasks { task: 8 })
    );
    for _ in 1..TASK_BUFFERS {
        broker.ready(A, &ready(7)).unwrap();
    }
    let error = broker.ready(A, &ready(7)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task 7: a task has at most 8 free buffers"
    );
    for engine in 2..BROKER_ENGINES as u64 {
        broker.join(EngineIx(1_000 + engine), place("c")).unwrap();
    }
    assert_eq!(
        broker.join(EngineIx(9), place("c")),
        Err(BrokerError::Engines)
    );
    assert_eq!(
        broker.ready(EngineIx(9), &ready(0)),
        Err(BrokerError::Engine)
    );
}

/// What happens to engines.
#[derive(Clone, Copy, Debug)]
enum Step {
    Join,
    Ready(u32),
    Read,
    Done,
    Ended(u32),
    Leave,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let step = prop_oneof![
        1 => Just(Step::Join),
        6 => (0..3_u32).prop_map(Step::Ready),
        6 => Just(Step::Read),
        6 => Just(Step::Done),
        1 => (0..3_u32).prop_map(Step::Ended),
        1 => Just(Step::Leave),
    ];
    (0..4_u64, step)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever engines do, at most one reads, nobody is told of what he has not, and whoever can read is not forgotten.
    #[test]
    fn one_reads_at_a_time_and_the_disk_does_not_wait(steps in prop::collection::vec(step(), 1..200)) {
        for (order, _) in READ_ORDERS {
            let mut broker = ReadBroker::new(read_order(order).unwrap(), TIMEOUT);
            // Tokens of living engines, in the order in which they were told; chunks that are read.
            let mut told: Vec<BrokerGrant> = Vec::new();
            let mut computing: BTreeMap<(u64, u32), u32> = BTreeMap::new();
            let mut joined = BTreeSet::new();
            for (now, (engine, step)) in (0..).zip(&steps) {
                let (now, ix) = (Nanos(now), EngineIx(*engine));
                match *step {
                    Step::Join => {
                        if joined.insert(*engine) {
                            broker.join(ix, place("a")).unwrap();
                        }
                    }
                    Step::Ready(task) => drop(broker.ready(ix, &ready(task))),
                    Step::Read => {
                        let at = told.iter().position(|grant| grant.engine == ix);
                        let Some(at) = at else { continue };
                        let grant = told.remove(at);
                        prop_assert_eq!(broker.read(now, ix, grant.task), Ok(()));
                        *computing.entry((*engine, grant.task)).or_default() += 1;
                    }
                    Step::Done => {
                        let mut all = computing.iter_mut();
                        let Some((key, count)) = all.find(|(key, count)| key.0 == *engine && **count > 0) else { continue };
                        *count -= 1;
                        prop_assert!(broker.done(now, ix, key.1, &ChunkCost::default()).is_ok());
                    }
                    Step::Ended(task) => {
                        if broker.ended(ix, task).is_ok() {
                            told.retain(|grant| (grant.engine, grant.task) != (ix, task));
                            computing.remove(&(*engine, task));
                        }
                    }
                    Step::Leave => {
                        joined.remove(engine);
                        broker.leave(ix);
                        told.retain(|grant| grant.engine != ix);
                        computing.retain(|key, _| key.0 != *engine);
                    }
                }
                told.extend(broker.grants(now));
                if *order == "gpmr" { continue }
                prop_assert!(told.len() <= 2);
                prop_assert!(told.iter().all(|grant| grant.engine == told[0].engine), "{}: {:?}", order, told);
                let could = broker.driver().state().tasks().any(|(_, task)| task.can_read());
                if *order == "spmario" {
                    prop_assert!(!told.is_empty() || !could, "{}: the disk waits", order);
                }
            }
        }
    }
}
