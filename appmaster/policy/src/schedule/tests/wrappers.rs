use super::bed::{Bed, jobs, started};
use super::hpe::{gpu, need};
use crate::schedule::{
    AttemptIx, AttemptOutcome, AttemptPhase, Bundle, ContainerIx, Decision, Event, JobIx, Nanos,
    Need, NodeIx, Slot, SlotIx, Speed, Stage, Task, TaskIx, Why, of_session,
};

const NONE: [u32; 0] = [];

fn on(node: u32) -> Vec<Task> {
    vec![Task {
        nodes: vec![NodeIx(node)],
        bytes: 1,
    }]
}

#[test]
fn a_task_waits_for_its_node_then_for_its_rack() {
    let mut bed = Bed::new("fifo+delay:node=3s,rack=2s", 4, 1);
    bed.submit_job("ann", 0, Stage::Map, on(0), Need::default());
    bed.begin_all();
    // Node 0 is taken; 1 is in its rack, 2 and 3 are not.
    assert_eq!(
        jobs(&bed.submit_job("bob", 0, Stage::Map, on(0), Need::default())),
        NONE
    );
    // A later job whose input is elsewhere passes.
    assert_eq!(
        started(&bed.submit_job("cid", 0, Stage::Map, on(3), Need::default())),
        [(2, Stage::Map, 0, 3)]
    );
    assert_eq!(bed.driver.wakes_at(), Some(Nanos::from_secs(3)));
    assert_eq!(jobs(&bed.wait(Nanos::from_millis(2_999))), NONE);
    assert_eq!(
        started(&bed.wait(Nanos::from_millis(1))),
        [(1, Stage::Map, 0, 1)]
    );
}

#[test]
fn a_reduce_waits_no_longer_than_3_s_for_where_it_was_gathered() {
    for (node, after) in [("1m", 3_000), ("1s", 1_000)] {
        let mut bed = Bed::new(&format!("fifo+delay:node={node},rack=1m"), 2, 1);
        bed.submit_job("ann", 0, Stage::Map, on(0), Need::default());
        bed.begin_all();
        let gathered = bed.submit_job("bob", 0, Stage::Reduce, on(0), Need::default());
        assert_eq!(jobs(&gathered), NONE);
        let due = Nanos::from_millis(after);
        assert_eq!(bed.driver.wakes_at(), Some(due));
        assert_eq!(jobs(&bed.wait(Nanos::from_millis(after - 1))), NONE);
        let started = started(&bed.wait(Nanos::from_millis(1)));
        assert_eq!(started, [(1, Stage::Reduce, 0, 1)]);
    }
}

/// The result of its twin was lost, and the task waits again; then the slow one ends well.
#[test]
fn a_task_that_is_done_after_all_does_not_start_again() {
    let mut bed = Bed::new("fifo", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    let slow = bed.begin(0);
    let copied = Decision::Copy {
        of: slow,
        slot: SlotIx(1),
    };
    bed.tell(&Event::Ordered(copied));
    bed.begin(1);
    // Nothing is free for it to start again.
    bed.submit("bob", Stage::Map, 2);
    assert_eq!(jobs(&bed.end(1, AttemptOutcome::Done)), [1]);
    let lost = Event::OutputLost {
        job: JobIx(0),
        maps: vec![TaskIx(0)],
    };
    assert_eq!(jobs(&bed.tell(&lost)), NONE);
    let pending = |bed: &Bed| {
        let stage = bed.driver.session().stage(JobIx(0), Stage::Map).unwrap();
        (stage.pending, stage.done, stage.is_done())
    };
    assert_eq!(pending(&bed), (1, 0, false));
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
    assert_eq!(pending(&bed), (0, 1, true));
}

#[test]
fn a_task_without_input_does_not_wait() {
    let mut bed = Bed::new("fifo+delay", 1, 1);
    assert_eq!(jobs(&bed.submit("ann", Stage::Map, 1)), [0]);
}

/// Input of `tasks` that all is on one node.
fn all_on(node: u32, tasks: usize) -> Vec<Task> {
    on(node).into_iter().cycle().take(tasks).collect()
}

#[test]
fn where_one_node_has_all_input_the_others_wait_once() {
    let mut bed = Bed::new("fifo+delay:node=1s,rack=1s", 4, 1);
    let first = bed.submit_job("ann", 0, Stage::Map, all_on(0, 9), Need::default());
    assert_eq!(started(&first), [(0, Stage::Map, 0, 0)]);
    bed.begin_all();
    // Node 0 takes one after the other, which does not make the others wait for longer.
    bed.wait(Nanos::from_millis(900));
    assert_eq!(
        started(&bed.end(0, AttemptOutcome::Done)),
        [(0, Stage::Map, 1, 0)]
    );
    let rack = bed.wait(Nanos::from_millis(100));
    assert_eq!(started(&rack), [(0, Stage::Map, 2, 1)]);
    let elsewhere = bed.wait(Nanos::from_secs(1));
    let places = started(&elsewhere).into_iter().map(|(.., slot)| slot);
    assert_eq!(places.collect::<Vec<_>>(), [2, 3]);
    bed.begin_all();
    // From now on at once.
    assert_eq!(jobs(&bed.end(3, AttemptOutcome::Done)), [0]);
}

#[test]
fn nobody_waits_for_a_node_without_containers() {
    let mut bed = Bed::new("fifo+delay", 2, 2);
    bed.tell(&Event::Hosts(vec!["n5".into(), "n1".into(), "n4".into()]));
    let session = bed.driver.session();
    let [there, far, other] = ["n1", "n5", "n4"].map(|host| session.host(host).unwrap());
    assert_eq!(there, NodeIx(1));
    let task = |nodes: &[NodeIx]| Task {
        nodes: nodes.to_vec(),
        bytes: 1,
    };
    let tasks = vec![
        task(&[far]),
        task(&[far, other]),
        task(&[far, there]),
        task(&[far, there]),
        task(&[far, there]),
        task(&[far]),
        task(&[far]),
        task(&[other]),
    ];
    let first = bed.submit_job("ann", 0, Stage::Map, tasks, Need::default());
    let mut first: Vec<_> = started(&first)
        .into_iter()
        .map(|(_, _, task, slot)| (slot, task))
        .collect();
    first.sort_unstable();
    // Slots 2 and 3 are n1's.
    assert_eq!(first, [(0, 0), (1, 1), (2, 2), (3, 3)]);
    bed.begin_all();
    assert_eq!(
        started(&bed.end(0, AttemptOutcome::Done)),
        [(0, Stage::Map, 5, 0)]
    );
    // A container comes to where tasks were without hope: they are taken there, and waited for elsewhere.
    let come = bed.join(5, 1, Bundle::new());
    assert_eq!(started(&come), [(0, Stage::Map, 4, 4)]);
    bed.begin_all();
    assert_eq!(
        started(&bed.end(1, AttemptOutcome::Done)),
        [(0, Stage::Map, 7, 1)]
    );
    bed.begin_all();
    assert_eq!(started(&bed.end(0, AttemptOutcome::Done)), []);
    // And goes again.
    assert_eq!(
        bed.driver
            .session()
            .stage(JobIx(0), Stage::Map)
            .unwrap()
            .pending,
        1
    );
    let gone = bed.tell(&Event::Lost(ContainerIx(2)));
    assert_eq!(started(&gone), [(0, Stage::Map, 6, 0)]);
}

#[test]
fn the_higher_priority_goes_first() {
    let mut bed = Bed::new("fifo+priority", 1, 1);
    bed.submit("ann", Stage::Map, 2);
    bed.begin_all();
    bed.submit_job("bob", 5, Stage::Map, vec![Task::default()], Need::default());
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
}

#[test]
fn a_higher_priority_takes_the_slot_of_the_youngest_attempt() {
    let mut bed = Bed::new("fifo+priority:preempt=true", 1, 2);
    bed.submit("ann", Stage::Map, 1);
    bed.now = Nanos::from_secs(10);
    bed.submit("ann", Stage::Map, 3);
    bed.begin_all();
    let younger = bed.on(1);
    let decisions = bed.submit_job("bob", 5, Stage::Map, vec![Task::default()], Need::default());
    assert_eq!(
        decisions,
        [Decision::Stop {
            attempt: younger,
            why: Why::Preempted
        }]
    );
    assert_eq!(jobs(&bed.end(1, AttemptOutcome::Killed)), [2]);
}

#[test]
fn who_has_waited_for_too_long_goes_first() {
    let mut bed = Bed::new("fifo+priority+age:limit=300s", 1, 1);
    bed.submit_job(
        "ann",
        9,
        Stage::Map,
        vec![Task::default(); 3],
        Need::default(),
    );
    bed.submit("bob", Stage::Map, 1);
    bed.begin_all();
    bed.now = Nanos::from_secs(299);
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [0]);
    bed.now = Nanos::from_secs(300);
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [1]);
}

/// A job that nothing can run waits longest, for ever.
#[test]
fn age_helps_the_job_that_can_run_here() {
    let mut bed = Bed::new("fifo+priority+age:limit=60s", 1, 1);
    let nowhere = Need {
        locks: vec!["acc/fpga".into()],
        ..Need::default()
    };
    bed.submit_job("eve", 0, Stage::Map, vec![Task::default()], nowhere);
    let many = vec![Task::default(); 9];
    bed.submit_job("ann", 9, Stage::Map, many, Need::default());
    bed.submit("bob", Stage::Map, 1);
    bed.begin(0);
    bed.now = Nanos::from_secs(60);
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), [2]);
}

/// Four attempts take 10 s; the one that is still there after 20 is tried elsewhere, and the loser ends.
#[test]
fn a_straggler_is_tried_again_and_the_loser_is_ended() {
    let mut bed = Bed::new("fifo+speculate:factor=1.5,share=0.5", 2, 2);
    bed.submit("ann", Stage::Map, 4);
    bed.begin_all();
    bed.now = Nanos::from_secs(10);
    for slot in [1, 2, 3] {
        assert_eq!(bed.end(slot, AttemptOutcome::Done), []);
    }
    let slow = bed.on(0);
    assert_eq!(bed.wait(Nanos::from_secs(5)), []);
    let copies = bed.wait(Nanos::from_secs(5));
    assert_eq!(copies.len(), 1);
    let Decision::Copy { of, slot } = copies[0] else {
        panic!("{copies:?}")
    };
    assert_eq!((of, slot.0), (slow, 2));
    bed.begin(2);
    assert_eq!(bed.wait(Nanos::from_secs(5)), [], "no third");
    let ended = bed.end(2, AttemptOutcome::Done);
    assert_eq!(
        ended,
        [Decision::Stop {
            attempt: slow,
            why: Why::TwinWon
        }]
    );
    assert_eq!(bed.end(0, AttemptOutcome::Killed), []);
    assert!(
        bed.driver.wakes_at().is_none(),
        "nothing is left to look at"
    );
}

/// Three of four attempts take 10 s each; what is decided about the fourth.
fn straggler(policy: &str, speculative: bool) -> (Bed, AttemptIx) {
    let mut bed = Bed::new(policy, 2, 2);
    bed.speculative = speculative;
    bed.submit("ann", Stage::Map, 4);
    bed.begin_all();
    bed.now = Nanos::from_secs(10);
    for slot in [1, 2, 3] {
        assert_eq!(bed.end(slot, AttemptOutcome::Done), []);
    }
    let slow = bed.on(0);
    (bed, slow)
}

#[test]
fn an_attempt_that_gets_on_is_left_alone_and_one_that_stands_still_is_not() {
    let (mut bed, slow) = straggler("fifo+speculate", true);
    let progress = |done| Event::Progress {
        attempt: slow,
        phase: AttemptPhase::Map,
        done,
        of: 100,
    };
    // At 20 s of 25.
    bed.now = Nanos::from_secs(20);
    assert_eq!(bed.tell(&progress(80)), []);
    assert_eq!(bed.wait(Nanos::from_secs(3)), []);
    // From then on it does nothing: at 60 s 15 are left, at 64 s 16.
    assert_eq!(bed.wait(Nanos::from_secs(37)), []);
    let copies = bed.wait(Nanos::from_secs(4));
    assert!(
        matches!(copies[..], [Decision::Copy { of, .. }] if of == slow),
        "{copies:?}"
    );
}

/// Two slots of a node are fast and the third is slow; 10 s are 25 there.
#[test]
fn attempts_are_compared_with_those_on_slots_as_fast_as_theirs() {
    let cut = |speed| Slot {
        speed,
        ..Slot::free(&[Stage::Map])
    };
    let mut bed = Bed::new("fifo+speculate", 0, 0);
    for node in 0..3 {
        let slots = [Speed::Fast, Speed::Fast, Speed::Slow].map(cut);
        bed.join_cut(node, Bundle::new(), slots.into());
    }
    bed.submit("ann", Stage::Map, 9);
    bed.begin_all();
    let end = |bed: &mut Bed, at, slots: &[u32]| {
        bed.now = Nanos::from_secs(at);
        for slot in slots {
            assert_eq!(bed.end(*slot, AttemptOutcome::Done), []);
        }
    };
    // One fast one, 0, and one slow one, 2, stand still; none of the slow ones has ended at 10 s.
    end(&mut bed, 10, &[1, 3, 4, 6, 7]);
    let copies = bed.wait(Nanos::from_secs(6));
    let fast = bed.on(0);
    assert!(
        matches!(copies[..], [Decision::Copy { of, slot }] if of == fast && slot.0 == 3),
        "{copies:?}"
    );
    bed.begin(3);
    end(&mut bed, 25, &[5, 8]);
    // A slow one has 37.5 s, and its copy a fast slot.
    assert_eq!(bed.end(3, AttemptOutcome::Done).len(), 1);
    bed.end(0, AttemptOutcome::Killed);
    bed.now = Nanos::from_secs(37);
    assert_eq!(bed.tell(&Event::Wake), []);
    let slow = bed.on(2);
    let copies = bed.wait(Nanos::from_secs(1));
    assert!(
        matches!(copies[..], [Decision::Copy { of, slot }] if of == slow && slot.0 == 3),
        "{copies:?}"
    );
}

/// Of the free slots of a node the one where it is done first, whatever their numbers.
#[test]
fn copies_go_to_fast_slots_first() {
    let cut = |speed| Slot {
        speed,
        ..Slot::free(&[Stage::Map])
    };
    let mut bed = Bed::new("fifo+speculate:least=50s", 0, 0);
    bed.join_cut(0, Bundle::new(), vec![cut(Speed::Fast)]);
    bed.join_cut(1, Bundle::new(), [Speed::Slow, Speed::Fast].map(cut).into());
    bed.submit("ann", Stage::Map, 3);
    bed.begin_all();
    for (at, slot) in [(10, 2), (25, 1)] {
        bed.now = Nanos::from_secs(at);
        assert_eq!(bed.end(slot, AttemptOutcome::Done), []);
    }
    let copies = bed.wait(Nanos::from_secs(50));
    assert!(
        matches!(copies[..], [Decision::Copy { slot, .. }] if slot.0 == 2),
        "{copies:?}"
    );
}

/// None on a slow slot has ended: a slow one has four times as long as fast ones before it is taken for one that
/// stands still.
#[test]
fn where_none_is_measured_attempts_have_longer() {
    let mut bed = Bed::new("fifo+speculate", 0, 0);
    for speed in [Speed::Fast, Speed::Slow] {
        let slot = Slot {
            speed,
            ..Slot::free(&[Stage::Map])
        };
        bed.join_cut(u32::from(speed == Speed::Slow), Bundle::new(), vec![slot]);
    }
    bed.submit("ann", Stage::Map, 2);
    bed.begin_all();
    bed.now = Nanos::from_secs(10);
    assert_eq!(bed.end(0, AttemptOutcome::Done), []);
    assert_eq!(bed.wait(Nanos::from_secs(49)), []);
    assert_eq!(bed.wait(Nanos::from_secs(2)).len(), 1);
}

/// The attempt with the most time left needs what no free slot has: the next one finds its slot.
#[test]
fn what_one_slow_attempt_cannot_use_is_for_the_next() {
    let mut bed = Bed::new("fifo+speculate", 3, 2);
    bed.join(3, 1, gpu());
    bed.submit_job("bob", 0, Stage::Map, vec![Task::default(); 2], need('G'));
    bed.begin(6);
    bed.now = Nanos::from_secs(10);
    assert_eq!(jobs(&bed.end(6, AttemptOutcome::Done)), [0]);
    bed.begin(6);
    bed.now = Nanos::from_secs(20);
    bed.submit("ann", Stage::Map, 3);
    bed.begin_all();
    bed.now = Nanos::from_secs(40);
    for slot in [2, 4] {
        assert_eq!(bed.end(slot, AttemptOutcome::Done), []);
    }
    let slow = bed.on(0);
    bed.now = Nanos::from_secs(300);
    let copies = bed.wait(Nanos::from_secs(1));
    assert!(
        matches!(copies[..], [Decision::Copy { of, .. }] if of == slow),
        "{copies:?}"
    );
}

#[test]
fn what_would_soon_end_or_must_not_run_twice_has_no_copy() {
    let minutes = Nanos::from_secs(600);
    let (mut bed, _) = straggler("fifo+speculate", false);
    assert_eq!(bed.wait(minutes), []);
    let (mut bed, _) = straggler("fifo+speculate:least=5m", true);
    assert_eq!(bed.wait(Nanos::from_secs(280)), []);
    assert_eq!(bed.wait(minutes).len(), 1);
}

#[test]
fn a_session_speculates_unless_its_policy_says_how() {
    let shown = |text| format!("{:?}", of_session(text).unwrap());
    let plain = shown("fifo");
    assert!(
        plain.contains("share: 10,") && plain.contains("Avoid"),
        "{plain}"
    );
    let own = shown("fair+speculate:share=0.5");
    assert_eq!(own.matches("Speculate").count(), 1, "{own}");
    assert!(own.contains("share: 50,") && own.contains("Gang"), "{own}");
    assert!(of_session("fifo+nothing").is_err());
}

#[test]
fn a_node_where_attempts_of_a_job_fail_gets_no_more_of_that_job() {
    let mut bed = Bed::new("fifo+avoid", 2, 1);
    assert_eq!(jobs(&bed.submit("ann", Stage::Map, 9)), [0, 0]);
    bed.begin_all();
    for failed in 1..=3 {
        let again = bed.end(0, AttemptOutcome::Failed);
        let wanted: &[u32] = if failed < 3 { &[0] } else { &[] };
        assert_eq!(jobs(&again), wanted, "after {failed}");
    }
    // Others do not mind, and it goes on elsewhere.
    assert_eq!(started(&bed.submit("bob", Stage::Map, 1))[0].3, 0);
    assert_eq!(jobs(&bed.end(1, AttemptOutcome::Done)), [0]);
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Done)), NONE);
    // It is better than no node.
    for failed in 1..=3 {
        let again = bed.end(1, AttemptOutcome::Failed);
        let wanted = if failed < 3 { 1 } else { 2 };
        assert_eq!(jobs(&again).len(), wanted, "after {failed}");
    }
}

#[test]
fn a_node_that_alone_has_what_a_job_needs_is_not_avoided() {
    let mut bed = Bed::new("fifo+avoid", 1, 1);
    bed.join(1, 1, gpu());
    let tasks = vec![Task::default(); 2];
    let first = bed.submit_job("ann", 0, Stage::Map, tasks, need('G'));
    assert_eq!(started(&first)[0].3, 1);
    // No other could try.
    for failed in 1..=5 {
        let again = bed.end(1, AttemptOutcome::Failed);
        assert_eq!(jobs(&again), [0], "after {failed}");
    }
    assert_eq!(started(&bed.join(2, 1, gpu()))[0].3, 2);
    assert_eq!(jobs(&bed.end(1, AttemptOutcome::Failed)), NONE);
}

#[test]
fn tasks_leave_nodes_whose_devices_are_too_small_at_once_if_there_are_others() {
    leave_small_devices(3);
}

/// No number of failures keeps this job off a node; what a node is does.
#[test]
fn nodes_that_are_named_are_left_whether_or_not_failures_count() {
    leave_small_devices(0);
    let mut bed = Bed::new("fifo+avoid", 2, 1);
    bed.node_failures = 0;
    bed.submit("ann", Stage::Map, 9);
    for failed in 1..=9 {
        assert_eq!(jobs(&bed.end(0, AttemptOutcome::Failed)), [0], "{failed}");
    }
}

#[test]
fn a_task_that_has_failed_goes_to_another_node_while_one_is_free() {
    let mut bed = Bed::new("fifo+avoid", 3, 1);
    bed.node_failures = 9;
    assert_eq!(
        started(&bed.submit("ann", Stage::Map, 1)),
        [(0, Stage::Map, 0, 0)]
    );
    for (failed, next) in [(0, 1), (1, 2), (2, 0)] {
        let went = started(&bed.end(failed, AttemptOutcome::Failed));
        assert_eq!(went, [(0, Stage::Map, 0, next)], "{failed}");
    }
    // Others of the job that have not failed there go first; where nothing else is free it runs there again.
    let mut bed = Bed::new("fifo+avoid", 2, 1);
    bed.node_failures = 9;
    bed.submit("ann", Stage::Map, 3);
    let next = |bed: &mut Bed, how| started(&bed.end(0, how));
    assert_eq!(
        next(&mut bed, AttemptOutcome::Failed),
        [(0, Stage::Map, 2, 0)]
    );
    assert_eq!(
        next(&mut bed, AttemptOutcome::Done),
        [(0, Stage::Map, 0, 0)]
    );
}

fn leave_small_devices(node_failures: u32) {
    let mut bed = Bed::new("fifo+avoid", 0, 0);
    bed.node_failures = node_failures;
    bed.join(0, 1, gpu());
    bed.join(1, 1, gpu());
    let tasks = vec![Task::default(); 3];
    bed.submit_job("ann", 0, Stage::Map, tasks, need('G'));
    let small = Event::Avoided {
        job: JobIx(0),
        nodes: vec![NodeIx(0)],
    };
    assert_eq!(jobs(&bed.tell(&small)), NONE);
    assert_eq!(jobs(&bed.end(0, AttemptOutcome::Failed)), NONE);
    assert_eq!(started(&bed.end(1, AttemptOutcome::Done))[0].3, 1);
    // What all of them are is no reason.
    let both = Event::Avoided {
        job: JobIx(0),
        nodes: vec![NodeIx(0), NodeIx(1)],
    };
    assert_eq!(started(&bed.tell(&both))[0].3, 0);
}
