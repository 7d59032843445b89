//! The client comes, comes again, does not come.

use policy::lifecycle::{KillReason, LifecycleEvent};

use super::bed::{Bed, HOSTS};
use crate::mpi::Beginning;
use crate::mpi::{MpiHeard, MpiJobEvent};
use crate::work::JobEvent;

fn second(beginning: &mut Beginning) {
    beginning.attempt.attempt = 2;
}

#[test]
fn a_second_attempt_begins_when_its_client_has_come() {
    let mut bed = Bed::new(second);
    assert!(bed.begin().is_empty());
    bed.at(29_999);
    assert!(bed.hear(MpiHeard::Every(JobEvent::Tick)).is_empty());
    assert_eq!(
        bed.hear(MpiHeard::Every(JobEvent::ClientAttached)),
        ["admit", "snapshot"]
    );
    let begun = bed.starts();
    assert!(begun.contains(&"tell c0 share".to_owned()), "{begun:?}");
}

#[test]
fn without_its_client_a_second_attempt_starts_nothing() {
    let mut bed = Bed::new(second);
    assert!(bed.begin().is_empty());
    assert_eq!(bed.wakes(), ["look at output"]);
    assert_eq!(bed.now(), 30_000);
    // Nobody follows: nothing is waited for.
    let over = bed.output(crate::work::OutputSeen::default());
    assert_eq!(over, ["close output", "measure"]);
    let end = bed.hear(MpiHeard::Own(MpiJobEvent::Memory(
        job::wire::Memory::default(),
    )));
    assert!(end[0].starts_with("unregister Killed: "), "{end:?}");
    bed.unregistered(true);
    assert!(bed.mpi.is_over());
    assert_eq!(
        bed.hear(MpiHeard::Every(JobEvent::ClientAttached)),
        ["refuse: the client that followed this job is gone, and the job with it"]
    );
}

#[test]
fn a_second_attempt_that_is_killed_before_its_client_comes_starts_nothing() {
    let mut bed = Bed::new(second);
    bed.begin();
    bed.at(5_000);
    // Whoever kills the process waits for nobody afterwards, but the verdict is told to who comes first.
    assert_eq!(bed.killed(KillReason::Terminated), Vec::<String>::new());
    assert_eq!(
        bed.hear(MpiHeard::Every(JobEvent::ClientAttached)),
        ["admit", "look at output"]
    );
}

#[test]
fn a_job_that_nobody_follows_writes_to_the_log_after_a_minute() {
    let mut bed = Bed::new(|_| {});
    bed.begin();
    bed.starts();
    let mut todo = Vec::new();
    for _look in 0..50 {
        if todo.is_empty() {
            todo = bed.wakes();
        }
    }
    assert_eq!(
        (bed.now(), todo),
        (60_000, vec!["end input".into(), "log output".into()])
    );
    let late = bed.hear(MpiHeard::Every(JobEvent::ClientAttached));
    assert!(
        late[0].starts_with("refuse: no client came in time"),
        "{late:?}"
    );
}

#[test]
fn a_job_that_is_over_at_once_waits_for_its_client_for_the_same_minute() {
    let mut bed = Bed::new(|_| {});
    bed.begin();
    bed.starts();
    assert!(bed.succeeds().is_empty());
    assert_eq!(bed.wakes(), ["end input", "log output", "look at output"]);
    assert_eq!(bed.now(), 60_000);

    let mut bed = Bed::new(|_| {});
    bed.begin();
    bed.starts();
    bed.succeeds();
    bed.at(59_000);
    assert_eq!(
        bed.hear(MpiHeard::Every(JobEvent::ClientAttached)),
        ["admit", "look at output"]
    );
}

#[test]
fn only_one_client_follows_and_with_it_goes_the_job() {
    let mut bed = Bed::running(|_| {});
    assert_eq!(
        bed.hear(MpiHeard::Every(JobEvent::ClientAttached)),
        ["refuse: another client follows this job"]
    );
    let end = bed.hear(MpiHeard::Every(JobEvent::ClientLeft));
    assert_eq!(end[0], "hurry");
    assert!(end[1].starts_with("tell c0 stop within "), "{end:?}");
    bed.ends(0, Some(15));
    bed.ends(1, Some(15));
    let end = bed.output(crate::work::OutputSeen::default());
    assert_eq!(end, ["close output", "leave c0", "leave c1", "measure"]);
    assert!(bed.heard_by_the_client().is_empty());
}

#[test]
fn who_interrupts_a_job_that_waits_hears_what_it_waited_for() {
    use crate::mpi::waiting::Look;
    let interrupted = |look: Option<Look>| {
        let mut bed = Bed::new(|_| {});
        bed.begin();
        bed.hear(MpiHeard::Every(JobEvent::ClientAttached));
        bed.hear(MpiHeard::Own(MpiJobEvent::Machine(
            LifecycleEvent::Snapshot(super::bed::view(&HOSTS)),
        )));
        bed.at(2_000);
        let end = bed.hear(MpiHeard::Every(JobEvent::ClientKill(
            KillReason::Interrupted,
        )));
        assert_eq!(end.last().map(String::as_str), Some("last look"), "{end:?}");
        let next = match look {
            Some(look) => bed.hear(MpiHeard::Own(MpiJobEvent::LastLook(Box::new(look)))),
            None => bed.wakes(),
        };
        assert_eq!(next, ["look at output"]);
        let waited = bed.now() - 2_000;
        bed.drained();
        bed.unregistered(true);
        (waited, bed.heard_by_the_client()[0].clone())
    };
    let (waited, seen) = interrupted(Some(Look::of(super::bed::view(&HOSTS))));
    assert_eq!(waited, 0);
    assert!(
        seen.contains("it waited for n0 (") && seen.starts_with("verdict 130"),
        "{seen}"
    );
    // The ResourceManager does not say in time.
    let (waited, unseen) = interrupted(None);
    assert_eq!(waited, 3_000);
    assert!(!unseen.contains("it waited for"), "{unseen}");
}
