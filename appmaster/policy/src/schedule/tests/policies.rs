use std::sync::Arc;

use super::bed::{Bed, jobs, started};
use crate::schedule::{
    AttemptOutcome, Bundle, ContainerIx, Decision, Event, JobIx, Need, NodeIx, Session, Slot,
    SlotIx, Stage, Task, TaskIx, named, wanted,
};

#[test]
fn fifo_serves_the_job_that_came_first_and_spreads_it_over_nodes() {
    let mut bed = Bed::new("fifo", 2, 2);
    let first = bed.submit("ann", Stage::Map, 3);
    // One a node, then again.
    let slots: Vec<u32> = started(&first)
        .into_iter()
        .map(|(_, _, _, slot)| slot)
        .collect();
    assert_eq!(slots, [0, 2, 1]);
    assert_eq!(jobs(&bed.submit("bob", Stage::Map, 2)), [1]);
    bed.begin_all();
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
    assert_eq!(jobs(&bed.end(1, AttemptOutcome::Done)), [] as [u32; 0]);
}

#[test]
fn a_barrier_keeps_maps_back_until_earlier_maps_are_done() {
    let mut bed = Bed::new("fifo-barrier", 1, 2);
    assert_eq!(jobs(&bed.submit("ann", Stage::Map, 1)), [0]);
    assert_eq!(jobs(&bed.submit("bob", Stage::Map, 1)), [] as [u32; 0]);
    bed.begin_all();
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
}

#[test]
fn fair_gives_the_slot_to_who_has_fewest() {
    let mut bed = Bed::new("fair", 1, 4);
    assert_eq!(jobs(&bed.submit("ann", Stage::Map, 8)), [0; 4]);
    bed.submit("bob", Stage::Map, 8);
    bed.begin_all();
    let given: Vec<u32> = (0..4)
        .flat_map(|slot| jobs(&bed.end(slot, AttemptOutcome::Done)))
        .collect();
    // Two and two is fair; the third slot to come free is anybody's, so it goes to the first job.
    assert_eq!(given, [1, 1, 0, 0]);
}

#[test]
fn a_weight_is_so_many_shares() {
    let mut bed = Bed::new("fair:weight.bob=3", 1, 4);
    bed.submit("ann", Stage::Map, 8);
    bed.submit("bob", Stage::Map, 8);
    bed.begin_all();
    let given: Vec<u32> = (0..4)
        .flat_map(|slot| jobs(&bed.end(slot, AttemptOutcome::Done)))
        .collect();
    assert_eq!(given, [1, 1, 1, 0]);
}

#[test]
fn the_job_with_fewest_attempts_is_found_with_and_without_their_order() {
    let mut bed = Bed::new("fair:by=job", 3, 2);
    let on = |node| {
        let task = Task {
            nodes: vec![NodeIx(node)],
            bytes: 1,
        };
        vec![task; 4]
    };
    for number in 0..6 {
        let priority = i32::from(number > 2);
        bed.submit_job("ann", priority, Stage::Map, on(number % 3), Need::default());
    }
    bed.begin_all();
    bed.end(1, AttemptOutcome::Done);
    let kept = bed.driver.session();
    let mut other = kept.clone();
    Arc::make_mut(&mut other.state).by_running_is_kept = false;
    let fewest =
        |session: &Session| session.fewest_running(Stage::Map, session.classes(Stage::Map).next()?);
    let looks: [fn(&Session) -> Session; 5] = [
        Session::clone,
        |session| session.only_priority(1),
        |session| session.near(NodeIx(1)),
        |session| session.without(JobIx(0)),
        |session| session.only(JobIx(4)),
    ];
    let found = looks.map(|look| {
        let found = fewest(&look(kept));
        assert_eq!(found, fewest(&look(&other)));
        found.map(|(_, _, job)| job.0)
    });
    assert!(found.iter().all(Option::is_some), "{found:?}");
}

#[test]
fn fair_among_jobs_of_one_user() {
    let mut bed = Bed::new("fair:by=job", 1, 2);
    bed.submit("ann", Stage::Map, 4);
    bed.submit("ann", Stage::Map, 4);
    bed.begin_all();
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
}

#[test]
fn capacity_gives_each_queue_its_share_and_lends_what_is_left() {
    let mut bed = Bed::new("capacity:queue.prod=75,queue.dev=25", 1, 4);
    // Alone it has all.
    assert_eq!(jobs(&bed.submit("dev", Stage::Map, 8)), [0; 4]);
    bed.submit("prod", Stage::Map, 8);
    bed.begin_all();
    let given: Vec<u32> = (0..4)
        .flat_map(|slot| jobs(&bed.end(slot, AttemptOutcome::Done)))
        .collect();
    assert_eq!(given, [1, 1, 1, 0]);
}

#[test]
fn a_queue_that_is_not_elastic_stays_within_its_share() {
    let mut bed = Bed::new("capacity:queue.prod=75,queue.dev=25,elastic=false", 1, 4);
    assert_eq!(jobs(&bed.submit("dev", Stage::Map, 8)), [0]);
    assert_eq!(jobs(&bed.submit("prod", Stage::Map, 8)), [1; 3]);
}

/// Two slots for maps and two for reduces.
fn halves(policy: &str) -> Bed {
    let of = |stage| vec![Slot::free(&[stage]); 2];
    let mut bed = Bed::new(policy, 0, 0);
    bed.join_cut(
        0,
        Bundle::new(),
        [of(Stage::Map), of(Stage::Reduce)].concat(),
    );
    bed
}

/// `dev` has both slots for maps, `prod` one of two for reduces: whose is the other?
#[test]
fn by_stage_a_queue_has_its_share_of_each_kind_of_slot() {
    for (by_stage, next) in [("false", 1), ("true", 2)] {
        let policy = format!("capacity:queue.prod=50,queue.dev=50,by-stage={by_stage}");
        let mut bed = halves(&policy);
        bed.submit("dev", Stage::Map, 2);
        assert_eq!(jobs(&bed.submit("prod", Stage::Reduce, 4)), [1, 1]);
        assert_eq!(jobs(&bed.submit("dev", Stage::Reduce, 4)), [] as [u32; 0]);
        bed.begin_all();
        assert_eq!(
            jobs(&bed.end(2, AttemptOutcome::Done)),
            [next],
            "{by_stage}"
        );
    }
}

#[test]
fn by_stage_a_share_is_one_of_the_slots_that_run_the_stage() {
    let mut bed = halves("capacity:queue.prod=50,queue.dev=50,elastic=false,by-stage=true");
    let count = |bed: &Bed, stage| bed.driver.session().slot_count_of(stage);
    assert_eq!(jobs(&bed.submit("dev", Stage::Map, 4)), [0]);
    assert_eq!(jobs(&bed.submit("dev", Stage::Reduce, 4)), [1]);
    assert_eq!(jobs(&bed.submit("prod", Stage::Reduce, 4)), [2]);
    assert_eq!(
        (count(&bed, Stage::Map), count(&bed, Stage::Reduce)),
        (2, 2)
    );
    // Cut anew, half of three is one still; of four it is two.
    for (slots, given) in [(3, vec![]), (4, vec![1])] {
        let now = vec![Slot::free(&[Stage::Reduce]); slots];
        let container = ContainerIx(0);
        let recut = bed.tell(&Event::Slots { container, now });
        assert_eq!(jobs(&recut), given, "{slots}");
        assert_eq!(
            (count(&bed, Stage::Map), count(&bed, Stage::Reduce)),
            (0, slots)
        );
    }
    bed.tell(&Event::Lost(ContainerIx(0)));
    assert_eq!(count(&bed, Stage::Reduce), 0);
}

#[test]
fn tasks_go_to_their_input_else_to_its_rack() {
    let mut bed = Bed::new("fifo", 4, 1);
    let at = |nodes: &[u32]| Task {
        nodes: nodes.iter().map(|node| NodeIx(*node)).collect(),
        bytes: 1,
    };
    // Task 0 is on node 3, task 1 on node 0, task 2 too: it runs in that rack, on node 1.
    let tasks = vec![at(&[3]), at(&[0]), at(&[0])];
    let given = started(&bed.submit_job("ann", 0, Stage::Map, tasks, Need::default()));
    let places: Vec<(u32, u32)> = given
        .into_iter()
        .map(|(_, _, task, slot)| (task, slot))
        .collect();
    assert_eq!(places, [(1, 0), (2, 1), (0, 2)]);
}

#[test]
fn a_task_waits_for_a_node_that_has_its_device() {
    let mut bed = Bed::new("fifo", 1, 2);
    let gpu = Need {
        bundle: Bundle::new(),
        locks: vec!["acc/gpu".into()],
        ..Need::default()
    };
    assert_eq!(
        bed.submit_job("ann", 0, Stage::Map, vec![Task::default(); 2], gpu),
        []
    );
    // Others pass.
    assert_eq!(jobs(&bed.submit("bob", Stage::Map, 1)), [1]);
    assert_eq!(
        jobs(&bed.join(7, 2, Bundle::new().with("acc/gpu", 1))),
        [0, 0]
    );
}

#[test]
fn counted_resources_are_taken_until_the_attempt_ends() {
    let mut bed = Bed::new("fifo", 0, 0);
    bed.join(0, 3, Bundle::new().with("acc/kmeans-map", 2));
    let need = Need {
        bundle: Bundle::new().with("acc/kmeans-map", 1),
        locks: Vec::new(),
        ..Need::default()
    };
    assert_eq!(
        jobs(&bed.submit_job("ann", 0, Stage::Map, vec![Task::default(); 3], need)),
        [0, 0]
    );
    bed.begin_all();
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [0]);
}

#[test]
fn what_no_free_slot_takes_is_asked_of_yarn() {
    let mut bed = Bed::new("fifo", 1, 2);
    bed.submit("ann", Stage::Map, 5);
    let each = Bundle::new().with("memory-mb", 1024);
    assert_eq!(wanted(bed.driver.session()), [(each, 3)]);
}

#[test]
fn names_keys_and_values_that_are_not_known_are_refused_with_what_there_is() {
    let said = |text: &str| named(text).unwrap_err().to_string();
    assert_eq!(
        said("fofi"),
        "policy \"fofi\" is not known; there are fifo, fifo-barrier, fifo-blind, capacity, fair, hetero, hetero-literal, hpe, \
         hpe-conserve, hpe-literal, dyscale, dyscale-basic, maps-fast"
    );
    assert_eq!(said("fifo:x=1"), "fifo has no key \"x\"; it has order");
    assert_eq!(
        said("maps-fast:x=1"),
        "maps-fast has no key \"x\"; it has none"
    );
    assert_eq!(
        said("fifo+dealy"),
        "wrapper \"dealy\" is not known; there are delay, speculate, avoid, priority, age, gang"
    );
    assert_eq!(
        said("fifo+age:limit=3"),
        "age: limit=3: a span such as 3s, 500ms or 5m is wanted"
    );
    assert_eq!(
        said("fair:by=rack"),
        "fair: by=rack: user, queue or job is wanted"
    );
    assert_eq!(
        said("capacity:queue.a=0"),
        "capacity: queue.a=0: a whole number above 0 is wanted"
    );
    assert_eq!(
        said("hpe:skips=3"),
        "hpe has no key \"skips\"; it has skip, window, age"
    );
    assert_eq!(
        said("hpe:skip=0"),
        "hpe: skip=0: a whole number above 0 is wanted"
    );
    assert_eq!(
        said("hpe:window=four"),
        "hpe: window=four: plain or jobs is wanted"
    );
    assert_eq!(
        said("hpe-literal:age=0"),
        "hpe-literal has no key \"age\"; it has seed"
    );
    assert!(named("capacity:queue.prod=70,elastic=false+delay:node=3s,rack=3s+speculate:factor=1.5,share=0.1").is_ok());
}

#[test]
fn decisions_name_what_is_decided() {
    let mut bed = Bed::new("fifo", 1, 1);
    let decisions = bed.submit("ann", Stage::Reduce, 1);
    let start = Decision::Start {
        job: JobIx(0),
        stage: Stage::Reduce,
        task: TaskIx(0),
        slot: SlotIx(0),
    };
    assert_eq!(decisions, [start]);
}
