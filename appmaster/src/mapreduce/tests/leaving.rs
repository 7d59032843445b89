use super::*;

fn leaves(bed: &mut Bed, container: u32, within: u64) {
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Leaves {
        container: id(container),
        within: Millis(within),
    }));
}

#[test]
fn what_lies_in_a_container_that_leaves_soon_is_made_again_before_it_is_gone() {
    let mut bed = mapped();
    bed.orders.clear();
    bed.wanted();
    leaves(&mut bed, 1, 15_000);
    assert_eq!(bed.wanted(), ["lost 1"]);
    assert_eq!(
        notices(&mut bed),
        ["what 1 map has left on n1 is made again elsewhere: YARN takes the container there"]
    );
    // It waits for the map, and reads nothing where nothing will be.
    let reduce = bed.place(Stage::Reduce, 0, 2);
    assert!(bed.orders.is_empty());
    let again = bed.place(Stage::Map, 0, 2);
    bed.orders.clear();
    bed.done(2, again, Some(3));
    let started = bed.started(2, reduce);
    assert_eq!(sources(started), [(0, None), (1, None)]);
    // When it goes nothing more is lost.
    bed.wanted();
    bed.lost(1);
    assert_eq!(bed.wanted(), Vec::<String>::new());
    assert_eq!(bed.job.outputs.len(), 2);
}

#[test]
fn what_lies_in_a_container_that_leaves_later_is_made_again_when_that_is_near() {
    let mut bed = mapped();
    bed.wanted();
    leaves(&mut bed, 1, 600_000);
    bed.now = Millis(1_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert_eq!(bed.wanted(), Vec::<String>::new());
    assert_eq!(bed.job.wakes_at(), Some(Millis(540_000)));
    bed.now = Millis(540_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert_eq!(bed.wanted(), ["lost 1"]);
    // It is taken before: once is enough.
    leaves(&mut bed, 2, 600_000);
    bed.lost(2);
    assert_eq!(bed.wanted(), ["lost 1"]);
    bed.now = Millis(2_000_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert_eq!(bed.wanted(), Vec::<String>::new());
}

#[test]
fn what_every_reduce_has_read_is_not_made_again() {
    let mut bed = mapped();
    for (reduce, container) in [(0, 2), (1, 3), (2, 3)] {
        let attempt = bed.place(Stage::Reduce, reduce, container);
        bed.joined(container);
        seen(&mut bed, container, attempt, 1, 10);
    }
    bed.wanted();
    leaves(&mut bed, 1, 15_000);
    assert_eq!(bed.wanted(), Vec::<String>::new());
    // One of them goes as well.
    leaves(&mut bed, 2, 15_000);
    assert_eq!(bed.wanted(), ["lost 1"]);
}
