//! What is chosen for many at once is what the allocator says for one after the other.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::{ListedHost, Mode};

fn demand(memory: u64) -> Demand {
    Demand {
        memory_is_explicit: true,
        oversubscribe: false,
        mode: Mode::Loc,
        listed: vec![ListedHost {
            host: None,
            processes: 1,
        }],
        ..Demand::anywhere(NonZeroU32::MIN, Resources::new(memory, 1))
    }
}

fn id(number: usize) -> NodeId {
    NodeId(format!("n{number:04}:1"))
}

/// Nodes of so much memory, of which so much is in use.
fn cluster(nodes: &[(u64, u64)]) -> ClusterView {
    let nodes = nodes.iter().enumerate();
    let node = |(number, (memory, used)): (usize, &(u64, u64))| NodeView {
        id: id(number),
        host: format!("n{number:04}"),
        rack: "/r".into(),
        capability: Resources::new(*memory, 8),
        used: Resources::new(*used.min(memory), 0),
        ..NodeView::default()
    };
    ClusterView {
        nodes: nodes.map(node).collect(),
        maximum: Resources::new(8192, 8),
        step: MiB(512),
        ..ClusterView::default()
    }
}

const PLAIN: Spot = Spot {
    suspicion: Suspicion::None,
    is_shared: true,
};

/// By the allocator alone: of all nodes that have none, else of those that have one and room for another.
fn one_by_one(
    view: &ClusterView,
    demand: &Demand,
    spots: &[Spot],
    count: usize,
) -> Vec<Result<NodeId, Rejection>> {
    let mut asked: BTreeMap<NodeId, (u32, Resources)> = BTreeMap::new();
    let mut chosen = Vec::new();
    for _ in 0..count {
        let has_room = |node: &NodeView| view.fits(demand.unit, view.room(node));
        let (own, others): (Vec<NodeView>, Vec<NodeView>) = (view.nodes.iter().cloned())
            .partition(|node| asked.get(&node.id).is_some_and(|(count, _)| *count > 0));
        let mut nodes = others;
        if !nodes.iter().any(has_room) {
            let beside = own.into_iter().map(|mut node| {
                node.used = node.used.plus(asked[&node.id].1);
                node
            });
            let is_shared = |node: &NodeView| {
                let at = view.nodes.iter().position(|other| other.id == node.id);
                spots[at.unwrap()].is_shared
            };
            let beside: Vec<_> = beside
                .filter(|node| has_room(node) && is_shared(node))
                .collect();
            if !beside.is_empty() {
                nodes = beside;
            }
        }
        let of = |suspicion: Suspicion| {
            let place = |node: &NodeId| view.nodes.iter().position(|other| other.id == *node);
            let left = nodes.iter().cloned();
            let left = left.filter(|node| spots[place(&node.id).unwrap()].suspicion <= suspicion);
            let view = ClusterView {
                nodes: left.collect(),
                ..view.clone()
            };
            allocate::place(demand, &view, &[])
        };
        let answer = of(Suspicion::None)
            .or_else(|_| of(Suspicion::LooksSilent))
            .or_else(|_| of(Suspicion::Quiet))
            .or_else(|_| of(Suspicion::Silent));
        chosen.push(answer.map(|placement| {
            let share = &placement.shares[0];
            let at = asked.entry(share.node.clone()).or_default();
            *at = (at.0 + 1, at.1.plus(share.ask));
            share.node.clone()
        }));
    }
    chosen
}

fn spot() -> impl Strategy<Value = Spot> {
    let suspicion = prop::sample::select(vec![
        Suspicion::None,
        Suspicion::None,
        Suspicion::None,
        Suspicion::LooksSilent,
        Suspicion::Quiet,
        Suspicion::Silent,
    ]);
    (suspicion, any::<bool>()).prop_map(|(suspicion, is_shared)| Spot {
        suspicion,
        is_shared,
    })
}

proptest! {
    #[test]
    fn many_at_once_are_where_one_after_the_other_would_be(
        nodes in prop::collection::vec(((1_u64..9).prop_map(|size| size * 512), (0_u64..8).prop_map(|size| size * 512), spot()), 0..9),
        size in (1_u64..5).prop_map(|size| size * 512),
        count in 1_usize..20,
    ) {
        let sizes: Vec<(u64, u64)> = nodes.iter().map(|(memory, used, _)| (*memory, *used)).collect();
        let spots: Vec<Spot> = nodes.iter().map(|(.., spot)| *spot).collect();
        let (view, demand) = (cluster(&sizes), demand(size));
        let of = |node: &NodeView| Some(spots[view.nodes.iter().position(|other| other.id == node.id)?]);
        let mut spread = Spread::new(&view, &demand, of);
        let expected = one_by_one(&view, &demand, &spots, count);
        for expected in expected {
            let chosen = spread.choose();
            if let Ok(placement) = &chosen {
                let share = &placement.shares[0];
                spread.takes(&share.node, share.ask);
            }
            let node = chosen.map(|placement| placement.shares[0].node.clone());
            prop_assert_eq!(node, expected);
        }
    }

    #[test]
    fn what_is_taken_and_left_again_changes_nothing(
        nodes in prop::collection::vec(((1_u64..9).prop_map(|size| size * 512), (0_u64..8).prop_map(|size| size * 512), spot()), 1..9),
        moves in prop::collection::vec(0_usize..9, 0..30),
    ) {
        let sizes: Vec<(u64, u64)> = nodes.iter().map(|(memory, used, _)| (*memory, *used)).collect();
        let spots: Vec<Spot> = nodes.iter().map(|(.., spot)| *spot).collect();
        let (view, demand) = (cluster(&sizes), demand(512));
        let of = |node: &NodeView| Some(spots[view.nodes.iter().position(|other| other.id == node.id)?]);
        let mut spread = Spread::new(&view, &demand, of);
        let before = (spread.choose(), spread.empty.clone(), spread.with_room);
        moves.iter().for_each(|node| spread.takes(&id(*node), demand.unit));
        moves.iter().for_each(|node| spread.leaves(&id(*node), demand.unit));
        prop_assert!(spread.shared.is_empty());
        prop_assert_eq!((spread.choose(), spread.empty.clone(), spread.with_room), before);
    }
}

#[test]
fn nodes_for_thousands_are_chosen_in_one_pass() {
    let view = cluster(&[(4096, 0); 5_000]);
    let demand = demand(1024);
    let mut spread = Spread::new(&view, &demand, |_| Some(PLAIN));
    let mut seen = BTreeSet::new();
    for number in 0..12_000 {
        let placement = spread.choose().unwrap();
        let share = &placement.shares[0];
        spread.takes(&share.node, share.ask);
        seen.insert(share.node.clone());
        assert_eq!(spread.is_everywhere(), number >= 4_999);
    }
    assert_eq!(seen.len(), 5_000);
    // Each node once to begin with, and two looks for each container.
    assert!(spread.looks() <= 5_000 + 2 * 12_000, "{}", spread.looks());
}
