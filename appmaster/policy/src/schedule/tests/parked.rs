//! Batch tasks that are stopped for interactive ones: when, where they go on, and that none is forgotten.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bed::{Bed, reloaded, started};
use crate::schedule::{
    AttemptIx, AttemptOutcome, Bundle, Container, ContainerIx, Decision, Event, Nanos, Node,
    NodeIx, Slot, SlotIx, SlotUse, Speed, Stage,
};

fn of(speed: Speed, count: usize) -> Vec<Slot> {
    let slot = Slot {
        speed,
        ..Slot::free(&[Stage::Map])
    };
    vec![slot; count]
}

fn slots(fast: usize, slow: usize) -> Vec<Slot> {
    [of(Speed::Fast, fast), of(Speed::Slow, slow)].concat()
}

/// A node of so many fast slots, then so many slow ones, then places, and memory for so many tasks beyond its slots.
fn join(bed: &mut Bed, node: u32, slots: Vec<Slot>, more: usize) -> Vec<Decision> {
    let memory = (slots.len() + more) as u64 * 1024;
    let memory = Bundle::new().with("memory-mb", memory);
    let container = Container {
        node: NodeIx(0),
        pool: memory.clone(),
        free: memory,
    };
    let host = Node {
        host: format!("n{node}"),
        rack: "r".to_owned(),
        ..Node::default()
    };
    bed.tell(&Event::Joined(host, container, slots))
}

fn bed(policy: &str, fast: usize, slow: usize, more: usize) -> Bed {
    let mut bed = Bed::new(policy, 0, 0);
    join(&mut bed, 0, slots(fast, slow), more);
    bed
}

fn answer(bed: &mut Bed, decisions: &[Decision], ok: bool) -> (AttemptIx, SlotIx, Vec<Decision>) {
    let [Decision::Move { attempt, to }] = *decisions else {
        panic!("{decisions:?}")
    };
    (attempt, to, bed.tell(&Event::Moved { attempt, ok }))
}

fn places(decisions: &[Decision]) -> Vec<(u32, u32)> {
    let started = started(decisions).into_iter();
    started.map(|(job, _, _, slot)| (job, slot)).collect()
}

fn done(bed: &mut Bed, slot: u32) -> Vec<Decision> {
    bed.now = bed.now.plus(Nanos::from_secs(20));
    bed.end(slot, AttemptOutcome::Done)
}

#[test]
fn batch_is_stopped_for_an_interactive_task_and_goes_on_before_others_start() {
    // Slot 0 is fast, 1 slow, 2 a place.
    let mut bed = bed("dyscale:park=1", 1, 1, 1);
    bed.submit("batch", Stage::Map, 3);
    bed.begin_all();
    let stopped = bed.on(0);
    let parks = bed.submit("interactive", Stage::Map, 1);
    let (attempt, to, then) = answer(&mut bed, &parks, true);
    assert_eq!((attempt, to), (stopped, SlotIx(2)));
    assert_eq!(places(&then), [(1, 0)]);
    bed.begin(0);
    // There is no second place.
    assert_eq!(bed.submit("interactive", Stage::Map, 1), []);
    // The slow slot is free: a batch task waits, and the stopped one has it.
    let on = done(&mut bed, 1);
    let (attempt, to, then) = answer(&mut bed, &on, true);
    assert_eq!((attempt, to, then), (stopped, SlotIx(1), vec![]));
    assert_eq!(places(&done(&mut bed, 0)), [(2, 0)]);
}

#[test]
fn one_that_is_stopped_has_a_fast_slot_that_is_spare() {
    let mut bed = bed("dyscale:park=1", 1, 1, 1);
    bed.submit("batch", Stage::Map, 3);
    bed.begin_all();
    let parks = bed.submit("interactive", Stage::Map, 1);
    let (stopped, ..) = answer(&mut bed, &parks, true);
    bed.begin(0);
    let on = done(&mut bed, 0);
    let (attempt, to, _) = answer(&mut bed, &on, true);
    assert_eq!((attempt, to), (stopped, SlotIx(0)));
}

#[test]
fn nothing_is_stopped_in_vain() {
    let stops = |bed: &mut Bed| {
        bed.submit("batch", Stage::Map, 3);
        bed.begin_all();
        let decisions = bed.submit("interactive", Stage::Map, 1);
        !decisions.is_empty()
    };
    assert!(stops(&mut bed("dyscale:park=0.25", 1, 1, 1)));
    // No place; no memory for one task more; no slow slot to go on in.
    assert!(!stops(&mut bed("dyscale", 1, 1, 1)));
    assert!(!stops(&mut bed("dyscale:park=1", 1, 1, 0)));
    assert!(!stops(&mut bed("dyscale:park=1", 1, 0, 1)));
}

#[test]
fn one_that_could_not_be_continued_is_ordered_again() {
    let mut bed = bed("dyscale:park=1", 1, 1, 1);
    bed.submit("batch", Stage::Map, 2);
    bed.begin_all();
    let parks = bed.submit("interactive", Stage::Map, 1);
    answer(&mut bed, &parks, true);
    bed.begin(0);
    let on = done(&mut bed, 1);
    let (stopped, ..) = answer(&mut bed, &on, false);
    assert_eq!(bed.end(0, AttemptOutcome::Done), []);
    let at = bed.driver.wakes_at().unwrap();
    bed.now = at;
    let again = bed.tell(&Event::Wake);
    let (attempt, ..) = answer(&mut bed, &again, true);
    assert_eq!(attempt, stopped);
}

#[test]
fn a_place_is_no_slot_that_anything_starts_on_or_that_counts() {
    let bed = bed("dyscale:park=2,most=1+gang", 2, 1, 9);
    let session = bed.driver.session();
    assert_eq!(session.slot_count_of(Stage::Map), 3);
    assert_eq!(session.free_slots(NodeIx(0)).count(), 3);
    assert_eq!(session.free_count(Stage::Map, Speed::Parked), 4);
    let mut bed = bed;
    assert_eq!(started(&bed.submit("batch", Stage::Map, 9)).len(), 3);
    assert_eq!(bed.driver.session().open_node_after(None, true), None);
}

#[derive(Clone, Debug)]
enum Step {
    Submit(bool, usize),
    Begin(usize),
    Answer(usize, bool),
    End(usize, bool),
    Lose(usize),
    Join(usize, usize),
    Recut(usize, usize, usize),
    Leave(usize),
    Reload,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<bool>(), 1..5_usize).prop_map(|(batch, tasks)| Step::Submit(batch, tasks)),
        12 => (0..97_usize).prop_map(Step::Begin),
        6 => (0..97_usize, prop::bool::weighted(0.8)).prop_map(|(at, ok)| Step::Answer(at, ok)),
        4 => (0..97_usize, prop::bool::weighted(0.9)).prop_map(|(at, ok)| Step::End(at, ok)),
        1 => (0..9_usize).prop_map(Step::Lose),
        1 => (1..4_usize, 0..4_usize).prop_map(|(fast, slow)| Step::Join(fast, slow)),
        1 => (0..9_usize, 0..4_usize, 0..4_usize).prop_map(|(at, fast, slow)| Step::Recut(at, fast, slow)),
        1 => (0..9_usize).prop_map(Step::Leave),
        1 => Just(Step::Reload),
        3 => (1..15_u64).prop_map(Step::Pass),
    ]
}

/// A session, its launchers, and what they were ordered and have not answered.
struct Play {
    bed: Bed,
    unanswered: Vec<AttemptIx>,
    containers: Vec<ContainerIx>,
    joined: u32,
    stopped: usize,
}

impl Play {
    fn new(policy: &str) -> Self {
        let mut play = Self {
            bed: Bed::new(policy, 0, 0),
            unanswered: Vec::new(),
            containers: Vec::new(),
            joined: 0,
            stopped: 0,
        };
        play.join(2, 2);
        play.join(1, 2);
        play
    }

    fn join(&mut self, fast: usize, slow: usize) {
        let (node, more) = (self.joined, 3);
        self.containers.push(ContainerIx(node));
        self.joined += 1;
        let decisions = join(&mut self.bed, node, slots(fast, slow), more);
        self.heard(decisions);
    }

    fn tell(&mut self, event: &Event) {
        let decisions = self.bed.tell(event);
        self.heard(decisions);
    }

    fn heard(&mut self, decisions: Vec<Decision>) {
        let session = self.bed.driver.session();
        let mut stops = Vec::new();
        for decision in decisions {
            match decision {
                Decision::Move { attempt, to } => {
                    let to = session.slot(to).unwrap();
                    self.stopped += usize::from(!to.starts_tasks());
                    self.unanswered.push(attempt);
                }
                Decision::Swap { one, .. } => self.unanswered.push(one),
                Decision::Stop { attempt, .. } => stops.push(attempt),
                _ => {}
            }
        }
        self.holds();
        for attempt in stops {
            self.end(attempt, AttemptOutcome::Killed);
        }
    }

    fn end(&mut self, attempt: AttemptIx, how: AttemptOutcome) {
        self.tell(&Event::Ended {
            attempt,
            how,
            phases: Vec::new(),
        });
    }

    /// No slot has two, each is known to have whom it has, and only moves lead to places.
    fn holds(&self) {
        let session = self.bed.driver.session();
        let mut has: BTreeMap<SlotIx, AttemptIx> = BTreeMap::new();
        for (ix, attempt) in session.attempts() {
            let there = session.slot(attempt.slot).unwrap();
            assert!(there.taken != SlotUse::Free, "{attempt:?} {there:?}");
            assert!(there.starts_tasks() || attempt.began.is_some());
            assert_eq!(has.insert(attempt.slot, ix), None);
        }
        for (ix, slot) in session.slots() {
            if let SlotUse::Busy(attempt) | SlotUse::Moving(attempt) = slot.taken {
                assert_eq!(has.get(&ix), Some(&attempt), "{slot:?}");
            }
            let listed = session.free_for(Stage::Map, slot.speed);
            let listed = listed.filter(|(_, free)| *free == ix).count();
            let free = slot.taken == SlotUse::Free && !session.is_leaving(slot.container);
            assert_eq!(listed, usize::from(free && !slot.stages.is_empty()));
        }
    }

    fn attempts(&self, are: impl Fn(&Slot, bool) -> bool) -> Vec<AttemptIx> {
        let session = self.bed.driver.session();
        let each = session.attempts().filter(|(_, attempt)| {
            let slot = session.slot(attempt.slot).unwrap();
            are(slot, attempt.began.is_some())
        });
        each.map(|(ix, _)| ix).collect()
    }

    fn container(&self, at: usize) -> Option<ContainerIx> {
        self.containers
            .get(at % self.containers.len().max(1))
            .copied()
    }

    fn answer(&mut self, at: usize, ok: bool) {
        if self.unanswered.is_empty() {
            return;
        }
        let attempt = self.unanswered.remove(at % self.unanswered.len());
        let session = self.bed.driver.session();
        if session.attempt(attempt).is_some_and(|of| of.to.is_some()) {
            self.tell(&Event::Moved { attempt, ok });
        }
    }

    fn step(&mut self, step: &Step) {
        let pick = |all: Vec<AttemptIx>, at: usize| (!all.is_empty()).then(|| all[at % all.len()]);
        match step {
            Step::Submit(batch, tasks) => {
                let queue = if *batch { "batch" } else { "interactive" };
                let decisions = self.bed.submit(queue, Stage::Map, *tasks);
                self.heard(decisions);
            }
            Step::Begin(at) => {
                if let Some(attempt) = pick(self.attempts(|_, began| !began), *at) {
                    self.tell(&Event::Began(attempt));
                }
            }
            Step::Answer(at, ok) => self.answer(*at, *ok),
            Step::End(at, ok) => {
                let run = self.attempts(|slot, began| began && slot.starts_tasks());
                if let Some(attempt) = pick(run, *at) {
                    let how = if *ok {
                        AttemptOutcome::Done
                    } else {
                        AttemptOutcome::Failed
                    };
                    self.end(attempt, how);
                }
            }
            Step::Lose(at) => {
                if self.containers.len() > 1 {
                    let container = self.containers.remove(at % self.containers.len());
                    self.tell(&Event::Lost(container));
                }
            }
            Step::Join(fast, slow) => self.join(*fast, *slow),
            Step::Recut(at, fast, slow) => {
                let now = match fast + slow {
                    0 => of(Speed::Plain, 2),
                    _ => slots(*fast, *slow),
                };
                if let Some(container) = self.container(*at) {
                    self.tell(&Event::Slots { container, now });
                }
            }
            Step::Leave(at) => {
                if let Some(container) = self.container(*at) {
                    let by = self.bed.now.plus(Nanos::from_secs(60));
                    let containers = vec![container];
                    self.tell(&Event::Preempt { containers, by });
                }
            }
            Step::Reload => self.bed.driver = reloaded(&self.bed.driver),
            Step::Pass(seconds) => {
                let decisions = self.bed.wait(Nanos::from_secs(*seconds));
                self.heard(decisions);
            }
        }
    }

    /// All that runs ends, as often as it takes. What is stopped in a container that is wanted back ends with that.
    fn drain(&mut self) {
        self.join(1, 1);
        let leaving: Vec<ContainerIx> = {
            let session = self.bed.driver.session();
            let all = self.containers.iter().copied();
            all.filter(|container| session.is_leaving(*container))
                .collect()
        };
        for container in leaving {
            self.containers.retain(|other| *other != container);
            self.tell(&Event::Lost(container));
        }
        for _ in 0..400 {
            while !self.unanswered.is_empty() {
                self.answer(0, true);
            }
            for attempt in self.attempts(|_, began| !began) {
                self.tell(&Event::Began(attempt));
            }
            for attempt in self.attempts(|slot, began| began && slot.starts_tasks()) {
                if self.bed.driver.session().attempt(attempt).is_some() {
                    self.end(attempt, AttemptOutcome::Done);
                }
            }
            let decisions = self.bed.wait(Nanos::from_secs(11));
            self.heard(decisions);
        }
        let session = self.bed.driver.session();
        assert_eq!(
            session.attempts().count(),
            0,
            "{:?}",
            session.attempts().next()
        );
        assert!(!session.is_pending(Stage::Map));
    }
}

fn stops_of(policy: &str, steps: &[Step]) -> usize {
    let mut play = Play::new(policy);
    steps.iter().for_each(|step| play.step(step));
    play.drain();
    play.stopped
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_stopped_is_never_forgotten(
        steps in prop::collection::vec(step(), 1..120),
        policy in prop::sample::select(vec![
            "dyscale:park=1,move-least=0",
            "dyscale:park=0.25,lift-batch=always,move-least=0",
            "dyscale:park=2+delay:node=1s,rack=1s+speculate+avoid+gang",
            "dyscale:park=1,move-least=0+priority:preempt=true+gang",
        ]),
    ) {
        stops_of(policy, &steps);
    }
}

#[test]
fn random_sessions_do_stop_attempts() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let all = prop::collection::vec(step(), 100..200);
    let stops = (0..20).map(|_| {
        let steps = all.new_tree(&mut runner).unwrap().current();
        stops_of("dyscale:park=1,move-least=0", &steps)
    });
    let stops: usize = stops.sum();
    assert!(stops > 10, "{stops}");
}
