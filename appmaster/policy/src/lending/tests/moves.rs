//! Attempts that change slots, and what their launchers say of it.

use std::collections::VecDeque;

use super::*;
use crate::schedule::{Speed, Why};

/// A fast slot and `slow` slow ones, for maps, with memory for all.
fn cut(number: u32, slow: u32) -> Offer {
    let of = |speed, cpu| OfferedSlot {
        stages: vec![Stage::Map],
        speed,
        cpus: vec![cpu],
    };
    let slow = (0..slow).map(|_| of(Speed::Slow, 1));
    Offer {
        slots: std::iter::once(of(Speed::Fast, 0)).chain(slow).collect(),
        pool: Resources::new(1024, 1).times(8),
        ..offer(number, 0)
    }
}

fn of_queue(queue: &str) -> SlotRequest {
    SlotRequest {
        queue: queue.to_owned(),
        ..tasks()
    }
}

/// Attempts that start, with their cores.
type Starts = Vec<(AttemptIx, Vec<u32>)>;
/// Attempts that move, with their slots and cores.
type Moves = Vec<(AttemptIx, u32, Vec<u32>)>;

/// What was said, and nothing else.
fn said(words: &[Word]) -> (Starts, Moves) {
    let (mut starts, mut moves) = (Vec::new(), Vec::new());
    for word in words {
        match word {
            Word::Start(start) => starts.push((start.attempt, start.cpus.clone())),
            Word::Move(moved) => moves.push((moved.attempt, moved.slot, moved.cpus.clone())),
            other => panic!("{other:?}"),
        }
    }
    (starts, moves)
}

#[test]
fn a_task_starts_on_the_cores_of_its_slot() {
    let mut lending = lending("dyscale-basic+gang");
    lending.joined(NOW, cut(1, 1));
    lending.wanted(NOW, 1, of_queue("batch"));
    lending.wanted(NOW, 2, of_queue("interactive"));
    let (batch, _) = said(&lending.runnable(NOW, 1, Stage::Map, &[input("n1")]));
    assert_eq!(batch, [(AttemptIx(0), vec![1])]);
    let (interactive, _) = said(&lending.runnable(NOW, 2, Stage::Map, &[input("n1")]));
    assert_eq!(interactive, [(AttemptIx(1), vec![0])]);
}

#[test]
fn ranks_have_one_speed_unless_there_are_too_few_slots_of_each() {
    let of = |speed, cpu| OfferedSlot {
        stages: vec![Stage::Gang],
        speed,
        cpus: vec![cpu],
    };
    let offer = |number| Offer {
        slots: vec![of(Speed::Fast, 0), of(Speed::Slow, 1), of(Speed::Slow, 1)],
        pool: Resources::new(1024, 1).times(3),
        ..offer(number, 0)
    };
    let speeds = |lending: &Lending| {
        let session = lending.driver.session();
        let taken = session
            .slots()
            .filter(|(_, slot)| slot.taken != SlotUse::Free);
        taken.map(|(_, slot)| slot.speed).collect::<Vec<Speed>>()
    };
    for (ranks, expected) in [
        (2, vec![Speed::Fast; 2]),
        (4, vec![Speed::Slow; 4]),
        (3, vec![Speed::Slow; 3]),
    ] {
        let mut lending = lending("dyscale+gang");
        lending.joined(NOW, offer(1));
        lending.joined(NOW, offer(2));
        assert_eq!(gangs(lending.wanted(NOW, 1, request(ranks))).len(), 1);
        assert_eq!(speeds(&lending), expected, "{ranks}");
    }
    let both = || {
        let mut lending = lending("dyscale+gang");
        lending.joined(NOW, offer(1));
        lending.joined(NOW, offer(2));
        lending
    };
    assert_eq!(gangs(both().wanted(NOW, 1, request(6))).len(), 1);
    // Two fast ones and a slow one are left.
    let mut lending = both();
    lending.wanted(NOW, 1, request(3));
    assert_eq!(gangs(lending.wanted(NOW, 2, request(3))), []);
    let any = |ranks| SlotRequest {
        any_speed: true,
        ..request(ranks)
    };
    let mut lending = both();
    lending.wanted(NOW, 1, request(3));
    let mixed = gangs(lending.wanted(NOW, 2, any(3)));
    assert_eq!(mixed[0].speeds, [(Speed::Fast, 2), (Speed::Slow, 1)].into());
    let cores: Vec<u32> = mixed[0].cores.values().flatten().copied().collect();
    assert_eq!(cores, [0, 0, 1]);
    // Where enough of one are free, it has these.
    let of_one = gangs(both().wanted(NOW, 1, any(2)));
    assert_eq!(of_one[0].speeds, [(Speed::Fast, 2)].into());
}

/// A batch task on the fast slot, the slow one free, and an interactive task that waits.
fn returning() -> (Lending, AttemptIx) {
    let mut lending = lending("dyscale:move-least=0+gang");
    lending.joined(NOW, cut(1, 1));
    lending.wanted(NOW, 1, of_queue("batch"));
    let inputs = ["n1", "n1"].map(input);
    let (starts, _) = said(&lending.runnable(NOW, 1, Stage::Map, &inputs));
    let on = |cpu: u32| {
        let mut found = starts.iter().filter(|(_, cpus)| *cpus == [cpu]);
        found.next().unwrap().0
    };
    for (attempt, _) in &starts {
        lending.began(NOW, *attempt);
    }
    assert_eq!(lending.ended(NOW, on(1), AttemptOutcome::Done), []);
    lending.wanted(NOW, 2, of_queue("interactive"));
    let (none, moves) = said(&lending.runnable(NOW, 2, Stage::Map, &[input("n1")]));
    assert_eq!((none, moves), (vec![], vec![(on(0), 1, vec![1])]));
    (lending, on(0))
}

#[test]
fn a_slot_is_free_once_the_launcher_says_that_its_attempt_is_elsewhere() {
    let (mut lending, batch) = returning();
    let (starts, _) = said(&lending.moved(NOW, batch, true));
    assert_eq!(starts, [(AttemptIx(2), vec![0])]);
    // Said twice, it is nothing new.
    assert_eq!(lending.moved(NOW, batch, true), []);
    assert_eq!(lending.refused(), Vec::<String>::new());
}

#[test]
fn where_the_launcher_could_not_the_attempt_stays_and_the_slot_is_free() {
    let (mut lending, batch) = returning();
    let (starts, moves) = said(&lending.moved(NOW, batch, false));
    assert_eq!((starts, moves), (vec![(AttemptIx(2), vec![1])], vec![]));
}

#[test]
fn of_an_attempt_that_ends_on_its_way_both_slots_are_free_once() {
    let (mut lending, batch) = returning();
    let (starts, _) = said(&lending.ended(NOW, batch, AttemptOutcome::Done));
    assert_eq!(starts, [(AttemptIx(2), vec![0])]);
    assert_eq!(lending.moved(NOW, batch, true), []);
    lending.wanted(NOW, 3, of_queue("batch"));
    let (starts, _) = said(&lending.runnable(NOW, 3, Stage::Map, &["n1", "n1"].map(input)));
    assert_eq!(starts, [(AttemptIx(3), vec![1])]);
}

/// Decides what it was made with when the first attempt runs, and otherwise what the policy inside does.
#[derive(Debug)]
struct Once(Box<dyn Scheduler>, Option<Decision>);

impl Scheduler for Once {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.0)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.0)
    }

    fn next(
        &mut self,
        now: Nanos,
        session: &crate::schedule::Session,
        node: Option<NodeIx>,
    ) -> Option<Decision> {
        let first = session.attempt(AttemptIx(0));
        let is_due = node.is_none() && first.is_some_and(|first| first.began.is_some());
        let own = is_due.then(|| self.1.take()).flatten();
        own.or_else(|| self.0.next(now, session, node))
    }
}

/// An interactive task on the slow slot and a batch task on the fast one, which change places: the words, and both.
fn swapping() -> (Lending, AttemptIx, AttemptIx) {
    let swap = Decision::Swap {
        one: AttemptIx(0),
        other: AttemptIx(1),
    };
    let once = Once(named("fifo+gang").unwrap(), Some(swap));
    let mut lending = Lending::new(Box::new(once), ResourceTypes::default());
    lending.joined(NOW, cut(1, 1));
    lending.wanted(NOW, 1, of_queue("batch"));
    let (starts, _) = said(&lending.runnable(NOW, 1, Stage::Map, &["n1", "n1"].map(input)));
    assert_eq!(starts, [(AttemptIx(0), vec![0]), (AttemptIx(1), vec![1])]);
    lending.began(NOW, AttemptIx(1));
    lending.began(NOW, AttemptIx(0));
    let (_, moves) = said(&lending.tick(NOW));
    assert_eq!(
        moves,
        [(AttemptIx(0), 1, vec![1]), (AttemptIx(1), 0, vec![0])]
    );
    (lending, AttemptIx(0), AttemptIx(1))
}

/// Where the table has an attempt.
fn slot(lending: &Lending, attempt: AttemptIx) -> SlotIx {
    lending.driver.session().attempt(attempt).unwrap().slot
}

#[test]
fn two_change_places_when_both_have_come_there() {
    let (mut lending, one, other) = swapping();
    assert_eq!(lending.moved(NOW, one, true), []);
    assert_eq!(slot(&lending, one), SlotIx(0));
    lending.moved(NOW, other, true);
    assert_eq!(
        (slot(&lending, one), slot(&lending, other)),
        (SlotIx(1), SlotIx(0))
    );
}

/// One that has come to the other's slot, which could not leave it, is ordered back until it is there.
#[test]
fn where_one_could_not_the_other_is_ordered_back() {
    for (first_ok, tries) in [(true, 1), (false, 1), (true, 4)] {
        let (mut lending, one, other) = swapping();
        assert_eq!(lending.moved(NOW, one, first_ok), []);
        let mut words = lending.moved(NOW, other, !first_ok);
        let (stuck, back) = if first_ok { (other, one) } else { (one, other) };
        for number in 1..=tries {
            let (_, moves) = said(&words[..1]);
            assert_eq!(
                (moves[0].0, SlotIx(moves[0].1)),
                (back, slot(&lending, back))
            );
            // No policy takes it for settled meanwhile.
            let known = lending.driver.session().attempt(back).unwrap();
            assert_eq!(known.swaps, Some(stuck));
            lending.moved(NOW, back, number == tries);
            if let Some(at) = lending.bindings.wakes_at() {
                assert_eq!(lending.wakes_at(), Some(at));
                assert_eq!(lending.tick(Millis(at.0 - 1)), []);
                words = lending.tick(at);
            }
        }
        let session = lending.driver.session();
        assert!(session.attempt(stuck).unwrap().stuck.is_some());
        assert_eq!(session.attempt(back).unwrap().swaps, None);
        assert!(lending.swaps.is_empty() && lending.bindings.are_at_rest());
    }
}

#[test]
fn one_that_cannot_be_brought_back_is_stopped() {
    let (mut lending, one, other) = swapping();
    lending.moved(NOW, one, true);
    lending.moved(NOW, other, false);
    let mut words = lending.moved(NOW, one, false);
    while let Some(at) = lending.wakes_at() {
        assert_eq!(said(&words[..]), (vec![], vec![]));
        assert_eq!(said(&lending.tick(at)[..1]).1[0].0, one);
        words = lending.moved(at, one, false);
    }
    let why = Why::OffItsCores;
    let stop = Word::Stop {
        job: 1,
        attempt: one,
        why,
    };
    assert_eq!(words, [stop]);
    assert!(lending.driver.session().attempt(one).unwrap().stopping);
    // Its task runs again, and where the table says.
    let (starts, _) = said(&lending.ended(NOW, one, AttemptOutcome::Killed));
    assert_eq!(starts, [(AttemptIx(2), vec![0])]);
}

/// Of two that change places one ends: where the other is its launcher has said, or says.
#[test]
fn one_that_was_to_change_places_with_one_that_ends_is_where_its_launcher_says() {
    for ok in [true, false] {
        for has_answered in [false, true] {
            let (mut lending, one, other) = swapping();
            if has_answered {
                assert_eq!(lending.moved(NOW, other, ok), []);
            }
            assert_eq!(lending.ended(NOW, one, AttemptOutcome::Done), []);
            if !has_answered {
                assert_eq!(lending.moved(NOW, other, ok), []);
            }
            let expected = if ok { SlotIx(0) } else { SlotIx(1) };
            assert_eq!(slot(&lending, other), expected);
            assert!(lending.swaps.is_empty() && lending.bindings.are_at_rest());
        }
    }
}

#[test]
fn one_that_is_ordered_back_stays_where_the_other_was_that_has_ended() {
    for (ok, expected) in [(true, SlotIx(0)), (false, SlotIx(1))] {
        let (mut lending, one, other) = swapping();
        lending.moved(NOW, one, true);
        lending.moved(NOW, other, false);
        assert_eq!(lending.ended(NOW, other, AttemptOutcome::Done), []);
        assert_eq!(lending.moved(NOW, one, ok), []);
        assert_eq!(slot(&lending, one), expected);
        assert!(lending.swaps.is_empty() && lending.bindings.are_at_rest());
    }
}

#[test]
fn where_a_slot_has_other_cores_its_attempt_is_moved_to_them() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, cut(1, 1));
    lending.wanted(NOW, 1, of_queue("batch"));
    lending.runnable(NOW, 1, Stage::Map, &[input("n1")]);
    let slots = |cpus: [u32; 2]| {
        let mut slots = cut(1, 1).slots;
        for (slot, cpu) in slots.iter_mut().zip(cpus) {
            slot.cpus = vec![cpu];
        }
        slots
    };
    let words = lending.elements(NOW, &id(1), BTreeMap::new(), slots([2, 1]));
    assert_eq!(said(&words).1, [(AttemptIx(0), 0, vec![2])]);
    // Cut again before that is answered: it is ordered on when it is there.
    assert_eq!(
        lending.elements(NOW, &id(1), BTreeMap::new(), slots([3, 1])),
        []
    );
    let words = lending.moved(NOW, AttemptIx(0), true);
    assert_eq!(said(&words).1, [(AttemptIx(0), 0, vec![3])]);
    assert_eq!(lending.moved(NOW, AttemptIx(0), true), []);
    assert!(lending.bindings.are_at_rest());
}

#[derive(Clone, Debug)]
enum Step {
    Submit { batch: bool, tasks: u32 },
    End(usize),
    CarryOut(bool),
    Cut { container: u32, slow: u32, cpu: u32 },
    Wait(u64),
    Lose(u32),
    Leave(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (any::<bool>(), 1..5_u32).prop_map(|(batch, tasks)| Step::Submit { batch, tasks }),
        4 => any::<usize>().prop_map(Step::End),
        10 => prop::bool::weighted(0.7).prop_map(Step::CarryOut),
        1 => (0..4_u32, 1..4_u32, 0..3_u32).prop_map(|(container, slow, cpu)| Step::Cut { container, slow, cpu }),
        1 => (0..3_000_u64).prop_map(Step::Wait),
        1 => (0..4_u32).prop_map(Step::Lose),
        1 => (0..20_u32).prop_map(Step::Leave),
    ];
    prop::collection::vec(step, 1..80)
}

/// The attempts of launchers, each in a slot, on cores; and what they are ordered and have not done.
#[derive(Default)]
struct Launchers {
    at: BTreeMap<AttemptIx, (ContainerId, u32, Vec<u32>)>,
    orders: VecDeque<Word>,
}

impl Launchers {
    /// The next order is carried out, as far as that can be refused if it is `ok`.
    fn next(&mut self, lending: &mut Lending, now: Millis, ok: bool) -> Option<Vec<Word>> {
        Some(match self.orders.pop_front()? {
            Word::Start(start) => {
                if lending.is_under_way(start.attempt) {
                    let place = (start.container, start.slot);
                    let mut others = self.at.values();
                    assert!(
                        others
                            .all(|(container, slot, _)| (container, *slot) != (&place.0, place.1))
                    );
                    self.at
                        .insert(start.attempt, (place.0, place.1, start.cpus));
                    lending.began(now, start.attempt);
                }
                Vec::new()
            }
            Word::Move(order) => {
                let place = self.at.get_mut(&order.attempt).filter(|_| ok);
                let is_there = place.is_some();
                if let Some(place) = place {
                    *place = (order.container, order.slot, order.cpus);
                }
                lending.moved(now, order.attempt, is_there)
            }
            Word::Stop { attempt, .. } => {
                self.at.remove(&attempt);
                lending.ended(now, attempt, AttemptOutcome::Killed)
            }
            other @ Word::Lent(_) => panic!("{other:?}"),
        })
    }
}

proptest! {
    /// Launchers carry out orders in turn, or refuse, and answer each. Whatever ends meanwhile, and however slots are cut
    /// anew: when all answers have come, each attempt is where the table has it, on its slot's cores, no two are on one
    /// slot, and none is on its way. Those that no launcher can bring home are stopped.
    #[test]
    fn the_table_says_where_attempts_are(
        steps in steps(),
        policy in prop::sample::select(vec!["dyscale:move-least=0+gang", "dyscale:move-least=0,lift-batch=always+gang"]),
        at_last in any::<bool>(),
    ) {
        let mut lending = lending(policy);
        let (mut jobs, mut joined, mut now) = (0, 2, 0);
        for number in 1..=joined {
            lending.joined(NOW, cut(number, 2));
        }
        let mut launchers = Launchers::default();
        let rest = (0..400).map(|step| if step % 2 == 0 { Step::CarryOut(at_last) } else { Step::Wait(2_000) });
        let settles = std::iter::repeat_n(Step::CarryOut(true), 200);
        for step in steps.into_iter().chain(rest).chain(settles) {
            now += 100;
            let at = Millis(now);
            let words = match step {
                Step::Submit { batch, tasks } => {
                    jobs += 1;
                    lending.wanted(at, jobs, of_queue(if batch { "batch" } else { "interactive" }));
                    let inputs: Vec<TaskInput> = (0..tasks).map(|_| input("n1")).collect();
                    lending.runnable(at, jobs, Stage::Map, &inputs)
                }
                Step::End(which) => {
                    let all = &mut launchers.at;
                    let Some(attempt) = all.keys().nth(which % all.len().max(1)).copied() else { continue };
                    all.remove(&attempt);
                    lending.ended(at, attempt, AttemptOutcome::Done)
                }
                Step::CarryOut(ok) => {
                    let Some(words) = launchers.next(&mut lending, at, ok) else { continue };
                    words
                }
                Step::Cut { container, slow, cpu } => {
                    let mut slots = cut(container, slow).slots;
                    slots.iter_mut().for_each(|slot| slot.cpus.push(10 + cpu));
                    lending.elements(at, &id(container), BTreeMap::new(), slots)
                }
                Step::Wait(more) => {
                    now += more;
                    lending.tick(Millis(now))
                }
                Step::Lose(which) => {
                    let lost = id(which);
                    launchers.at.retain(|_, (container, ..)| *container != lost);
                    launchers.orders.retain(|order| match order {
                        Word::Move(order) => order.container != lost,
                        Word::Start(order) => order.container != lost,
                        Word::Stop { .. } | Word::Lent(_) => true,
                    });
                    let mut words = lending.lost(at, &lost);
                    joined += 1;
                    words.extend(lending.joined(at, cut(joined, 2)));
                    words
                }
                Step::Leave(job) => {
                    // Its processes are gone by then.
                    let gone: Vec<AttemptIx> = lending.jobs.get(&job).into_iter()
                        .flat_map(|of| of.attempts.iter().copied()).collect();
                    launchers.at.retain(|attempt, _| !gone.contains(attempt));
                    lending.returned(at, job)
                }
            };
            launchers.orders.extend(words);
            let refused = lending.refused();
            prop_assert!(refused.is_empty(), "{:?}", refused);
        }
        prop_assert!(launchers.orders.is_empty(), "{:?}", launchers.orders);
        let attempts: Vec<(AttemptIx, SlotIx)> =
            lending.driver.session().attempts().map(|(ix, attempt)| (ix, attempt.slot)).collect();
        let mut taken = BTreeSet::new();
        for (ix, slot) in attempts {
            let place = lending.place_of(slot).unwrap();
            let session = lending.driver.session();
            let attempt = session.attempt(ix).unwrap();
            prop_assert!(attempt.to.is_none() && attempt.swaps.is_none());
            let slot = session.slot(slot).unwrap();
            let container = lending.offers[&slot.container].container.clone();
            let expected = (container, place, slot.cpus.clone());
            prop_assert_eq!(launchers.at.get(&ix), Some(&expected), "attempt {}", ix);
            prop_assert!(taken.insert(attempt.slot));
        }
        prop_assert_eq!(launchers.at.len(), taken.len());
        prop_assert!(lending.swaps.is_empty() && lending.bindings.are_at_rest());
        let session = lending.driver.session();
        let reserved = session.slots().filter(|(_, slot)| !matches!(slot.taken, SlotUse::Free | SlotUse::Busy(_)));
        prop_assert_eq!(reserved.count(), 0);
    }
}

#[test]
fn one_that_is_stopped_is_ordered_on_before_its_slot_is_known_to_be_free_for_others() {
    let mut lending = lending("dyscale:move-least=0,park=1+gang");
    lending.joined(NOW, cut(1, 1));
    lending.wanted(NOW, 1, of_queue("batch"));
    let inputs = ["n1", "n1", "n1"].map(input);
    let (starts, _) = said(&lending.runnable(NOW, 1, Stage::Map, &inputs));
    for (attempt, _) in &starts {
        lending.began(NOW, *attempt);
    }
    let on = |cpu: u32| {
        let mut found = starts.iter().filter(|(_, cpus)| *cpus == [cpu]);
        found.next().unwrap().0
    };
    let order = |words: Vec<Word>| match &words[..] {
        [Word::Move(of)] => (of.attempt, of.slot, of.cpus.clone(), of.parked),
        _ => panic!("{words:?}"),
    };
    lending.wanted(NOW, 2, of_queue("interactive"));
    let words = lending.runnable(NOW, 2, Stage::Map, &[input("n1")]);
    // The third place of the container, which is no slot of its offer.
    assert_eq!(order(words), (on(0), 2, vec![], true));
    let (short, moves) = said(&lending.moved(NOW, on(0), true));
    assert_eq!((short[0].1.clone(), moves.len()), (vec![0], 0), "{short:?}");
    let (offer, lent) = lending.offers().next().unwrap();
    assert_eq!((offer.slots.len(), lent), (2, 2));
    lending.began(NOW, short[0].0);
    // The slow slot is free: the stopped one has it, and not the third task.
    let words = lending.ended(NOW, on(1), AttemptOutcome::Done);
    assert_eq!(order(words), (on(0), 1, vec![1], false));
    assert_eq!(lending.moved(NOW, on(0), true), []);
    let (third, _) = said(&lending.ended(NOW, short[0].0, AttemptOutcome::Done));
    assert_eq!(third.len(), 1);
    // One that ends while it is stopped leaves nothing taken.
    lending.ended(NOW, on(0), AttemptOutcome::Killed);
    assert!(lending.bindings.are_at_rest() && lending.refused().is_empty());
}
