//! What reduces read of maps, and who is to blame where they cannot.

use super::*;

#[test]
fn a_reduce_starts_when_every_map_has_left_its_part() {
    let mut bed = Bed::new(2, 1);
    let maps = [bed.place(Stage::Map, 0, 1), bed.place(Stage::Map, 1, 1)];
    bed.joined(1);
    bed.orders.clear();
    bed.done(1, maps[1], Some(5));
    assert_eq!(bed.wanted(), ["start c1", "over 1 Done"]);
    bed.done(1, maps[0], Some(3));
    assert_eq!(bed.wanted(), ["over 0 Done", "runnable Reduce 1"]);
    let reduce = bed.place(Stage::Reduce, 0, 1);
    let (start, task) = bed.started(1, reduce);
    let output = start.output.clone().unwrap();
    assert_eq!(output.attempt, "attempt_r_000000_0");
    assert_eq!(sources((start, task)), [(0, None), (1, None)]);
    bed.done(1, reduce, None);
    assert_eq!(
        bed.wanted(),
        [
            "over 2 Done",
            "commit attempt_r_000000_0",
            "no more",
            "leave c1"
        ]
    );
}

#[test]
fn what_a_lost_launcher_had_is_made_again_and_reduces_wait_for_it() {
    let mut bed = Bed::new(2, 1);
    let maps = [bed.place(Stage::Map, 0, 1), bed.place(Stage::Map, 1, 2)];
    bed.joined(1);
    bed.joined(2);
    bed.orders.clear();
    bed.done(1, maps[0], Some(3));
    bed.done(2, maps[1], Some(5));
    let reduce = bed.place(Stage::Reduce, 0, 1);
    bed.started(1, reduce);
    bed.wanted();
    bed.lost(2);
    bed.heard(&ContainerEvent::Ended {
        container: id(2),
        status: -100,
        diagnostics: String::new(),
    });
    assert_eq!(bed.wanted(), ["lost 1"]);
    // It cannot read what is gone: no fault of its own, and the next attempt waits.
    let ended = wire::TaskEnded {
        process: reduce.0,
        trouble: "cannot fetch".into(),
        unfetched: vec![1],
        ..wire::TaskEnded::default()
    };
    bed.ended(1, ended);
    assert_eq!(bed.wanted(), ["over 2 Lost"]);
    let parked = bed.place(Stage::Reduce, 0, 1);
    assert!(bed.orders.is_empty());
    // No map has a slot: it gives its own up, in a while.
    bed.now = bed.job.unpark_at.unwrap();
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert_eq!(bed.wanted(), [format!("over {} Killed", parked.0)]);
    let again = bed.place(Stage::Map, 1, 1);
    bed.started(1, again);
    let parked = bed.place(Stage::Reduce, 0, 3);
    bed.joined(3);
    assert!(bed.orders.is_empty() && bed.job.unpark_at.is_none());
    bed.done(1, again, Some(5));
    let from = Some("n1:40".to_owned());
    let started = bed.started(3, parked);
    assert_eq!(sources(started), [(0, from.clone()), (1, from)]);
    bed.wanted();
    bed.done(3, parked, None);
    bed.folder(FolderDone::Committed(Ok(())));
    let (code, _, report) = bed.over(&[1, 3]);
    // Its second time counts for nothing.
    assert_eq!((code, report.counters["g"]["n"]), (0, 3));
}

/// A reduce waits for a map in its slot, which it would give up soon: nothing is due for that after the verdict.
#[test]
fn a_job_that_ends_while_reduces_wait_for_maps_is_not_due_for_ever() {
    let mut bed = Bed::new(1, 1);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.done(1, map, Some(3));
    bed.lost(1);
    bed.place(Stage::Reduce, 0, 2);
    bed.joined(2);
    let due = bed.job.unpark_at.unwrap();
    bed.tell(MapReduceHeard::Every(JobEvent::ClientKill(
        KillReason::Interrupted,
    )));
    bed.now = due.plus(SHOW);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert!(bed.job.wakes_at() > Some(bed.now));
}

#[test]
fn reduces_fetch_where_a_launcher_says_that_it_listens() {
    let mut bed = Bed::new(2, 1);
    let maps: Vec<AttemptIx> = (0..2).map(|map| bed.place(Stage::Map, map, 1)).collect();
    bed.joined(1);
    bed.orders.clear();
    bed.done(1, maps[0], Some(1));
    bed.done_at(1, maps[1], Some(2), "fd00::7");
    let reduce = bed.place(Stage::Reduce, 0, 2);
    bed.joined(2);
    let from = sources(bed.started(2, reduce));
    let named = ["n1:40", "[fd00::7]:40"].map(|place| Some(place.to_owned()));
    assert_eq!(from, (0..).zip(named).collect::<Vec<_>>());
}

#[test]
fn what_a_map_has_left_anew_is_not_doubted_by_who_has_tried_to_read_what_was_lost() {
    let mut bed = Bed::new(1, 1);
    let first = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.done(1, first, Some(3));
    let reduces: Vec<AttemptIx> = (0..2).map(|_| bed.place(Stage::Reduce, 0, 2)).collect();
    bed.joined(2);
    // The launcher stands still: the session gives it up, before those that fetch from there do.
    bed.lost(1);
    let again = bed.place(Stage::Map, 0, 3);
    bed.joined(3);
    bed.done(3, again, Some(3));
    for reduce in reduces {
        let ended = wire::TaskEnded {
            process: reduce.0,
            trouble: "it was silent for 30 s".into(),
            unfetched: vec![0],
            ..wire::TaskEnded::default()
        };
        bed.ended(2, ended);
    }
    assert!(bed.job.unfetched.is_empty());
    assert!(bed.job.outputs.contains_key(&TaskIx(0)));
}

#[test]
fn where_launchers_do_not_reach_each_other_a_job_ends() {
    let mut bed = Bed::new(1, 1);
    for container in [1, 2] {
        bed.place(Stage::Map, 0, container);
        bed.joined(container);
    }
    let mut times = 0;
    while !bed.job.is_ending() && times < 100 {
        if bed.job.outputs.is_empty() {
            let map = bed.place(Stage::Map, 0, 1);
            bed.done(1, map, Some(3));
        }
        let reduce = bed.place(Stage::Reduce, 0, 2);
        let ended = wire::TaskEnded {
            process: reduce.0,
            trouble: "n2: no way to n1:40".into(),
            unfetched: vec![0],
            ..wire::TaskEnded::default()
        };
        bed.ended(2, ended);
        times += 1;
    }
    let (code, sentence, report) = bed.over(&[1, 2]);
    assert_eq!((times, code, report.failed_attempts), (8, 1, 0));
    let words =
        "reduce 0 could not read what maps have left, 8 times, the last time: n2: no way to n1:40";
    assert!(sentence.starts_with(words), "{sentence}");
}

/// A reduce at a container could not read what these maps have left.
#[cfg(test)]
fn not_read(bed: &mut Bed, container: u32, reduce: AttemptIx, maps: &[u32]) {
    let ended = wire::TaskEnded {
        process: reduce.0,
        trouble: "no way there".into(),
        unfetched: maps.to_vec(),
        ..wire::TaskEnded::default()
    };
    bed.ended(container, ended);
}

#[test]
fn a_container_that_cannot_fetch_where_another_could_is_to_blame_and_the_maps_are_not() {
    let mut bed = mapped();
    let [well, badly] = [(0, 3), (1, 4)].map(|(reduce, container)| {
        let attempt = bed.place(Stage::Reduce, reduce, container);
        bed.joined(container);
        attempt
    });
    bed.done(3, well, None);
    bed.wanted();
    not_read(&mut bed, 4, badly, &[0, 1]);
    assert_eq!(bed.wanted(), [format!("over {} Failed", badly.0)]);
    assert!(bed.job.unfetched.is_empty());
    assert_eq!(bed.job.outputs.len(), 2);
    // Whatever it says from now on is held against nobody else, and the task has not failed.
    for _ in 0..3 {
        let again = bed.place(Stage::Reduce, 1, 4);
        not_read(&mut bed, 4, again, &[0, 1]);
        assert_eq!(bed.wanted(), [format!("over {} Failed", again.0)]);
    }
    assert!(!bed.job.is_ending());
    assert_eq!(bed.job.outputs.len(), 2);
}

#[test]
fn what_lies_where_two_cannot_fetch_who_fetch_elsewhere_is_made_again_at_once() {
    let mut bed = mapped();
    for (reduce, container) in [(0, 3), (1, 4)] {
        let attempt = bed.place(Stage::Reduce, reduce, container);
        bed.joined(container);
        bed.done(container, attempt, None);
    }
    bed.wanted();
    // It has given to both, and gives no more.
    let first = bed.place(Stage::Reduce, 2, 3);
    not_read(&mut bed, 3, first, &[0]);
    let over = format!("over {} Lost", first.0);
    assert_eq!(bed.wanted(), ["avoid c3".to_owned(), over]);
    let second = bed.place(Stage::Reduce, 2, 4);
    not_read(&mut bed, 4, second, &[0]);
    assert_eq!(
        bed.wanted(),
        ["lost 1".to_owned(), format!("over {} Lost", second.0)]
    );
    let again = bed.place(Stage::Map, 0, 3);
    bed.done(3, again, Some(3));
    bed.orders.clear();
    let third = bed.place(Stage::Reduce, 2, 4);
    let (start, _) = bed.started(4, third);
    assert_eq!(start.launchers, ["n3:40", "n2:40"]);
}

#[test]
fn where_the_way_between_two_is_cut_reduces_go_elsewhere_and_no_map_runs_again() {
    let mut bed = mapped();
    let well = bed.place(Stage::Reduce, 0, 3);
    bed.joined(3);
    bed.done(3, well, None);
    bed.wanted();
    // From 2 it has had everything, which nobody but its failure tells.
    let cut = bed.place(Stage::Reduce, 1, 4);
    bed.joined(4);
    not_read(&mut bed, 4, cut, &[0]);
    let over = |attempt: AttemptIx| format!("over {} Lost", attempt.0);
    assert_eq!(
        bed.wanted(),
        ["start c4".to_owned(), "avoid c4".to_owned(), over(cut)]
    );
    let words = "n4 (c4) cannot fetch what maps have left at n1 (c1), though each of them does well with others";
    let told = std::iter::from_fn(|| bed.job.outbox().next());
    let told = told.filter(|event| match &event.event {
        Some(ToClient::Notice(notice)) => notice.sentence.starts_with(words),
        _ => false,
    });
    assert_eq!(told.count(), 1);
    // Where there is no other node it may be tried there again: it is no fault of the map.
    for _ in 0..4 {
        let again = bed.place(Stage::Reduce, 1, 4);
        not_read(&mut bed, 4, again, &[0]);
        assert_eq!(bed.wanted(), [over(again)]);
    }
    assert_eq!(bed.job.outputs.len(), 2);
    assert!(bed.job.faulty.is_empty() && bed.job.unfetched.is_empty());
}

#[test]
fn an_output_that_nobody_can_fetch_is_made_again() {
    let mut bed = Bed::new(1, 2);
    let map = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.orders.clear();
    bed.done(1, map, Some(3));
    bed.wanted();
    for times in 1..=3 {
        let reduce = bed.place(Stage::Reduce, 0, 2);
        bed.joined(2);
        bed.started(2, reduce);
        bed.wanted();
        bed.ended(
            2,
            wire::TaskEnded {
                process: reduce.0,
                trouble: "no way there".into(),
                unfetched: vec![0],
                ..wire::TaskEnded::default()
            },
        );
        let over = format!("over {} Lost", reduce.0);
        match times {
            3 => assert_eq!(bed.wanted(), [over, "lost 1".to_owned()]),
            _ => assert_eq!(bed.wanted(), [over]),
        }
    }
    let again = bed.place(Stage::Map, 0, 2);
    bed.started(2, again);
    bed.done(2, again, Some(3));
    // Each partition was told of before.
    assert_eq!(bed.wanted(), [format!("over {} Done", again.0)]);
    let reduce = bed.place(Stage::Reduce, 0, 2);
    let started = bed.started(2, reduce);
    assert_eq!(sources(started), [(0, None)]);
}
