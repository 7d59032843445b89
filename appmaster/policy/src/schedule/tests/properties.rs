//! What holds under every policy: each task ends, nothing is given twice, no decision is illegal, and
//! the same events lead to the same decisions.

use proptest::prelude::*;

use super::bed::{Bed, reloaded};
use crate::schedule::{
    AttemptIx, AttemptOutcome, AttemptPhase, Bundle, ContainerIx, Decision, Event, Nanos, Need,
    NodeIx, POLICIES as NAMES, Slot, Speed, Stage, Task, WRAPPERS,
};

const POLICIES: [&str; 23] = [
    "fifo+speculate:factor=101,share=50+delay+age:limit=5s+priority+gang",
    "fifo+gang",
    "fifo-barrier+gang",
    "capacity:queue.u0=50,queue.u1=20+gang",
    "capacity:queue.u0=50,elastic=false+gang",
    "fair+delay+speculate+gang:hold=5s",
    "fair:by=job,weight.u1=3+priority+gang",
    "fair:by=queue+priority:preempt=true+speculate+gang",
    "fifo+delay:node=1s,rack=1s+avoid+age:limit=20s+gang",
    "fifo-blind+speculate+gang",
    "hpe+gang",
    "hpe:skip=1,age=3s+delay:node=1s,rack=1s+avoid+speculate+gang",
    "hpe:window=jobs+age:limit=0+priority+gang",
    // Alone it leaves slots empty for ever.
    "hpe-literal:seed=7+age:limit=1s+gang",
    "hpe-conserve+delay:node=1s,rack=1s+avoid+speculate+gang",
    "hetero+delay:node=1s,rack=1s+avoid+speculate+gang",
    "hetero-literal:tenants=true+priority:preempt=true+gang",
    "dyscale:most=2,lift-batch=always,move-least=0+gang",
    "dyscale:most=2+delay:node=1s,rack=1s+avoid+speculate+gang",
    "dyscale:most=3,move-least=2s+priority:preempt=true+gang",
    "dyscale:most=2,park=1,move-least=0+delay:node=1s,rack=1s+speculate+gang",
    "dyscale-basic:most=2+speculate+gang",
    "maps-fast+gang",
];

#[derive(Clone, Debug)]
enum ScheduleStep {
    Submit {
        user: u8,
        priority: i32,
        gang: bool,
        tasks: usize,
        near: u32,
        device: bool,
    },
    Begin(usize),
    End(usize, bool),
    Progress(usize, u64),
    Lose(u32),
    Join,
    Pass(u64),
}

fn step() -> impl Strategy<Value = ScheduleStep> {
    prop_oneof![
        3 => (0..3_u8, -1..3_i32, prop::bool::weighted(0.2), 1..6_usize, 0..4_u32, prop::bool::weighted(0.2))
            .prop_map(|(user, priority, gang, tasks, near, device)| ScheduleStep::Submit { user, priority, gang, tasks, near, device }),
        6 => any::<prop::sample::Index>().prop_map(|at| ScheduleStep::Begin(at.index(97))),
        6 => (any::<prop::sample::Index>(), prop::bool::weighted(0.9)).prop_map(|(at, ok)| ScheduleStep::End(at.index(89), ok)),
        3 => (any::<prop::sample::Index>(), 0..100_u64).prop_map(|(at, done)| ScheduleStep::Progress(at.index(83), done)),
        1 => (0..4_u32).prop_map(ScheduleStep::Lose),
        1 => Just(ScheduleStep::Join),
        3 => (1..8_u64).prop_map(ScheduleStep::Pass),
    ]
}

fn devices() -> Bundle {
    Bundle::new().with("acc/gpu", 1)
}

/// Slots for anything, of each speed in turn where a policy goes by it.
fn cut(policy: &str, count: usize) -> Vec<Slot> {
    let by_speed = policy.starts_with("dyscale") || policy.starts_with("maps-fast");
    let all = [Speed::Fast, Speed::Slow, Speed::Plain].into_iter().cycle();
    let of = |speed| Slot {
        speed: if by_speed { speed } else { Speed::Plain },
        ..Slot::free(&[Stage::Map, Stage::Reduce, Stage::Gang])
    };
    all.take(count).map(of).collect()
}

/// Plays the launchers: stops what is to be stopped, moves what is to be moved but every third, and confirms nothing else
/// by itself.
fn carry_out(bed: &mut Bed, decisions: Vec<Decision>, log: &mut Vec<Decision>) {
    let mut queue = decisions;
    while let Some(decision) = queue.pop() {
        if let Decision::Stop { attempt, .. } = decision {
            queue.extend(bed.tell(&Event::Ended {
                attempt,
                how: AttemptOutcome::Killed,
                phases: Vec::new(),
            }));
        }
        if let Decision::Move { attempt, .. } | Decision::Swap { one: attempt, .. } = decision {
            let ok = attempt.0 % 3 != 0 || log.len().is_multiple_of(2);
            queue.extend(bed.tell(&Event::Moved { attempt, ok }));
        }
        log.push(decision);
    }
}

/// What is decided in the course of `steps`, where the driver is written and loaded again after every
/// `reload`-th; 0: never.
fn play(policy: &str, steps: &[ScheduleStep], reload: usize) -> Vec<Decision> {
    let mut log = Vec::new();
    let mut bed = Bed::new(policy, 0, 0);
    for node in 0..3 {
        bed.join_cut(node, Bundle::new(), cut(policy, 3));
    }
    bed.join_cut(3, devices(), cut(policy, 2));
    let mut containers = 4;
    for (number, step) in (1..).zip(steps) {
        if reload > 0 && number % reload == 0 {
            bed.driver = reloaded(&bed.driver);
        }
        let attempts: Vec<AttemptIx> = bed.driver.session().attempts().map(|(ix, _)| ix).collect();
        let decisions = match step {
            ScheduleStep::Submit {
                user,
                priority,
                gang,
                tasks,
                near,
                device,
            } => {
                let stage = if *gang { Stage::Gang } else { Stage::Map };
                let task = Task {
                    nodes: vec![NodeIx(*near)],
                    bytes: 1,
                };
                let locks = if *device {
                    vec!["acc/gpu".into()]
                } else {
                    Vec::new()
                };
                let need = Need {
                    bundle: Bundle::new(),
                    locks,
                    ..Need::default()
                };
                bed.submit_job(
                    &format!("u{user}"),
                    *priority,
                    stage,
                    vec![task; *tasks],
                    need,
                )
            }
            ScheduleStep::Begin(at) if !attempts.is_empty() => {
                bed.tell(&Event::Began(attempts[at % attempts.len()]))
            }
            ScheduleStep::End(at, ok) if !attempts.is_empty() => {
                let how = if *ok {
                    AttemptOutcome::Done
                } else {
                    AttemptOutcome::Failed
                };
                bed.tell(&Event::Ended {
                    attempt: attempts[at % attempts.len()],
                    how,
                    phases: Vec::new(),
                })
            }
            ScheduleStep::Progress(at, done) if !attempts.is_empty() => {
                bed.tell(&Event::Progress {
                    attempt: attempts[at % attempts.len()],
                    phase: AttemptPhase::Map,
                    done: *done,
                    of: 100,
                })
            }
            ScheduleStep::Lose(container) => bed.tell(&Event::Lost(ContainerIx(*container))),
            ScheduleStep::Join => {
                containers += 1;
                bed.join_cut(containers, devices(), cut(policy, 2))
            }
            ScheduleStep::Pass(seconds) => bed.wait(Nanos::from_secs(*seconds)),
            _ => Vec::new(),
        };
        carry_out(&mut bed, decisions, &mut log);
        let session = bed.driver.session();
        let late = session
            .attempts()
            .filter(|(_, attempt)| session.is_done(attempt.job, attempt.stage, attempt.task));
        assert!(late.map(|(ix, _)| ix).eq(session.late().map(|(ix, _)| ix)));
    }
    // Room for everything that was submitted; then every task ends in a bounded number of rounds.
    let decisions = bed.join_cut(99, devices(), cut(policy, 64));
    carry_out(&mut bed, decisions, &mut log);
    for round in 1..=400 {
        if reload > 0 && round % (reload * 20) == 0 {
            bed.driver = reloaded(&bed.driver);
        }
        bed.now = bed.now.plus(Nanos::from_secs(1));
        let next = bed.driver.session().attempts().next().map(|(ix, _)| ix);
        let decisions = match next {
            Some(attempt) => bed.tell(&Event::Ended {
                attempt,
                how: AttemptOutcome::Done,
                phases: Vec::new(),
            }),
            None => bed.tell(&Event::Wake),
        };
        carry_out(&mut bed, decisions, &mut log);
    }
    let session = bed.driver.session();
    assert_eq!(session.attempts().count(), 0);
    for (ix, job) in session.jobs() {
        for (stage, state) in &job.stages {
            assert_eq!(
                (state.pending, state.running),
                (0, 0),
                "{policy}: job {ix}, {stage:?}"
            );
        }
    }
    for (ix, slot) in session.slots() {
        assert_eq!(
            slot.taken,
            crate::schedule::SlotUse::Free,
            "{policy}: slot {ix}"
        );
        let container = session.container(slot.container).unwrap();
        assert_eq!(
            container.free, container.pool,
            "{policy}: container {}",
            slot.container
        );
    }
    log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_task_ends_and_everything_is_given_back(steps in prop::collection::vec(step(), 0..60), policy in 0..POLICIES.len()) {
        let first = play(POLICIES[policy], &steps, 0);
        prop_assert_eq!(first, play(POLICIES[policy], &steps, 0));
    }

    #[test]
    fn whoever_is_loaded_goes_on_as_whoever_was_saved(
        steps in prop::collection::vec(step(), 0..60), policy in 0..POLICIES.len(), reload in 1..9_usize,
    ) {
        let whole = play(POLICIES[policy], &steps, 0);
        prop_assert_eq!(whole, play(POLICIES[policy], &steps, reload));
    }
}

#[test]
fn every_policy_and_wrapper_is_among_those_that_are_tried() {
    for (name, _) in NAMES.iter().chain(WRAPPERS) {
        let mut parts = POLICIES.iter().flat_map(|policy| policy.split('+'));
        let tried = parts.any(|part| part.split(':').next() == Some(*name));
        assert!(tried, "{name}");
    }
}
