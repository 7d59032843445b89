//! Jobs that miss their deadlines for certain.

use super::*;
use crate::schedule::DeadlineMiss;

/// Two slots, and a job of ten maps, the first two of which have taken 3 s.
fn measured(deadline: Option<Millis>) -> Lending {
    let mut lending = lending("fifo:order=deadline");
    lending.joined(NOW, offer(1, 2));
    let terms = StageTerms {
        unit: Resources::new(1024, 1),
        needs: Vec::new(),
        speculative: false,
        per_node: None,
    };
    let wants = Wants::Tasks {
        map: terms.clone(),
        reduce: terms,
        node_failures: 0,
    };
    let request = SlotRequest {
        wants,
        deadline,
        ..request(0)
    };
    lending.wanted(NOW, 1, request);
    let inputs = vec![TaskInput::default(); 10];
    let first = starts(lending.runnable(NOW, 1, Stage::Map, &inputs));
    assert_eq!(first.len(), 2);
    // Nothing is known of its tasks yet.
    assert_eq!(lending.deadline_miss(NOW, 1), None);
    let then = Millis(3_000);
    for (attempt, ..) in &first {
        lending.began(NOW, *attempt);
    }
    for (attempt, ..) in first {
        lending.ended(then, attempt, AttemptOutcome::Done);
    }
    lending
}

/// How it misses a deadline.
fn missed(deadline: Option<Millis>) -> Option<DeadlineMiss> {
    measured(deadline).deadline_miss(Millis(3_000), 1)
}

#[test]
fn six_maps_of_3_s_take_9_s_on_two_slots() {
    assert_eq!(missed(None), None);
    assert_eq!(missed(Some(Millis(12_000))), None);
    let miss = missed(Some(Millis(11_999))).unwrap();
    assert_eq!((miss.stage, miss.tasks, miss.slots), (Stage::Map, 6, 2));
    assert_eq!(miss.takes.0.div_ceil(1_000_000), 9_000);
    assert_eq!(miss.left, Nanos::from_millis(8_999));
    assert_eq!(missed(Some(Millis(2_000))).unwrap().left, Nanos(0));
}

#[test]
fn a_job_like_it_is_foreseen_by_its_maps() {
    let lending = measured(None);
    let profile = lending.profile(1).unwrap();
    // Nine maps of 3 s on two slots: 13.5 s at least, and 12 + 3 at most.
    let all = lending.foreseen(&profile, 9, 0).unwrap();
    assert_eq!(all.stages, [(Stage::Map, 9, 2)]);
    assert_eq!(all.takes.0.div_ceil(1_000_000), 14_250);
    // Nothing is known of reduces.
    assert_eq!(lending.foreseen(&profile, 9, 1), None);
    assert_eq!(lending.profile(2), None);
}
