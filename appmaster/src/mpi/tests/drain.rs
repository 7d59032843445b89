//! Output that is still on its way when the verdict is out.

use policy::lifecycle::KillReason;

use super::bed::Bed;
use crate::mpi::{MpiHeard, MpiJobEvent};
use crate::work::{JobEvent, OutputSeen};

const GONE: [&str; 4] = ["close output", "leave c0", "leave c1", "measure"];

/// Nothing comes and nobody hinders it.
const NOTHING: OutputSeen = OutputSeen {
    all_ended: false,
    is_closed: false,
    is_backed_up: false,
    is_drained: false,
};

/// When the launchers were dismissed, ms after now, if each look shows that.
fn given_up_after(bed: &mut Bed, seen: OutputSeen) -> u64 {
    let began = bed.now();
    for _look in 0..100 {
        let todo = bed.output(seen);
        if todo == GONE {
            return bed.now() - began;
        }
        assert!(todo.is_empty(), "{todo:?}");
        assert_eq!(bed.wakes(), ["look at output"], "every half second");
    }
    panic!("they are never dismissed");
}

#[test]
fn a_launcher_that_never_ends_its_streams_is_waited_for_ten_seconds() {
    let mut bed = Bed::running(|_| {});
    assert_eq!(bed.succeeds(), ["look at output"]);
    assert_eq!(given_up_after(&mut bed, NOTHING), 10_500);
}

#[test]
fn a_client_that_takes_output_slowly_is_waited_for_as_long_as_it_takes_some() {
    let mut bed = Bed::running(|_| {});
    bed.succeeds();
    let backed_up = OutputSeen {
        is_backed_up: true,
        ..NOTHING
    };
    for _look in 0..1_000 {
        assert!(bed.output(backed_up).is_empty());
        assert_eq!(bed.wakes(), ["look at output"]);
    }
    assert_eq!(bed.now(), 501_000);
    // What is in the way now is a launcher.
    assert_eq!(given_up_after(&mut bed, NOTHING), 10_000);
}

#[test]
fn when_all_streams_have_ended_the_output_is_closed_and_only_the_client_is_waited_for() {
    let mut bed = Bed::running(|_| {});
    bed.succeeds();
    let ended = OutputSeen {
        all_ended: true,
        ..NOTHING
    };
    assert_eq!(bed.output(ended), ["close output"]);
    let closed = OutputSeen {
        is_closed: true,
        ..ended
    };
    for _look in 0..100 {
        assert_eq!(bed.wakes(), ["look at output"]);
        assert!(bed.output(closed).is_empty());
    }
    // The last byte is taken: that is news.
    assert_eq!(
        bed.hear(MpiHeard::Own(MpiJobEvent::OutputMoved)),
        ["look at output"]
    );
    let todo = bed.output(OutputSeen {
        is_drained: true,
        ..closed
    });
    assert_eq!(todo, GONE);
}

#[test]
fn a_client_that_interrupts_once_more_waits_for_no_output() {
    let mut bed = Bed::running(|_| {});
    bed.succeeds();
    assert!(bed.output(NOTHING).is_empty());
    assert_eq!(
        bed.hear(MpiHeard::Every(JobEvent::ClientKill(
            KillReason::Interrupted
        ))),
        GONE
    );
}

#[test]
fn a_client_that_leaves_takes_no_more() {
    let mut bed = Bed::running(|_| {});
    bed.succeeds();
    let left = bed.hear(MpiHeard::Every(JobEvent::ClientLeft));
    assert_eq!(left, ["look at output"]);
    assert_eq!(bed.output(NOTHING), GONE);
}

#[test]
fn after_the_kill_of_yarn_launchers_are_waited_for_three_seconds() {
    let mut bed = Bed::running(|_| {});
    let stop = bed.killed(KillReason::Terminated);
    assert_eq!(stop[..2], ["hurry", "tell c0 stop within 1000 ms"]);
    bed.ends(0, Some(15));
    assert_eq!(bed.ends(1, Some(15)), ["look at output"]);
    assert_eq!(given_up_after(&mut bed, NOTHING), 3_500);
}

#[test]
fn a_launcher_that_is_lost_has_nothing_to_end() {
    let mut bed = Bed::running(|_| {});
    bed.succeeds();
    let lost = bed.hear(MpiHeard::Own(MpiJobEvent::Lost(super::bed::container(1))));
    assert_eq!(lost, ["look at output"]);
    let todo = bed.drained();
    assert_eq!(todo[..3], ["close output", "leave c0", "measure"]);
}
