//! Jobs that let so many of their tasks run on a node at a time.

use std::num::NonZeroU32;

use super::*;

#[test]
fn maps_that_take_functions_run_so_many_at_a_time_on_a_node() {
    let mut lending = lending("fifo");
    for number in [1, 2] {
        let elements = [("acc/kmeans-map".to_owned(), 5)].into();
        let offer = Offer {
            elements,
            ..offer(number, 10)
        };
        lending.joined(NOW, offer);
    }
    let map = StageTerms {
        unit: Resources::new(1024, 1),
        needs: vec![ElementNeed::one("acc/kmeans-map")],
        speculative: false,
        per_node: NonZeroU32::new(3),
    };
    let wants = Wants::Tasks {
        reduce: map.clone(),
        map,
        node_failures: 0,
    };
    let request = SlotRequest {
        wants,
        ..request(1)
    };
    lending.wanted(NOW, 1, request);
    let inputs = vec![TaskInput::default(); 20];
    let maps = starts(lending.runnable(NOW, 1, Stage::Map, &inputs));
    assert_eq!(maps.len(), 6);
    // Reduces have as many beside them, as far as there are devices.
    let reduces = starts(lending.runnable(NOW, 1, Stage::Reduce, &inputs));
    assert_eq!(reduces.len(), 4);
}
