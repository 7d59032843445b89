//! What holds for every cluster and every list.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::{Counted, ListedHost, Resources};

/// Nodes of 8 units of 1024 MiB, so many of them free.
fn cluster(rooms: &[(&str, u64)]) -> ClusterView {
    let node = |(host, free): &(&str, u64)| NodeView {
        id: NodeId(format!("{host}:1")),
        host: (*host).into(),
        rack: "/default-rack".into(),
        capability: Resources::new(8192, 8),
        used: Resources::new(8192 - free * 1024, 0),
        ..NodeView::default()
    };
    ClusterView {
        nodes: rooms.iter().map(node).collect(),
        maximum: Resources::new(8192, 8),
        step: MiB(1024),
        counted: Counted::Memory,
        ..ClusterView::default()
    }
}

fn demand(entries: &[(&str, u32)], processes: u32) -> Demand {
    let processes = NonZeroU32::new(processes).unwrap();
    Demand {
        listed: entries
            .iter()
            .map(|(host, processes)| ListedHost {
                host: Some((*host).into()),
                processes: *processes,
            })
            .collect(),
        ..Demand::anywhere(processes, Resources::new(1024, 1))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_waits_that_could_start_at_once(
        rooms in proptest::collection::vec(0u64..=8, 1..6),
        counts in proptest::collection::vec(1u32..6, 0..6),
        oversubscribe: bool, share in proptest::option::of(0.0f64..1.0),
    ) {
        let hosts = ["a", "b", "c", "d", "e", "f"];
        let rooms: Vec<(&str, u64)> = hosts.into_iter().zip(rooms).collect();
        let entries: Vec<(&str, u32)> = hosts.into_iter().zip(counts).collect();
        let view = cluster(&rooms);
        let processes = entries.iter().map(|(_, k)| k).sum::<u32>().max(1);
        let mut demand = demand(&entries, processes);
        demand.oversubscribe = oversubscribe;
        let choice = choose(&Circumstances { demand: &demand, cluster: &view, communication_share: share });
        let chosen = Outlook::new(&choice.demand, &view).rank();
        for mode in order(&demand, share) {
            let trial = Trial::new(&demand, &view, *mode);
            prop_assert!(chosen <= trial.outlook.rank());
        }
        // Whatever any mode can start at once, mode all can.
        if chosen.0 < 2 {
            let all = Trial::new(&demand, &view, Mode::All);
            prop_assert!(all.outlook.rank().0 < 2);
        }
    }
}
