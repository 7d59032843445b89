//! A container is lost, and the program is started again.

use job::wire;
use job::wire::mpi_event::Event as Said;
use policy::lifecycle::{Grant, LifecycleEvent};
use policy::{NodeId, Rank, Resources};

use super::bed::{Bed, container, view};
use crate::mpi::{MpiHeard, MpiJobEvent};
use crate::work::JobEvent;

/// YARN says that the container on n1 is gone, with its launcher; the other rank is ended.
pub(super) fn loses_n1(bed: &mut Bed) {
    bed.hear(MpiHeard::Own(MpiJobEvent::Lost(container(1))));
    bed.hear(MpiHeard::Own(MpiJobEvent::Machine(
        LifecycleEvent::ContainerEnded {
            container: container(1),
            status: -100,
            diagnostics: "killed".into(),
        },
    )));
    let mut repeated = bed.ends(0, Some(15));
    for _until_repeated in 0..50 {
        if !repeated.contains(&"renew input".to_owned()) {
            repeated = bed.wakes();
        }
    }
    assert_eq!(repeated[..2], ["renew input", "release 1"]);
}

/// A container comes on n2 instead, and its launcher.
pub(super) fn begins_again(bed: &mut Bed) {
    let mut todo = Vec::new();
    for _look in 0..100 {
        if todo.iter().any(|one: &String| one.starts_with("ask for")) {
            break;
        }
        todo = bed.hear(MpiHeard::Own(MpiJobEvent::Machine(
            LifecycleEvent::Snapshot(view(&["n0", "n1", "n2"])),
        )));
        if todo.is_empty() {
            todo = bed.wakes();
        }
    }
    assert!(todo.contains(&"ask for 1".to_owned()), "{todo:?}");
    let grants = (2..9).map(|round| Grant {
        container: container(2),
        node: NodeId("n2:1".into()),
        resources: Resources::new(1024, 1),
        round,
    });
    for grant in grants {
        if bed.mpi.seats.all().is_empty() {
            bed.hear(MpiHeard::Own(MpiJobEvent::Granted(vec![grant])));
        }
    }
    bed.joins(2);
}

#[test]
fn nothing_of_the_run_before_is_left() {
    let mut bed = Bed::running(|beginning| beginning.description.limits.run.restarts = 1);
    let name = wire::NameRequest {
        rank: 0,
        kind: wire::name_request::Kind::Publish.into(),
        service: "ocean".into(),
        port: "tag#0".into(),
    };
    bed.says(0, Said::Name(name.clone()));
    assert!(!bed.mpi.seats.all().is_empty());
    loses_n1(&mut bed);
    let told = bed.heard_by_the_client();
    assert!(told[0].starts_with("run 2 of 2: "), "{told:?}");
    assert_eq!(told[1], "again 2");
    assert!(bed.mpi.seats.all().is_empty() && bed.mpi.reports.is_empty());
    assert!(bed.mpi.firsts.is_empty() && bed.mpi.seen.is_empty());
    assert_eq!(bed.mpi.links[&container(0)].streams, 0);

    begins_again(&mut bed);
    assert!(bed.mpi.seats.runs(&container(0), Rank(0)));
    // The name can be published again.
    let answer = bed.says(0, Said::Name(name));
    assert!(!answer[0].contains("key_already_present"), "{answer:?}");
}

#[test]
fn input_that_nobody_gives_ends_again() {
    let mut bed = Bed::new(|beginning| beginning.description.limits.run.restarts = 1);
    bed.begin();
    bed.starts();
    bed.at(60_000);
    assert_eq!(
        bed.hear(MpiHeard::Every(JobEvent::Tick)),
        ["end input", "log output"]
    );
    bed.hear(MpiHeard::Own(MpiJobEvent::Lost(container(1))));
    bed.hear(MpiHeard::Own(MpiJobEvent::Machine(
        LifecycleEvent::ContainerEnded {
            container: container(1),
            status: -100,
            diagnostics: "killed".into(),
        },
    )));
    let mut repeated = bed.ends(0, Some(15));
    for _until_repeated in 0..50 {
        if !repeated.contains(&"renew input".to_owned()) {
            repeated = bed.wakes();
        }
    }
    assert!(repeated.contains(&"end input".to_owned()), "{repeated:?}");
}
