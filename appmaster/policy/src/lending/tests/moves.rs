//! Attempts that change slots, and what their launchers say of it.

use std::collections::VecDeque;

use super::*;
use crate::schedule::Speed;

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
    let mut lending = lending("dyscale+gang");
    lending.joined(NOW, offer(1));
    lending.joined(NOW, offer(2));
    assert_eq!(gangs(lending.wanted(NOW, 1, request(6))).len(), 1);
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

/// An interactive task on the slow slot and a batch task on the fast one, which change places: the words, and both.
fn swapping() -> (Lending, AttemptIx, AttemptIx) {
    let swap = Decision::Swap {
        one: AttemptIx(0),
        other: AttemptIx(1),
    };
    let also = Also(named("fifo+gang").unwrap(), vec![swap]);
    let mut lending = Lending::new(Box::new(also), ResourceTypes::default());
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

#[test]
fn where_one_could_not_the_other_is_ordered_back() {
    for (first_ok, second_ok) in [(true, false), (false, true)] {
        let (mut lending, one, other) = swapping();
        assert_eq!(lending.moved(NOW, one, first_ok), []);
        let words = lending.moved(NOW, other, second_ok);
        let (stuck, back) = if first_ok { (other, one) } else { (one, other) };
        let (_, moves) = said(&words[..1]);
        assert_eq!(
            (moves[0].0, SlotIx(moves[0].1)),
            (back, slot(&lending, back))
        );
        assert!(
            lending
                .driver
                .session()
                .attempt(stuck)
                .unwrap()
                .stuck
                .is_some()
        );
        // Its answer settles nothing; it still may be ordered elsewhere, and be heard of that.
        assert_eq!(lending.ordered_back.len(), 1);
        lending.moved(NOW, back, true);
        assert!(lending.ordered_back.is_empty());
    }
}

#[test]
fn one_that_was_to_change_places_with_one_that_ends_goes_back() {
    for has_answered in [false, true] {
        let (mut lending, one, other) = swapping();
        if has_answered {
            assert_eq!(lending.moved(NOW, other, true), []);
        }
        let words = lending.ended(NOW, one, AttemptOutcome::Done);
        let (_, moves) = said(&words);
        assert_eq!(moves, [(other, 1, vec![1])]);
        let answers = if has_answered { 1 } else { 2 };
        for _ in 0..answers {
            assert_eq!(lending.ordered_back.len(), 1);
            assert_eq!(lending.moved(NOW, other, true), []);
        }
        assert!(lending.ordered_back.is_empty() && lending.swaps.is_empty());
        assert_eq!(slot(&lending, other), SlotIx(1));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Submit { batch: bool, tasks: u32 },
    End(usize),
    Answer(bool),
    Lose(u32),
    Leave(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (any::<bool>(), 1..5_u32).prop_map(|(batch, tasks)| Step::Submit { batch, tasks }),
        4 => any::<usize>().prop_map(Step::End),
        6 => prop::bool::weighted(0.8).prop_map(Step::Answer),
        1 => (0..4_u32).prop_map(Step::Lose),
        1 => (0..20_u32).prop_map(Step::Leave),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    /// Launchers carry out orders in turn and answer each. Whatever ends meanwhile: when all answers have come, each
    /// attempt is where the table has it, no two are on one slot, and none is on its way.
    #[test]
    fn the_table_says_where_attempts_are(steps in steps(), policy in prop::sample::select(vec![
        "dyscale:move-least=0+gang", "dyscale:move-least=0,lift-batch=always+gang",
    ])) {
        let mut lending = lending(policy);
        let (mut jobs, mut joined, mut now) = (0, 2, 0);
        for number in 1..=joined {
            lending.joined(NOW, cut(number, 2));
        }
        // Which slot each attempt is bound to, by its launcher's book; orders that are not carried out yet.
        let mut is_at: BTreeMap<AttemptIx, (ContainerId, u32)> = BTreeMap::new();
        let mut orders: VecDeque<TaskMove> = VecDeque::new();
        let all_answered = std::iter::repeat_n(Step::Answer(true), 200);
        for step in steps.into_iter().chain(all_answered) {
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
                    let Some(attempt) = is_at.keys().nth(which % is_at.len().max(1)).copied() else { continue };
                    is_at.remove(&attempt);
                    lending.ended(at, attempt, AttemptOutcome::Done)
                }
                Step::Answer(ok) => {
                    let Some(order) = orders.pop_front() else { continue };
                    // Where an attempt has just been it can be again.
                    let ok = ok || lending.ordered_back.contains_key(&order.attempt);
                    if let Some(place) = is_at.get_mut(&order.attempt).filter(|_| ok) {
                        *place = (order.container, order.slot);
                    }
                    let ok = ok && is_at.contains_key(&order.attempt);
                    lending.moved(at, order.attempt, ok)
                }
                Step::Lose(which) => {
                    let lost = id(which);
                    is_at.retain(|_, (container, _)| *container != lost);
                    orders.retain(|order| order.container != lost);
                    let mut words = lending.lost(at, &lost);
                    joined += 1;
                    words.extend(lending.joined(at, cut(joined, 2)));
                    words
                }
                Step::Leave(job) => {
                    // Its processes are gone by then.
                    let gone: Vec<AttemptIx> = lending.jobs.get(&job).into_iter()
                        .flat_map(|of| of.attempts.iter().copied()).collect();
                    is_at.retain(|attempt, _| !gone.contains(attempt));
                    lending.returned(at, job)
                }
            };
            for word in words {
                match word {
                    Word::Start(start) => {
                        lending.began(at, start.attempt);
                        is_at.insert(start.attempt, (start.container, start.slot));
                    }
                    Word::Move(order) => orders.push_back(order),
                    other => panic!("{other:?}"),
                }
            }
            let refused = lending.refused();
            prop_assert!(refused.is_empty(), "{:?}", refused);
        }
        prop_assert!(orders.is_empty());
        let session = lending.driver.session();
        let mut taken = BTreeSet::new();
        for (ix, attempt) in session.attempts() {
            prop_assert!(attempt.to.is_none() && attempt.swaps.is_none());
            let slot = session.slot(attempt.slot).unwrap();
            let container = lending.offers[&slot.container].container.clone();
            let place = lending.place_of(attempt.slot).unwrap();
            prop_assert_eq!(is_at.get(&ix), Some(&(container, place)), "attempt {}", ix);
            prop_assert!(taken.insert(attempt.slot));
        }
        prop_assert_eq!(is_at.len(), taken.len());
        prop_assert!(lending.swaps.is_empty() && lending.ordered_back.is_empty());
        let reserved = session.slots().filter(|(_, slot)| !matches!(slot.taken, SlotUse::Free | SlotUse::Busy(_)));
        prop_assert_eq!(reserved.count(), 0);
    }
}
