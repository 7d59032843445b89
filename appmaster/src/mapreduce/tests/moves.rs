use policy::lending::TaskMove;

use super::*;

fn moves(bed: &mut Bed, attempt: AttemptIx, slot: u32, cpus: &[u32]) {
    goes(bed, attempt, slot, cpus, false);
}

fn goes(bed: &mut Bed, attempt: AttemptIx, slot: u32, cpus: &[u32], parked: bool) {
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Move(TaskMove {
        job: 0,
        attempt,
        container: id(1),
        slot,
        cpus: cpus.to_vec(),
        speed: Speed::Plain,
        parked,
    })));
}

fn answers(bed: &mut Bed, attempt: AttemptIx, ok: bool) {
    let moved = wire::TaskMoved {
        process: attempt.0,
        ok,
        why: if ok {
            String::new()
        } else {
            "it cannot".to_owned()
        },
        took_us: 7,
    };
    let event = Box::new(OfTask::Moved(moved));
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Said {
        container: id(1),
        event,
    }));
}

#[test]
fn an_attempt_has_the_slot_that_its_launcher_has_moved_it_to() {
    let mut bed = Bed::new(1, 0);
    let attempt = bed.place(Stage::Map, 0, 1);
    bed.joined(1);
    bed.orders.clear();
    bed.wanted();
    moves(&mut bed, attempt, 3, &[1]);
    let expected = wire::MoveTask {
        process: attempt.0,
        slot: 3,
        cpus: vec![1],
        parked: false,
    };
    assert_eq!(bed.orders, [(id(1), Order::Move(expected))]);
    answers(&mut bed, attempt, true);
    let known = bed.job.attempts.get(attempt).unwrap();
    assert_eq!((known.slot, known.cpus.as_slice()), (3, &[1][..]));
    moves(&mut bed, attempt, 0, &[0]);
    answers(&mut bed, attempt, false);
    assert_eq!(bed.job.attempts.get(attempt).unwrap().slot, 3);
    assert_eq!(
        bed.wanted(),
        ["in slot 0 3", "moved 0", "moved 0: it cannot"]
    );
    let known = bed.job.attempts.get(attempt).unwrap();
    let left: Vec<u32> = known.earlier_slots.iter().map(|of| of.slot).collect();
    assert_eq!(left, [0]);
    let bound = bed.job.bound_attempts();
    assert_eq!(
        (bound[0].slot, bound[0].cpus.as_slice(), bound[0].pid),
        (3, &[1][..], 0)
    );
    // It was not ordered.
    answers(&mut bed, attempt, true);
    assert_eq!(bed.wanted(), Vec::<String>::new());
}

#[test]
fn one_that_was_not_started_starts_in_the_slot_that_it_has_meanwhile() {
    let mut bed = Bed::new(1, 0);
    let attempt = bed.place(Stage::Map, 0, 1);
    bed.wanted();
    moves(&mut bed, attempt, 3, &[1]);
    assert_eq!(bed.wanted(), ["moved 0"]);
    moves(&mut bed, AttemptIx(9), 3, &[1]);
    assert_eq!(bed.wanted(), Vec::<String>::new());
    assert!(bed.orders.is_empty());
    bed.joined(1);
    let [(_, Order::Start(start))] = &bed.orders[..] else {
        panic!("{:?}", bed.orders);
    };
    assert_eq!((start.slot, start.cpus.as_slice()), (3, &[1][..]));
}

#[test]
fn one_that_is_stopped_is_told_as_such_until_it_goes_on() {
    let mut bed = Bed::new(1, 0);
    let attempt = bed.place(Stage::Map, 0, 1);
    bed.wanted();
    // Nothing is there yet that could be stopped.
    goes(&mut bed, attempt, 5, &[], true);
    assert_eq!(bed.wanted(), ["moved 0: it has not begun"]);
    bed.joined(1);
    bed.orders.clear();
    bed.wanted();
    goes(&mut bed, attempt, 5, &[], true);
    let [(_, Order::Move(order))] = &bed.orders[..] else {
        panic!("{:?}", bed.orders);
    };
    assert!(order.parked && order.slot == 5);
    let told = |bed: &Bed| -> Vec<(u32, bool)> {
        let bound = bed.job.bound_attempts();
        bound.iter().map(|of| (of.slot, of.parked)).collect()
    };
    assert_eq!(told(&bed), []);
    answers(&mut bed, attempt, true);
    assert_eq!(told(&bed), [(5, true)]);
    // That it could not be continued leaves it stopped.
    moves(&mut bed, attempt, 1, &[1]);
    answers(&mut bed, attempt, false);
    assert_eq!(told(&bed), [(5, true)]);
    moves(&mut bed, attempt, 1, &[1]);
    answers(&mut bed, attempt, true);
    assert_eq!(told(&bed), [(1, false)]);
}
