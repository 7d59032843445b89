//! Stages that turn out to need something else than was said.

use super::bed::{Bed, started};
use super::hpe::gpu;
use crate::schedule::{AttemptIx, AttemptOutcome, Bundle, Event, JobIx, Nanos, Stage};

fn needs_gpu(job: u32) -> Event {
    Event::Needed {
        job: JobIx(job),
        stage: Stage::Map,
        locks: vec!["acc/gpu".into()],
    }
}

fn ended(attempt: u32, how: AttemptOutcome) -> Event {
    Event::Ended {
        attempt: AttemptIx(attempt),
        how,
        phases: Vec::new(),
    }
}

#[test]
fn what_waits_goes_where_the_element_is_from_then_on_and_what_runs_goes_on() {
    for policy in ["fifo", "fifo-barrier", "hpe", "fair", "fifo+delay"] {
        let mut bed = Bed::new(policy, 1, 1);
        // Map 0 has the plain node, two more wait.
        let first = bed.submit("ann", Stage::Map, 3);
        assert_eq!(started(&first), [(0, Stage::Map, 0, 0)], "{policy}");
        assert_eq!(bed.tell(&needs_gpu(0)), [], "{policy}");
        assert_eq!(bed.driver.session().attempts().count(), 1);
        // It has found no device: pending again, and the plain node is nothing for it.
        assert_eq!(
            bed.tell(&ended(0, AttemptOutcome::NoDevice)),
            [],
            "{policy}"
        );
        let there = bed.join(1, 2, gpu());
        assert_eq!(
            started(&there),
            [(0, Stage::Map, 0, 1), (0, Stage::Map, 1, 2)],
            "{policy}"
        );
        let state = bed.driver.session().stage(JobIx(0), Stage::Map).unwrap();
        assert_eq!((state.pending, state.running), (1, 2), "{policy}");
        // Told once more, nothing changes; told otherwise, the plain node has the last one.
        assert_eq!(bed.tell(&needs_gpu(0)), [], "{policy}");
        let none = Event::Needed {
            job: JobIx(0),
            stage: Stage::Map,
            locks: Vec::new(),
        };
        let mut decisions = bed.tell(&none);
        decisions.extend(bed.wait(Nanos::from_secs(60)));
        assert_eq!(started(&decisions), [(0, Stage::Map, 2, 0)], "{policy}");
        bed.tell(&Event::Left(JobIx(0)));
        for attempt in [1, 2, 3] {
            bed.tell(&ended(attempt, AttemptOutcome::Killed));
        }
        assert!(bed.driver.session().job(JobIx(0)).is_none(), "{policy}");
    }
}

#[test]
fn a_blind_policy_starts_it_where_it_fails() {
    let mut bed = Bed::new("fifo-blind", 0, 0);
    bed.submit("ann", Stage::Map, 1);
    bed.tell(&needs_gpu(0));
    let there = bed.join(0, 1, Bundle::new());
    assert_eq!(started(&there), [(0, Stage::Map, 0, 0)]);
}
