mod idle_slots;
mod limits;
mod long_session;
mod misses;
mod moves;
mod spare;

use proptest::prelude::*;

use super::*;
use crate::NodeId;
use crate::schedule::{JobProfile, Speed, named};
use crate::schedule::{Level, TaskIx};

fn lending(policy: &str) -> Lending {
    Lending::new(named(policy).unwrap(), ResourceTypes::default())
}

fn id(number: u32) -> ContainerId {
    ContainerId(format!("c{number}"))
}

fn no_device(_: &ContainerId, _: &[ElementNeed]) -> String {
    "no device".to_owned()
}

fn offer(number: u32, slots: u32) -> Offer {
    Offer {
        container: id(number),
        node: NodeId(format!("n{number}:1")),
        host: format!("n{number}"),
        rack: "/r".into(),
        slots: OfferedSlot::alike(slots),
        pool: Resources::new(1024, 1).times(slots),
        elements: BTreeMap::new(),
    }
}

fn request(processes: u32) -> SlotRequest {
    SlotRequest {
        wants: Wants::Gang(processes),
        unit: Resources::new(1024, 1),
        user: "ann".into(),
        queue: "default".into(),
        priority: 0,
        deadline: None,
        profile: JobProfile::default(),
        any_speed: false,
    }
}

const NOW: Millis = Millis(0);

/// The gangs that have their slots; nothing else was said.
fn gangs(words: Vec<Word>) -> Vec<Lent> {
    let lent = words.into_iter().map(|word| match word {
        Word::Lent(lent) => lent,
        other => panic!("{other:?}"),
    });
    lent.collect()
}

/// The tasks that are to start, by attempt, stage, task, container and slot; nothing else was said.
fn starts(words: Vec<Word>) -> Vec<(AttemptIx, Stage, u32, ContainerId, u32)> {
    let starts = words.into_iter().map(|word| match word {
        Word::Start(start) => {
            assert_eq!(start.job, 1);
            let TaskStart {
                attempt,
                stage,
                task,
                container,
                slot,
                ..
            } = start;
            (attempt, stage, task.0, container, slot)
        }
        other => panic!("{other:?}"),
    });
    starts.collect()
}

#[test]
fn a_job_has_its_slots_when_the_last_of_them_joins() {
    let mut lending = lending("fifo+gang");
    assert_eq!(lending.joined(NOW, offer(1, 2)), []);
    assert_eq!(lending.wanted(NOW, 7, request(3)), []);
    let waits = lending.waits(7).unwrap();
    assert_eq!((waits.wanted, waits.free, waits.all), (3, 2, 2));
    let lent = gangs(lending.joined(NOW, offer(2, 2)));
    assert_eq!(lent.len(), 1);
    let view = lending.view(&lent[0], Resources::new(1024, 1));
    let rooms: Vec<u64> = view
        .nodes
        .iter()
        .map(|node| node.capability.memory.0)
        .collect();
    assert_eq!((lent[0].job, rooms.iter().sum::<u64>()), (7, 3 * 1024));
    assert_eq!(lending.waits(7), None);
}

#[test]
fn the_next_job_starts_when_one_returns_its_slots() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 4));
    assert_eq!(lending.wanted(NOW, 1, request(3)).len(), 1);
    assert_eq!(lending.wanted(NOW, 2, request(2)), []);
    let waits = lending.waits(2).unwrap();
    assert_eq!(
        (waits.free, &*waits.holders, waits.ahead),
        (1, &[(1, 3)][..], 0)
    );
    assert_eq!(lending.wanted(NOW, 3, request(4)), []);
    assert_eq!(lending.waits(3).unwrap().ahead, 1);
    let lent = gangs(lending.returned(NOW, 1));
    assert_eq!(
        lent,
        [Lent {
            job: 2,
            shares: vec![(id(1), 2)],
            cores: BTreeMap::new(),
            speeds: [(Speed::Plain, 2)].into(),
        }]
    );
    // One that waits may leave too.
    assert_eq!(lending.returned(NOW, 3), []);
    assert_eq!(lending.returned(NOW, 3), []);
    lending.returned(NOW, 2);
    let lent: Vec<u32> = lending.offers().map(|(_, lent)| lent).collect();
    assert_eq!(lent, [0]);
}

/// It has run, or was about to, and a container of it is lost.
#[test]
fn a_job_that_begins_anew_goes_before_those_that_came_after_it() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 1));
    let lent = gangs(lending.wanted(NOW, 1, request(1)));
    assert!(lending.is_whole(&lent[0]));
    for later in [2, 3] {
        assert_eq!(lending.wanted(Millis(5), later, request(1)), []);
    }
    let turn = lending.turn(1).unwrap();
    assert_eq!(lending.lost(Millis(9), &id(1)), []);
    assert!(!lending.is_whole(&lent[0]));
    assert_eq!(lending.returned(Millis(9), 1), []);
    assert_eq!(lending.turn(1), None);
    let again = lending.wanted_in_turn(Millis(9), 4, turn, request(1));
    assert_eq!((again, lending.turn(4)), (Vec::new(), Some(turn)));
    let lent = gangs(lending.joined(Millis(9), offer(2, 1)));
    assert_eq!((lent.len(), lent[0].job), (1, 4));
}

/// One of two containers is lost: what it had in the other is its own again before a later job gets it.
#[test]
fn what_a_job_gives_back_to_begin_anew_goes_to_nobody_behind_it() {
    let mut lending = lending("fifo+gang");
    for number in 1..=3 {
        lending.joined(NOW, offer(number, 1));
    }
    assert_eq!(gangs(lending.wanted(NOW, 1, request(2)))[0].job, 1);
    assert_eq!(lending.wanted(NOW, 2, request(2)), []);
    let turn = lending.turn(1).unwrap();
    assert_eq!(lending.lost(NOW, &id(2)), []);
    assert!(lending.given_back(NOW, 1) && !lending.given_back(NOW, 1));
    let again = gangs(lending.wanted_in_turn(NOW, 3, turn, request(2)));
    assert_eq!((again.len(), again[0].job), (1, 3));
}

#[test]
fn a_job_that_waits_anew_is_ahead_of_those_that_came_after_it() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 1));
    lending.wanted(NOW, 1, request(1));
    for later in [2, 3] {
        assert_eq!(lending.wanted(NOW, later, request(1)), []);
    }
    let turn = lending.turn(1).unwrap();
    assert_eq!(lending.lost(NOW, &id(1)), []);
    assert!(lending.given_back(NOW, 1));
    assert_eq!(lending.wanted_in_turn(NOW, 4, turn, request(1)), []);
    let ahead = [4, 2, 3].map(|job| lending.waits(job).unwrap().ahead);
    assert_eq!(ahead, [0, 1, 2]);
}

/// It is the owner's to say when: what is given back stays nobody's for no longer.
#[test]
fn what_is_given_back_is_lent_at_the_next_tick() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 1));
    assert_eq!(lending.wanted(NOW, 1, request(1)).len(), 1);
    assert_eq!(lending.wanted(NOW, 2, request(1)), []);
    assert!(lending.given_back(NOW, 1));
    assert_eq!(gangs(lending.tick(NOW))[0].job, 2);
}

#[test]
fn whose_a_job_is_goes_by_what_the_policy_shares_out_among() {
    let queue = Some(Owner::Queue("default".into()));
    let user = Some(Owner::Tenant("ann".into()));
    for (policy, owner) in [
        ("capacity+gang", &queue),
        ("fair:by=queue+priority+gang", &queue),
        ("fair", &user),
        ("fair:by=job", &None),
        ("fifo+gang", &None),
    ] {
        assert_eq!(lending(policy).owner_of(&request(1)), *owner, "{policy}");
    }
}

/// Decides what it was made with, where the policy inside has nothing to decide; as often as it is asked.
#[derive(Debug)]
struct Also(Box<dyn Scheduler>, Vec<Decision>);

impl Scheduler for Also {
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
        let own = self.1.first().filter(|_| is_due).cloned();
        self.0.next(now, session, node).or(own)
    }
}

/// What the table of slots would reckon with although it is not so.
#[test]
fn what_nobody_carries_out_is_refused_and_takes_no_slot() {
    let attempt = AttemptIx(0);
    let not_begun = Decision::Swap {
        one: attempt,
        other: AttemptIx(1),
    };
    let elsewhere = Decision::Move {
        attempt,
        // Of another launcher.
        to: SlotIx(4),
    };
    for (decision, why) in [
        (
            not_begun,
            "the attempt does not run, or moves or ends already",
        ),
        (elsewhere, "the slots are of two containers"),
    ] {
        let also = Also(named("fifo+gang").unwrap(), vec![decision]);
        let mut lending = Lending::new(Box::new(also), ResourceTypes::default());
        lending.joined(NOW, offer(1, 3));
        lending.joined(NOW, offer(2, 2));
        lending.wanted(NOW, 1, tasks());
        let inputs = ["n1", "n1"].map(input);
        assert_eq!(lending.runnable(NOW, 1, Stage::Map, &inputs).len(), 2);
        lending.began(NOW, attempt);
        assert_eq!(lending.tick(NOW), []);
        assert_eq!(lending.tick(NOW), []);
        let refused = lending.refused();
        assert_eq!(refused.len(), 2, "{refused:?}");
        assert!(refused[0].ends_with(why), "{refused:?}");
        // What is free is free still, and so is what is given back.
        assert_eq!(lending.wanted(NOW, 2, request(2)).len(), 1);
        assert_eq!(lending.returned(NOW, 1), []);
        assert_eq!(lending.wanted(NOW, 3, request(2)).len(), 1);
    }
}

#[test]
fn nothing_more_is_lent_of_a_container_that_is_wanted_back() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 2));
    lending.joined(NOW, offer(2, 2));
    assert_eq!(lending.wanted(NOW, 1, request(1)).len(), 1);
    assert_eq!(lending.leaving(NOW, &id(1), Millis(15_000)), []);
    assert_eq!(lending.leaving(NOW, &id(9), Millis(15_000)), []);
    // Neither a gang as wide as all, nor one that has room beside what leaves, looks at it.
    assert_eq!(lending.wanted(NOW, 2, request(3)), []);
    let waits = lending.waits(2).unwrap();
    assert_eq!((waits.free, waits.all), (2, 2));
    let lent = gangs(lending.wanted(NOW, 3, request(2)));
    assert_eq!(lent[0].shares, [(id(2), 2)]);
    assert_eq!(lending.lacking(), 3);
    // What it had there it has until it ends, and nobody after it.
    assert_eq!(lending.held(1), 1);
    assert_eq!(lending.returned(NOW, 1), []);
    lending.lost(NOW, &id(1));
    let lent = gangs(lending.joined(NOW, offer(4, 3)));
    assert_eq!((lent[0].job, &lent[0].shares), (2, &vec![(id(4), 3)]));
}

#[test]
fn memory_is_counted_beside_slots() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 4));
    let large = |memory_mib| SlotRequest {
        unit: Resources::new(memory_mib, 1),
        ..request(1)
    };
    assert_eq!(lending.wanted(NOW, 1, large(8192)), []);
    let waits = lending.waits(1).unwrap();
    assert_eq!((waits.free, waits.all), (0, 0));
    assert_eq!(lending.wanted(NOW, 2, large(3072)).len(), 1);
    assert_eq!(lending.wanted(NOW, 3, request(2)), []);
    let waits = lending.waits(3).unwrap();
    assert_eq!((waits.free, waits.all, waits.ahead), (3, 4, 1));
}

#[test]
fn a_lost_container_is_lent_to_nobody() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 2));
    lending.joined(NOW, offer(2, 2));
    assert_eq!(lending.wanted(NOW, 1, request(4)).len(), 1);
    assert_eq!(lending.lost(NOW, &id(2)), []);
    assert_eq!(lending.lost(NOW, &id(2)), []);
    assert_eq!(lending.wanted(NOW, 2, request(2)), []);
    let lent = gangs(lending.returned(NOW, 1));
    assert_eq!(
        lent,
        [Lent {
            job: 2,
            shares: vec![(id(1), 2)],
            cores: BTreeMap::new(),
            speeds: [(Speed::Plain, 2)].into(),
        }]
    );
}

#[derive(Clone, Debug)]
enum LendingStep {
    Join(u32),
    Lose(u32),
    Want(u32),
    Return(u32),
    Wait,
}

fn step() -> impl Strategy<Value = LendingStep> {
    prop_oneof![
        (1_u32..5).prop_map(LendingStep::Join),
        (0_u32..8).prop_map(LendingStep::Lose),
        (1_u32..7).prop_map(LendingStep::Want),
        (0_u32..12).prop_map(LendingStep::Return),
        Just(LendingStep::Wait),
    ]
}

proptest! {
    /// Whatever happens: all or nothing, no slot twice, nothing in a container that is gone.
    #[test]
    fn slots_have_one_borrower(steps in proptest::collection::vec(step(), 1..60)) {
        for policy in ["fifo+gang", "fair:by=user+gang", "fifo+priority+gang:hold=5s"] {
            let mut lending = lending(policy);
            let (mut now, mut joined, mut jobs) = (0, 0, 0);
            let mut slots: BTreeMap<ContainerId, u32> = BTreeMap::new();
            let mut lent: BTreeMap<u32, BTreeMap<ContainerId, u32>> = BTreeMap::new();
            let mut wanted: BTreeMap<u32, u32> = BTreeMap::new();
            for step in &steps {
                now += 1_000;
                let at = Millis(now);
                let given = match step {
                    LendingStep::Join(count) => {
                        joined += 1;
                        slots.insert(id(joined), *count);
                        lending.joined(at, offer(joined, *count))
                    }
                    LendingStep::Lose(which) => {
                        slots.remove(&id(*which));
                        for shares in lent.values_mut() {
                            shares.remove(&id(*which));
                        }
                        lending.lost(at, &id(*which))
                    }
                    LendingStep::Want(count) => {
                        jobs += 1;
                        wanted.insert(jobs, *count);
                        lending.wanted(at, jobs, request(*count))
                    }
                    LendingStep::Return(which) => {
                        lent.remove(which);
                        wanted.remove(which);
                        lending.returned(at, *which)
                    }
                    LendingStep::Wait => lending.tick(at),
                };
                for one in gangs(given) {
                    let sum: u32 = one.shares.iter().map(|(_, count)| count).sum();
                    prop_assert_eq!(Some(&sum), wanted.get(&one.job));
                    let twice = lent.insert(one.job, one.shares.into_iter().collect());
                    prop_assert!(twice.is_none());
                }
                for (container, count) in &slots {
                    let used = lent.values().filter_map(|shares| shares.get(container));
                    prop_assert!(used.sum::<u32>() <= *count);
                }
                let there: Vec<&ContainerId> = slots.keys().collect();
                let gone = lent.values().flat_map(BTreeMap::keys);
                prop_assert!(gone.into_iter().all(|container| there.contains(&container)));
                prop_assert_eq!(lending.driver.refused(), []);
            }
        }
    }
}

fn tasks() -> SlotRequest {
    let request = request(0);
    let terms = StageTerms {
        unit: request.unit,
        needs: Vec::new(),
        speculative: true,
        per_node: None,
    };
    SlotRequest {
        wants: Wants::Tasks {
            map: terms.clone(),
            reduce: terms,
            node_failures: 3,
        },
        ..request
    }
}

fn input(host: &str) -> TaskInput {
    TaskInput {
        hosts: vec![host.to_owned()],
        bytes: 1,
    }
}

#[test]
fn tasks_start_one_by_one_where_their_input_is() {
    let mut lending = lending("fifo+gang");
    for number in [1, 2] {
        lending.joined(NOW, offer(number, 2));
    }
    assert_eq!(lending.wanted(NOW, 1, tasks()), []);
    assert_eq!(lending.waits(1), None);
    let inputs = ["n2", "n2", "n2", "n1", "elsewhere"].map(input);
    let maps = starts(lending.runnable(NOW, 1, Stage::Map, &inputs));
    let there: Vec<(u32, ContainerId, u32)> = maps
        .iter()
        .map(|(_, _, task, container, slot)| (*task, container.clone(), *slot))
        .collect();
    // What is at home nowhere here leaves the others theirs.
    assert_eq!(
        there,
        [(3, id(1), 0), (0, id(2), 0), (4, id(1), 1), (1, id(2), 1)]
    );
    for (attempt, ..) in &maps {
        lending.began(NOW, *attempt);
    }
    // The slot of the one that has ended is the last one's; one that fails runs again.
    let next = starts(lending.ended(NOW, maps[1].0, AttemptOutcome::Done));
    assert_eq!(next, [(next[0].0, Stage::Map, 2, id(2), 0)]);
    let again = starts(lending.ended(NOW, next[0].0, AttemptOutcome::Failed));
    assert_eq!(again, [(again[0].0, Stage::Map, 2, id(2), 0)]);
    assert!(lending.is_under_way(again[0].0) && !lending.is_under_way(next[0].0));
}

#[test]
fn tasks_of_a_lost_container_and_lost_results_run_again() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 1));
    lending.joined(NOW, offer(2, 1));
    lending.wanted(NOW, 1, tasks());
    let inputs = ["n1", "n2"].map(input);
    let maps = starts(lending.runnable(NOW, 1, Stage::Map, &inputs));
    assert_eq!(maps.len(), 2);
    assert_eq!(lending.lost(NOW, &id(2)), []);
    assert!(!lending.is_under_way(maps[1].0));
    assert_eq!(lending.ended(NOW, maps[1].0, AttemptOutcome::Failed), []);
    let again = starts(lending.ended(NOW, maps[0].0, AttemptOutcome::Done));
    assert_eq!(again[0].2, 1);
    assert_eq!(lending.output_lost(NOW, 1, vec![TaskIx(0)]), []);
    let again = starts(lending.ended(NOW, again[0].0, AttemptOutcome::Done));
    assert_eq!(again[0].2, 0);
    // A gang waits for the tasks that have the slots, and says so.
    lending.wanted(NOW, 2, request(1));
    assert_eq!(*lending.waits(2).unwrap().holders, [(1, 1)]);
    let lent = gangs(lending.returned(NOW, 1));
    assert_eq!(lent[0].job, 2);
}

#[test]
fn a_job_that_is_closed_starts_nothing_whatever_fails_of_it() {
    let mut lending = lending("fifo+gang");
    lending.joined(NOW, offer(1, 1));
    lending.wanted(NOW, 1, tasks());
    let maps = starts(lending.runnable(NOW, 1, Stage::Map, &["n1", "n1"].map(input)));
    assert_eq!(lending.close(NOW, 1), []);
    assert_eq!(lending.ended(NOW, maps[0].0, AttemptOutcome::Failed), []);
    assert_eq!((lending.held(1), lending.lacking()), (0, 0));
    lending.wanted(NOW, 2, request(1));
    assert_eq!(lending.returned(NOW, 1), []);
    lending.returned(NOW, 2);
}

#[test]
fn a_container_that_comes_later_gets_tasks_that_have_their_input_there() {
    let mut lending = lending("fifo+delay");
    lending.joined(NOW, offer(1, 1));
    let terms = StageTerms {
        unit: Resources::new(1024, 1),
        needs: Vec::new(),
        speculative: false,
        per_node: None,
    };
    let wants = Wants::Tasks {
        map: terms.clone(),
        reduce: terms,
        node_failures: 0,
    };
    lending.wanted(
        NOW,
        1,
        SlotRequest {
            wants,
            ..request(1)
        },
    );
    let at = |hosts: &[&str]| TaskInput {
        hosts: hosts.iter().map(ToString::to_string).collect(),
        bytes: 1,
    };
    let inputs = [at(&["n9"]), at(&["n8", "n2"]), at(&["n2"]), at(&["n9"])];
    let level = |words: Vec<Word>| match words.as_slice() {
        [Word::Start(start)] => (start.task.0, start.level),
        other => panic!("{other:?}"),
    };
    let first = lending.runnable(NOW, 1, Stage::Map, &inputs);
    assert_eq!(level(first), (0, Level::Any));
    assert_eq!(level(lending.joined(NOW, offer(2, 1))), (1, Level::Node));
    // n2 and n3 are in one rack.
    let third = lending.joined(NOW, offer(3, 1));
    assert_eq!(level(third), (3, Level::Any));
}

#[test]
fn tasks_wait_for_a_node_that_has_what_they_need_and_it_is_known_that_none_has() {
    let mut lending = lending("fifo");
    lending.joined(NOW, offer(1, 1));
    lending.joined(NOW, offer(2, 1));
    let plain = StageTerms {
        unit: Resources::new(1024, 1),
        needs: Vec::new(),
        speculative: false,
        per_node: None,
    };
    let gpu = StageTerms {
        needs: vec![ElementNeed::one("gpu")],
        ..plain.clone()
    };
    let wants = |map: &StageTerms, reduce: &StageTerms| SlotRequest {
        wants: Wants::Tasks {
            map: map.clone(),
            reduce: reduce.clone(),
            node_failures: 0,
        },
        ..request(1)
    };
    lending.wanted(NOW, 1, wants(&gpu, &plain));
    assert_eq!(lending.runnable(NOW, 1, Stage::Map, &[input("n1")]), []);
    let nowhere = |stage| Lack {
        stage,
        needs: vec![ElementNeed::one("gpu")],
        nodes: ["n1", "n2"]
            .map(|host| (host.to_owned(), "no device".to_owned()))
            .into(),
    };
    assert_eq!(lending.lack(1, &no_device), Some(nowhere(Stage::Map)));
    assert_eq!(lending.lacking(), 1);
    lending.returned(NOW, 1);
    lending.wanted(NOW, 2, wants(&plain, &gpu));
    assert_eq!(lending.lack(2, &no_device), Some(nowhere(Stage::Reduce)));
    // What was said turns out to be wrong, and then right.
    lending.needed(NOW, 2, Stage::Reduce, &[]);
    assert_eq!(lending.lack(2, &no_device), None);
    lending.needed(NOW, 2, Stage::Map, &[ElementNeed::one("gpu")]);
    assert_eq!(lending.lack(2, &no_device), Some(nowhere(Stage::Map)));
    let mut blind = Lending::new(named("fifo-blind").unwrap(), ResourceTypes::default());
    blind.joined(NOW, offer(1, 1));
    blind.wanted(NOW, 1, wants(&gpu, &plain));
    assert_eq!(blind.lack(1, &no_device), None);
    assert_eq!(blind.runnable(NOW, 1, Stage::Map, &[input("n1")]).len(), 1);
}

#[test]
fn each_task_takes_its_own_of_what_is_counted_and_it_is_said_how_many_are_free() {
    let mut lending = lending("fifo");
    for number in [1, 2] {
        let elements = [("acc/kmeans-map".to_owned(), 2)].into();
        lending.joined(
            NOW,
            Offer {
                elements,
                ..offer(number, 10)
            },
        );
    }
    let needing = |count| {
        let plain = StageTerms {
            unit: Resources::new(1024, 1),
            needs: Vec::new(),
            speculative: false,
            per_node: None,
        };
        let name = "acc/kmeans-map".to_owned();
        let map = StageTerms {
            needs: vec![ElementNeed { name, count }],
            ..plain.clone()
        };
        let reduce = plain;
        let wants = Wants::Tasks {
            map,
            reduce,
            node_failures: 0,
        };
        SlotRequest {
            wants,
            ..request(1)
        }
    };
    let anywhere = vec![TaskInput::default(); 20];
    lending.wanted(NOW, 1, needing(1));
    let started = starts(lending.runnable(NOW, 1, Stage::Map, &anywhere));
    // Of 20 slots two a node, as there are functions for no more.
    let on = |container: ContainerId| {
        let there = started.iter().filter(|(.., at, _)| *at == container);
        there.count()
    };
    assert_eq!((started.len(), on(id(1)), on(id(2))), (4, 2, 2));
    lending.wanted(NOW, 2, needing(1));
    lending.runnable(NOW, 2, Stage::Map, &anywhere);
    let waits = lending.waits(2).unwrap();
    let short = ShortElement {
        need: ElementNeed::one("acc/kmeans-map"),
        free: 0,
        of: 4,
    };
    assert_eq!((waits.free, waits.all, waits.short), (0, 20, Some(short)));
    assert_eq!(lending.lack(2, &no_device), None);
    lending.began(NOW, started[0].0);
    let next = starts(lending.ended(NOW, started[0].0, AttemptOutcome::Done));
    assert_eq!((next.len(), &next[0].3), (1, &started[0].3));
    lending.returned(NOW, 2);
    // More than any node has, used or free.
    lending.wanted(NOW, 3, needing(3));
    let lack = lending.lack(3, &|_, needs| needs[0].to_string()).unwrap();
    let of_each = ["n1", "n2"].map(|host| (host.to_owned(), "acc/kmeans-map=3".to_owned()));
    assert_eq!(lack.nodes, of_each);
    // A board goes off: what is taken beyond what is left is owed, and nothing starts before it is given back.
    let mut running: Vec<AttemptIx> = started[1..].iter().map(|of| of.0).collect();
    running.push(next[0].0);
    for container in [id(1), id(2)] {
        let elements = [("acc/kmeans-map".to_owned(), 1)].into();
        let slots = OfferedSlot::alike(10);
        assert_eq!(lending.elements(NOW, &container, elements, slots), []);
    }
    let mut started = Vec::new();
    for attempt in running {
        lending.began(NOW, attempt);
        started.push(starts(lending.ended(NOW, attempt, AttemptOutcome::Done)).len());
    }
    // Of two on a node the first end gives back what is gone, the second what another may take.
    assert_eq!(started.iter().sum::<usize>(), 2);
}

#[test]
fn a_node_that_has_a_gpu_after_all_has_more_slots() {
    let mut lending = lending("fifo+gang");
    let small = Offer {
        slots: OfferedSlot::alike(1),
        ..offer(1, 3)
    };
    lending.joined(NOW, small);
    assert_eq!(lending.wanted(NOW, 1, request(3)), []);
    let elements = [("gpu".to_owned(), 1)].into();
    let lent = gangs(lending.elements(NOW, &id(1), elements, OfferedSlot::alike(3)));
    assert_eq!(lent[0].job, 1);
    assert_eq!(lending.offers().next().unwrap().1, 3);
    assert_eq!(
        lending.elements(NOW, &id(9), BTreeMap::new(), Vec::new()),
        []
    );
}
