//! Outputs of maps, gathered at homes while other maps run.

use super::*;

/// What a home was ordered to gather: of which partitions, and which maps at which launcher.
#[cfg(test)]
fn gathers(orders: Vec<(ContainerId, Order)>) -> Vec<String> {
    let words = orders.into_iter().map(|(to, order)| {
        let Order::Gather(order) = order else {
            panic!("{order:?}");
        };
        let sources = order.sources.iter().map(|source| {
            let place = usize::try_from(source.kept_by).unwrap() - 1;
            let (map, output) = (source.map, source.output);
            format!(" {map} of {output} at {}", order.launchers[place])
        });
        format!(
            "{to} {:?}:{}",
            order.partitions,
            sources.collect::<String>()
        )
    });
    words.collect()
}

#[test]
fn what_maps_have_left_is_gathered_at_homes_while_others_run() {
    let mut bed = Bed::new(4, 2);
    let maps: Vec<AttemptIx> = (0..4)
        .map(|map| bed.place(Stage::Map, map, 1 + map % 3))
        .collect();
    (1..=3).for_each(|container| bed.joined(container));
    bed.orders.clear();
    bed.wanted();
    bed.done(1, maps[0], Some(3));
    assert_eq!(bed.wanted(), ["over 0 Done"]);
    // Not at once: what ends a moment later is gathered with it.
    bed.now = bed.now.plus(Millis(999));
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert!(bed.wanted().is_empty() && bed.job.wakes_at() == Some(Millis(1_000)));
    bed.now = Millis(1_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert_eq!(bed.wanted(), ["homes [(0, 1), (1, 1)] of c1 c2 c3"]);
    let home = |partition, container: u32| policy::lending::Home {
        partition,
        container: id(container),
        host: format!("n{container}"),
    };
    let homes = vec![home(0, 1), home(1, 2)];
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Homes(homes)));
    // What lies at home needs no way there.
    let orders = std::mem::take(&mut bed.orders);
    assert_eq!(gathers(orders), ["c2 [1]: 0 of 0 at n1:40"]);
    bed.done(2, maps[1], Some(5));
    bed.now = Millis(2_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    let orders = std::mem::take(&mut bed.orders);
    assert_eq!(gathers(orders), ["c1 [0]: 1 of 1 at n2:40"]);
    let gathered = |container, partition, bytes| {
        MapReduceHeard::Own(MapReduceEvent::Said {
            container: id(container),
            event: Box::new(OfTask::Gathered(wire::GatheredAhead {
                partitions: vec![partition],
                bytes: vec![bytes],
                ..wire::GatheredAhead::default()
            })),
        })
    };
    bed.tell(gathered(2, 1, 10));
    // It is no home of that.
    bed.tell(gathered(3, 1, 99));
    // A home that is lost has nothing, and what it had left is made again.
    bed.wanted();
    bed.lost(1);
    assert_eq!(bed.wanted(), ["lost 1"]);
    bed.done(3, maps[2], Some(7));
    bed.now = Millis(3_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert_eq!(bed.wanted(), ["over 2 Done", "homes [(0, 1)] of c2 c3"]);
    let orders = std::mem::take(&mut bed.orders);
    assert!(orders.is_empty(), "{orders:?}");
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Homes(vec![home(0, 3)])));
    let orders = std::mem::take(&mut bed.orders);
    let wanted = ["c2 [1]: 2 of 2 at n3:40", "c3 [0]: 1 of 1 at n2:40"];
    assert_eq!(gathers(orders), wanted);
    bed.tell(gathered(2, 1, 25));
    let again = bed.place(Stage::Map, 0, 2);
    let last = bed.place(Stage::Map, 3, 2);
    bed.done(2, again, Some(3));
    bed.wanted();
    bed.done(2, last, Some(1));
    // A reduce has a place where something of it lies; what comes after the last map does not count.
    let wanted = [
        format!("over {} Done", last.0),
        "runnable Reduce 1".to_owned(),
        "runnable Reduce 1 at n2".to_owned(),
    ];
    assert_eq!(bed.wanted(), wanted);
    bed.tell(gathered(2, 1, 30));
    assert_eq!(
        bed.job.report().counters["gerbil"]["GATHERED_AHEAD_BYTES"],
        25
    );
    bed.now = Millis(9_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    assert!(bed.wanted().is_empty());
}

/// A home tells how far it is with a partition.
#[cfg(test)]
fn far(container: u32, partition: u32, bytes: u64, handled: u32) -> MapReduceHeard {
    MapReduceHeard::Own(MapReduceEvent::Said {
        container: id(container),
        event: Box::new(OfTask::Gathered(wire::GatheredAhead {
            partitions: vec![partition],
            bytes: vec![bytes],
            coming: vec![0],
            handled: vec![handled],
            is_full: false,
        })),
    })
}

#[test]
fn a_partition_whose_home_stands_still_is_gathered_elsewhere() {
    const LEFT: u64 = 30 << 20;
    let mut bed = Bed::new(3, 3);
    let maps: Vec<AttemptIx> = (0..3)
        .map(|map| bed.place(Stage::Map, map, 1 + map))
        .collect();
    (1..=3).for_each(|container| bed.joined(container));
    for (container, map) in [(1, maps[0]), (2, maps[1])] {
        bed.ended(
            container,
            wire::TaskEnded {
                process: map.0,
                said: serde_json::to_string(&FromTask::MapDone {
                    counters: Counters::new(),
                    partitions: Vec::new(),
                })
                .unwrap(),
                output_bytes: LEFT,
                fetch_port: 40,
                ..wire::TaskEnded::default()
            },
        );
    }
    bed.now = Millis(1_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    let home = |partition, container: u32| policy::lending::Home {
        partition,
        container: id(container),
        host: format!("n{container}"),
    };
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Homes(vec![
        home(0, 1),
        home(1, 2),
        home(2, 3),
    ])));
    bed.orders.clear();
    bed.wanted();
    // Two of three have what the other has left; the third has nothing, of two.
    bed.tell(far(1, 0, LEFT / 3, 1));
    bed.tell(far(2, 1, LEFT / 3, 1));
    for second in 2..6 {
        bed.now = Millis(second * 1_000);
        assert!(bed.job.wakes_at().unwrap() <= bed.now);
        bed.tell(MapReduceHeard::Every(JobEvent::Tick));
        assert!(bed.wanted().is_empty(), "{second}");
    }
    bed.now = Millis(6_000);
    bed.tell(MapReduceHeard::Every(JobEvent::Tick));
    let each = 2 * LEFT / 3;
    assert_eq!(bed.wanted(), [format!("homes [(2, {each})] of c1 c2")]);
    bed.tell(MapReduceHeard::Own(MapReduceEvent::Homes(vec![home(2, 2)])));
    let orders = std::mem::take(&mut bed.orders);
    assert_eq!(gathers(orders), ["c2 [2]: 0 of 0 at n1:40"]);
    assert_eq!(bed.job.report().counters["gerbil"]["HOMES_MOVED"], 1);
    // What the former home has after all is of no use.
    bed.tell(far(3, 2, LEFT, 2));
    bed.tell(far(2, 2, LEFT / 3, 1));
    assert!(bed.job.wakes_at().is_none());
    bed.wanted();
    bed.done(3, maps[2], Some(7));
    let wanted = bed.wanted();
    assert!(
        wanted.contains(&"runnable Reduce 1 at n2".to_owned())
            && !wanted.iter().any(|words| words.ends_with("at n3")),
        "{wanted:?}"
    );
}
