//! The ResourceManager and the client are told the verdict, in their order.

use job::wire::mpi_event::Event as Said;
use job::wire::{self, PmiStage, RankEnded, RanksSeen, rank_ended::How};
use policy::Millis;
use policy::lifecycle::{KillReason, LifecycleEvent};

use super::bed::Bed;
use crate::mpi::{MpiHeard, MpiJobEvent};
use crate::work::JobEvent;

fn drained() -> Bed {
    let mut bed = Bed::running(|_| {});
    bed.succeeds();
    bed
}

#[test]
fn the_client_hears_the_verdict_when_the_resource_manager_has_taken_it() {
    let mut bed = drained();
    let todo = bed.drained();
    assert_eq!(todo[..3], ["close output", "leave c0", "leave c1"]);
    let last = todo.last().unwrap();
    assert_eq!(
        last,
        "unregister Succeeded: 2 ranks on 2 nodes ran for 0.0 s"
    );
    bed.at(3_500);
    bed.hear(MpiHeard::Every(JobEvent::Tick));
    assert!(bed.heard_by_the_client().is_empty(), "not yet");
    assert!(bed.unregistered(true).is_empty());
    let told = bed.heard_by_the_client();
    assert_eq!(told, ["verdict 0 after 9 allocates: ", "unregistered"]);
    assert!(!bed.mpi.is_over(), "the client takes its time");
    assert_eq!(bed.mpi.wakes_at(), None);
    bed.hear(MpiHeard::Every(JobEvent::ClientLeft));
    assert!(bed.mpi.is_over());
}

#[test]
fn a_resource_manager_that_takes_long_keeps_the_client_for_three_seconds() {
    let mut bed = drained();
    bed.drained();
    let asked = bed.now();
    bed.wakes();
    assert_eq!(bed.now() - asked, 3_000);
    assert_eq!(bed.heard_by_the_client(), ["verdict 0 after 0 allocates: "]);
    assert_eq!(bed.mpi.wakes_at(), None, "it is told once");
    bed.at(60_000);
    bed.unregistered(true);
    assert_eq!(bed.heard_by_the_client(), ["unregistered"]);
}

#[test]
fn a_client_need_not_wait_for_a_resource_manager_that_does_not_take_the_verdict() {
    let mut bed = drained();
    bed.drained();
    let unregistered = bed.mpi.hear(
        Millis(2_000),
        MpiHeard::Every(JobEvent::Finished(holding::Finished::default())),
    );
    assert!(unregistered.is_empty());
    let mut last = Vec::new();
    while bed.mpi.has_an_event() {
        last.push(bed.mpi.outbox().next().unwrap().event);
    }
    assert_eq!(last.len(), 2);
    assert!(last[1].is_none(), "an event that says nothing: {last:?}");
}

#[test]
fn of_a_resource_manager_that_is_lost_the_client_hears_before_it_is_asked() {
    let mut bed = Bed::running(|_| {});
    let lost = LifecycleEvent::ResourceManagerLost {
        silent: Millis(300_000),
    };
    bed.hear(MpiHeard::Own(MpiJobEvent::Machine(lost)));
    bed.ends(0, Some(15));
    bed.ends(1, Some(15));
    let todo = bed.drained();
    assert!(
        todo.last().unwrap().starts_with("unregister Failed: "),
        "{todo:?}"
    );
    let told = bed.heard_by_the_client();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("verdict 70 after 0 allocates: "),
        "{told:?}"
    );
}

#[test]
fn who_ends_the_process_itself_does_not_wait_for_the_client_to_leave() {
    let mut bed = drained();
    bed.drained();
    bed.unregistered(true);
    assert!(!bed.mpi.is_over());
    bed.killed(KillReason::Terminated);
    assert!(bed.mpi.is_over());
}

#[test]
fn a_client_whose_stream_has_ended_is_gone() {
    let mut bed = drained();
    bed.drained();
    bed.unregistered(true);
    bed.hear(MpiHeard::Every(JobEvent::ClientDeaf));
    assert!(bed.mpi.is_over());
}

#[test]
fn a_node_whose_clock_is_wrong_makes_no_phase_negative() {
    for at_us in [1, 3_600_000_000] {
        let mut bed = Bed::running(|_| {});
        bed.at(1_200);
        let started = wire::RanksStarted {
            at_us,
            ..wire::RanksStarted::default()
        };
        bed.says(0, Said::Started(started));
        let timing = &bed.mpi.timing;
        let stamps = [timing.joined_us, timing.started_us, bed.mpi.wall_us()];
        assert!(stamps.is_sorted() && stamps[0] > 0, "{at_us}: {stamps:?}");
    }
}

/// Both ranks return 0 and are last known in this stage; one container has seen that library in a rank.
fn told_of(stages: [PmiStage; 2], library: &str) -> Vec<String> {
    let mut bed = Bed::running(|_| {});
    let seen = RanksSeen {
        mpi_library: library.to_owned(),
        ..RanksSeen::default()
    };
    bed.says(0, Said::Seen(seen));
    for (rank, stage) in (0..).zip(stages) {
        let ended = RankEnded {
            rank,
            how: Some(How::ExitCode(0)),
            pmi: stage.into(),
            ..RankEnded::default()
        };
        bed.says(usize::try_from(rank).unwrap(), Said::Ended(ended));
    }
    bed.drained();
    bed.unregistered(true);
    bed.heard_by_the_client()
}

#[test]
fn ranks_with_an_mpi_library_that_have_all_been_silent_are_remarked_on() {
    use PmiStage::{Finalized, Silent};
    let open = "/usr/lib/libmpi.so.40";
    let told = told_of([Silent, Silent], open).join("\n");
    assert!(
        told.contains(open) && told.contains("each was rank 0 of 1"),
        "{told}"
    );
    // One that has spoken is no job of one; without a library there is nothing to say.
    for (stages, library) in [([Silent, Finalized], open), ([Silent, Silent], "")] {
        let told = told_of(stages, library).join("\n");
        assert!(!told.contains("rank 0 of 1"), "{told}");
    }
}
