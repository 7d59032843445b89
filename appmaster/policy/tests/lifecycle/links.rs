//! Broken links, and ranks that never report.

use super::*;

#[test]
fn a_broken_link_waits_for_yarn_to_name_the_reason() {
    let mut job = running();
    let lost = job.step(
        Millis(10),
        LifecycleEvent::LinkLost(ContainerId("c2".into())),
    );
    assert!(matches!(lost[0], LifecycleAction::Stop { .. }));
    // The other node's ranks end first; the verdict still waits.
    for rank in 0..2 {
        assert_eq!(
            verdict(&job.step(Millis(20), ended(rank, End::Signal(15), PmiStage::Silent))),
            None
        );
    }
    let said = verdict(&job.step(
        Millis(900),
        LifecycleEvent::ContainerEnded {
            container: ContainerId("c2".into()),
            status: -104,
            diagnostics: "2.1 GB of 2 GB physical memory used".into(),
        },
    ))
    .unwrap();
    assert!(
        said.contains("c2 on n2 was killed by YARN because it used more physical memory"),
        "{said}"
    );
    assert!(said.contains("2.1 GB of 2 GB"), "{said}");
}

#[test]
fn a_broken_link_that_nobody_explains_still_ends_the_job() {
    let mut job = running();
    assert!(
        !job.step(
            Millis(0),
            LifecycleEvent::LinkLost(ContainerId("c2".into()))
        )
        .is_empty()
    );
    assert_eq!(reap(&mut job, &[2, 3]), None);
    let due = job.wakes_at().unwrap();
    let said = verdict(&job.step(due, LifecycleEvent::Tick)).unwrap();
    assert!(
        said.contains("the launcher in container c2 on n2 is gone"),
        "{said}"
    );
}

#[test]
fn ranks_that_never_report_are_taken_for_dead() {
    let mut job = running();
    assert!(
        !job.step(
            Millis(0),
            LifecycleEvent::KillRequested(KillReason::Interrupted)
        )
        .is_empty()
    );
    let mut now = Millis(0);
    let said = loop {
        let wake = job.wakes_at().unwrap();
        // Each look is later than the last: a machine that wakes for nothing would spin.
        assert!(now < wake && wake < Millis(60_000));
        now = wake;
        if let Some(said) = verdict(&job.step(now, LifecycleEvent::Tick)) {
            break said;
        }
    };
    assert_eq!(said, "interrupted by the user");
}
