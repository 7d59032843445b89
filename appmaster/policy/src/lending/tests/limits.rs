//! Jobs that let so many of their tasks run on a node at a time.

use std::num::NonZeroU32;

use super::*;

/// What was started: attempt, stage, task, container, slot.
type Started = (AttemptIx, Stage, u32, ContainerId, u32);

/// Two nodes of ten slots and ten devices each.
fn nodes() -> Lending {
    let mut lending = lending("hetero");
    for number in [1, 2] {
        let elements = [("acc/kmeans-map".to_owned(), 10)].into();
        let offer = Offer {
            elements,
            ..offer(number, 10)
        };
        lending.joined(NOW, offer);
    }
    lending
}

fn wanting(per_node: Option<PerNode>) -> SlotRequest {
    let map = StageTerms {
        unit: Resources::new(1024, 1),
        needs: vec![ElementNeed::one("acc/kmeans-map")],
        speculative: false,
        per_node,
    };
    SlotRequest {
        wants: Wants::Tasks {
            reduce: map.clone(),
            map,
            node_failures: 0,
        },
        ..request(1)
    }
}

#[test]
fn tasks_are_added_where_boards_have_too_little_to_do_and_not_replaced_where_they_have_too_much() {
    let mut lending = nodes();
    let on = |started: &[Started], number| {
        let there = started.iter().filter(|(.., at, _)| *at == id(number));
        there.count()
    };
    let inputs = vec![TaskInput::default(); 40];
    // Two jobs that say so share what may run.
    lending.wanted(NOW, 1, wanting(Some(PerNode::Boards)));
    lending.wanted(NOW, 2, wanting(Some(PerNode::Boards)));
    let first = starts(lending.runnable(NOW, 1, Stage::Map, &inputs));
    assert_eq!((on(&first, 1), on(&first, 2)), (4, 4));
    assert_eq!(lending.runnable(NOW, 2, Stage::Map, &inputs), []);
    let load = |empty, is_long| {
        [FunctionLoad {
            name: "acc/kmeans-map".to_owned(),
            empty,
            is_long,
        }]
    };
    let more = starts(lending.loaded(NOW, &id(1), &load(900, false)));
    assert_eq!((on(&more, 1), on(&more, 2)), (2, 0));
    assert_eq!(lending.loaded(NOW, &id(1), &load(50, false)), []);
    // From now on five of six: the first end is not replaced, the second is.
    assert_eq!(lending.loaded(NOW, &id(1), &load(0, true)), []);
    let mut there = first.iter().filter(|(.., at, _)| *at == id(1));
    let mut end = || {
        let attempt = there.next().unwrap().0;
        lending.began(NOW, attempt);
        starts(lending.ended(NOW, attempt, AttemptOutcome::Done)).len()
    };
    assert_eq!((end(), end()), (0, 1));
}

#[test]
fn tasks_that_take_functions_run_so_many_at_a_time_on_a_node() {
    let mut lending = nodes();
    lending.wanted(NOW, 1, wanting(NonZeroU32::new(3).map(PerNode::Most)));
    let inputs = vec![TaskInput::default(); 20];
    let maps = starts(lending.runnable(NOW, 1, Stage::Map, &inputs));
    assert_eq!(maps.len(), 6);
    // Of a stage: reduces have as many beside them.
    let reduces = starts(lending.runnable(NOW, 1, Stage::Reduce, &inputs));
    assert_eq!(reduces.len(), 6);
}
