//! What holds for every cluster and every demand.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::place;
use super::rack::units_now;
use super::reasons::reasons;
use super::rest::Rest;
use crate::{
    ClusterView, Counted, Demand, ListedHost, MiB, Mode, Near, NodeId, NodeShare, NodeView,
    Numbering, Placement, Rejection, Resources, degraded,
};

const CASES: u32 = 2000;

fn place_fresh(demand: &Demand, cluster: &ClusterView) -> Result<Placement, Rejection> {
    place(demand, cluster, &[])
}

/// Nothing, everything, or some of it, in percent.
fn any_share() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0u64), 2 => Just(100), 3 => 0u64..=100]
}

prop_compose! {
    fn any_node()(
        id in 0u32..60, rack in 0u32..3,
        memory in prop_oneof![1 => 0u64..20_000, 3 => 4_000u64..20_000], vcores in 0u32..12,
        used_memory in any_share(), used_vcores in any_share(),
    ) -> NodeView {
        let used_vcores = u64::from(vcores) * used_vcores / 100;
        NodeView {
            id: NodeId(format!("n{id:02}:45454")),
            host: format!("n{id:02}"),
            rack: format!("/r{rack}"),
            capability: Resources::new(memory, vcores),
            used: Resources::new(memory * used_memory / 100, u32::try_from(used_vcores).unwrap()),
            ..NodeView::default()
        }
    }
}

prop_compose! {
    fn any_cluster()(
        nodes in proptest::collection::vec(any_node(), 0..24),
        maximum in 1u64..20, vcores in 1u32..12,
        step in prop_oneof![Just(1u64), Just(512), Just(1024), Just(1536)],
        counts_vcores: bool,
    ) -> ClusterView {
        // By id, each once.
        let nodes: BTreeMap<String, NodeView> =
            nodes.into_iter().map(|node| (node.host.clone(), node)).collect();
        ClusterView {
            nodes: nodes.into_values().collect(),
            maximum: Resources::new(maximum * 1024, vcores),
            step: MiB(step),
            counted: if counts_vcores { Counted::MemoryAndVcores } else { Counted::Memory },
            ..ClusterView::default()
        }
    }
}

prop_compose! {
    /// Entries on hosts of `view`, a few without a host or on one that is not there.
    fn any_list(view: ClusterView)(
        entries in proptest::collection::vec((0usize..24, 1u32..7, 0u32..60), 0..10),
    ) -> Vec<ListedHost> {
        let mut taken = BTreeSet::new();
        let mut listed = Vec::new();
        for (node, processes, odd) in entries {
            let index = node % view.nodes.len().max(1);
            let host = match (odd, view.nodes.get(index)) {
                (0, _) => None,
                (1, _) => Some("gone".to_owned()),
                (_, node) => node.map(|node| node.host.clone()),
            };
            if host.is_none() || taken.insert(host.clone()) {
                listed.push(ListedHost { host, processes });
            }
        }
        listed
    }
}

prop_compose! {
    fn any_demand(view: ClusterView)(
        listed in any_list(view),
        processes in 1u32..80, nodes in 0u32..8,
        memory in prop_oneof![Just(512u64), Just(1000), Just(1024), Just(2048)], vcores in 1u32..3,
        mode in proptest::sample::select(&Mode::EVERY[..]),
        oversubscribe: bool, memory_is_explicit in proptest::bool::weighted(0.25),
        pack in proptest::bool::weighted(0.25), same_rack in proptest::bool::weighted(0.25),
        sort_nodes in proptest::bool::weighted(0.75),
        near in prop_oneof![3 => Just(BTreeMap::new()), 1 => proptest::collection::btree_map(0u32..60, 0u64..9, 0..20)],
    ) -> Demand {
        let mut listed = listed;
        // A job without a list, in the modes that take one.
        let by_number = matches!(mode, Mode::LocDist) && nodes > 3;
        if mode == Mode::All || by_number {
            listed.clear();
        }
        let sum = listed.iter().map(|entry| entry.processes).sum();
        Demand {
            processes: NonZeroU32::new(sum).or(NonZeroU32::new(processes)).unwrap(),
            unit: Resources::new(memory, vcores),
            memory_is_explicit,
            oversubscribe,
            mode,
            listed,
            nodes: if by_number { NonZeroU32::new(nodes) } else { None },
            pack,
            same_rack,
            sort_nodes,
            numbering: Numbering::Slot,
            near: Near {
                of: "hdfs://h:8020/d".into(),
                held: near.into_iter().map(|(id, bytes)| (format!("n{id:02}"), bytes << 20)).collect(),
            },
        }
    }
}

fn any_case() -> impl Strategy<Value = (ClusterView, Demand)> {
    any_cluster().prop_flat_map(|view| (Just(view.clone()), any_demand(view)))
}

fn node_of<'a>(view: &'a ClusterView, share: &NodeShare) -> &'a NodeView {
    view.nodes.iter().find(|n| n.id == share.node).unwrap()
}

fn fits_now(view: &ClusterView, placement: &Placement) -> bool {
    let mut shares = placement.shares.iter();
    shares.all(|share| view.fits(share.ask, view.room(node_of(view, share))))
}

/// Whole units that all rooms hold.
fn rooms(demand: &Demand, view: &ClusterView) -> u64 {
    let rest = Rest::new(demand, view, &[], demand.processes.get());
    rest.map_or(0, |rest| units_now(&rest.candidates))
}

/// The cluster with the containers of `held` in it.
fn with_held(view: &ClusterView, held: &[NodeShare]) -> ClusterView {
    let mut view = view.clone();
    for node in &mut view.nodes {
        for share in held.iter().filter(|share| share.node == node.id) {
            let left = node.capability.minus(node.used).minus(share.ask);
            node.used = node.capability.minus(left);
        }
    }
    view
}

/// What holds of each share that is not held.
fn check_shares(
    demand: &Demand,
    view: &ClusterView,
    shares: &[NodeShare],
) -> Result<(), TestCaseError> {
    for share in shares {
        let node = node_of(view, share);
        let whole = demand.unit.times(share.processes);
        prop_assert!(share.processes > 0);
        prop_assert_eq!((&share.host, &share.rack), (&node.host, &node.rack));
        prop_assert!(
            view.fits(share.ask, view.ceiling(node)),
            "beyond the ceiling: {share:?}"
        );
        prop_assert!(
            view.fits(demand.unit, share.ask),
            "less than one unit: {share:?}"
        );
        prop_assert!(share.ask.memory <= whole.memory && share.ask.vcores <= whole.vcores);
        if view.counted == Counted::Memory {
            prop_assert_eq!(share.ask.vcores, whole.vcores.min(view.maximum.vcores));
        }
        if !demand.oversubscribe {
            prop_assert!(view.fits(whole, share.ask), "not k units: {share:?}");
        }
        if demand.memory_is_explicit {
            prop_assert_eq!(share.ask.memory, whole.memory);
        }
        let room = view.room(node);
        if view.fits(whole, room) {
            prop_assert!(
                view.fits(whole, share.ask),
                "shrunk without need: {share:?}"
            );
        } else if demand.oversubscribe && !demand.memory_is_explicit && view.fits(demand.unit, room)
        {
            prop_assert!(view.fits(share.ask, room), "waits without need: {share:?}");
        }
    }
    Ok(())
}

fn check_placement(
    demand: &Demand,
    view: &ClusterView,
    placement: &Placement,
) -> Result<(), TestCaseError> {
    let shares = &placement.shares;
    let placed: u32 = shares.iter().map(|share| share.processes).sum();
    prop_assert_eq!(placed, demand.processes.get());
    let nodes: BTreeSet<&NodeId> = shares.iter().map(|share| &share.node).collect();
    prop_assert_eq!(nodes.len(), shares.len(), "a node has two containers");

    let hosts = || shares.iter().map(|share| Some(share.host.clone()));
    let numbers = || shares.iter().map(|share| share.processes);
    let listed_hosts = || demand.listed.iter().map(|entry| entry.host.clone());
    let listed_numbers = || demand.listed.iter().map(|entry| entry.processes);
    match demand.mode {
        Mode::None => {
            prop_assert!(hosts().eq(listed_hosts()));
            prop_assert!(numbers().eq(listed_numbers()));
        }
        Mode::Loc => prop_assert!(numbers().eq(listed_numbers())),
        Mode::Dist => prop_assert!(hosts().eq(listed_hosts())),
        Mode::LocDist => {
            let wanted = match demand.nodes {
                Some(nodes) => usize::try_from(nodes.get()).unwrap(),
                None => demand.listed.len(),
            };
            prop_assert_eq!(shares.len(), wanted);
        }
        Mode::All if demand.oversubscribe && !demand.memory_is_explicit => {
            prop_assert!(fits_now(view, placement));
        }
        Mode::All => {}
    }
    check_shares(demand, view, shares)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn a_placement_keeps_what_its_mode_keeps((view, demand) in any_case()) {
        if let Ok(placement) = place_fresh(&demand, &view) {
            check_placement(&demand, &view, &placement)?;
        }
    }

    #[test]
    fn the_order_of_the_node_list_is_irrelevant(
        ((view, demand), by) in (any_case(), 0usize..24),
    ) {
        let mut turned = view.clone();
        turned.nodes.reverse();
        let by = by % turned.nodes.len().max(1);
        turned.nodes.rotate_left(by);
        prop_assert_eq!(place_fresh(&demand, &view), place_fresh(&demand, &turned));
    }

    #[test]
    fn the_same_input_gives_the_same_bytes((view, demand) in any_case()) {
        let bytes = || {
            let placement = place_fresh(&demand, &view);
            let reasons = placement.as_ref().map(|placement| reasons(&demand, &view, placement));
            format!("{placement:?} {reasons:?}")
        };
        prop_assert_eq!(bytes(), bytes());
    }

    #[test]
    fn more_room_never_makes_a_placeable_job_unplaceable(
        ((view, demand), kept) in (any_case(), proptest::collection::vec((0u64..=100, 0u64..=100), 24)),
    ) {
        if place_fresh(&demand, &view).is_ok() {
            let mut freer = view;
            for (node, (memory, vcores)) in freer.nodes.iter_mut().zip(kept) {
                node.used.memory.0 = node.used.memory.0 * memory / 100;
                node.used.vcores.0 = u32::try_from(u64::from(node.used.vcores.0) * vcores / 100).unwrap();
            }
            prop_assert!(place_fresh(&demand, &freer).is_ok());
        }
    }

    #[test]
    fn what_cannot_pass_fails_on_the_empty_cluster_too((view, demand) in any_case()) {
        let answer = place_fresh(&demand, &view);
        let mut empty = view;
        for node in &mut empty.nodes {
            node.used = Resources::default();
        }
        match answer {
            Err(rejection) if rejection.may_pass() => {
                prop_assert!(empty.nodes.is_empty() || place_fresh(&demand, &empty).is_ok());
            }
            Err(rejection) => prop_assert_eq!(place_fresh(&demand, &empty), Err(rejection)),
            Ok(_) => {}
        }
    }

    #[test]
    fn mode_all_starts_at_once_and_whole_where_the_rooms_suffice((view, demand) in any_case()) {
        let demand = Demand { mode: Mode::All, listed: Vec::new(), nodes: None, ..demand };
        let wanted = u64::from(demand.processes.get());
        if rooms(&demand, &view) >= wanted {
            let placement = place_fresh(&demand, &view).unwrap();
            prop_assert!(fits_now(&view, &placement));
            for share in &placement.shares {
                let whole = demand.unit.times(share.processes);
                prop_assert!(view.fits(whole, share.ask));
            }
            let mut by_rack: BTreeMap<&str, u64> = BTreeMap::new();
            for node in &view.nodes {
                *by_rack.entry(&node.rack).or_default() += view.units_in(demand.unit, view.room(node));
            }
            if demand.same_rack && by_rack.values().any(|units| *units >= wanted) {
                let racks: BTreeSet<&str> = placement.shares.iter().map(|s| s.rack.as_str()).collect();
                prop_assert_eq!(racks.len(), 1);
            }
        }
    }

    #[test]
    fn packing_uses_no_more_nodes_than_spreading((view, demand) in any_case()) {
        let demand = Demand { mode: Mode::All, listed: Vec::new(), sort_nodes: true, near: Near::default(), ..demand };
        let used = |pack| {
            let demand = Demand { pack, ..demand.clone() };
            place_fresh(&demand, &view).map(|placement| placement.shares.len())
        };
        if let (Counted::Memory, Ok(packed), Ok(spread)) = (view.counted, used(true), used(false)) {
            prop_assert!(packed <= spread, "{packed} > {spread}");
        }
        prop_assert_eq!(used(true).is_ok(), used(false).is_ok());
    }

    #[test]
    fn what_is_held_stands_first_and_its_nodes_get_nothing_more(
        ((view, demand), mask) in (any_case(), proptest::collection::vec(any::<bool>(), 24)),
    ) {
        let Ok(first) = place_fresh(&demand, &view) else {
            return Ok(());
        };
        let shares = first.shares.iter().zip(mask);
        let held: Vec<NodeShare> =
            shares.filter(|(_, held)| *held).map(|(share, _)| share.clone()).collect();
        let later = with_held(&view, &held);
        match place(&demand, &later, &held) {
            Ok(second) => {
                prop_assert_eq!(&second.shares[..held.len()], &held[..]);
                let new = &second.shares[held.len()..];
                let nodes: BTreeSet<&NodeId> = second.shares.iter().map(|s| &s.node).collect();
                prop_assert_eq!(nodes.len(), second.shares.len());
                let placed: u32 = second.shares.iter().map(|s| s.processes).sum();
                prop_assert_eq!(placed, demand.processes.get());
                check_shares(&demand, &later, new)?;
                if demand.mode != Mode::All {
                    prop_assert_eq!(second.shares.len(), first.shares.len());
                }
                match demand.mode {
                    Mode::None => prop_assert_eq!(second.in_order_of_list(&demand), first),
                    Mode::Loc => {
                        let mut numbers: Vec<u32> = second.shares.iter().map(|s| s.processes).collect();
                        let mut listed: Vec<u32> = demand.listed.iter().map(|e| e.processes).collect();
                        numbers.sort_unstable();
                        listed.sort_unstable();
                        prop_assert_eq!(numbers, listed);
                    }
                    Mode::Dist => {
                        let second = second.in_order_of_list(&demand);
                        let hosts = |p: &Placement| p.shares.iter().map(|s| s.host.clone()).collect::<Vec<_>>();
                        prop_assert_eq!(hosts(&second), hosts(&first));
                    }
                    Mode::LocDist | Mode::All => {}
                }
            }
            // The held nodes were enough for their part, so only the rest can be what fails.
            Err(rejection) => prop_assert!(rejection.may_pass(), "{rejection:?}"),
        }
    }

    #[test]
    fn every_node_has_its_reason_and_degraded_is_said_only_of_what_is_short((view, demand) in any_case()) {
        let Ok(placement) = place_fresh(&demand, &view) else {
            return Ok(());
        };
        let reasons = reasons(&demand, &view, &placement);
        prop_assert_eq!(reasons.used.len(), placement.shares.len());
        prop_assert_eq!(reasons.used.len() + reasons.passed_over.len(), view.nodes.len());
        for (share, reason) in placement.shares.iter().zip(&reasons.used) {
            let whole = demand.unit.times(share.processes);
            let short = degraded(demand.unit, view.counted, share, share.ask, None);
            prop_assert_eq!(short.is_some(), !view.fits(whole, share.ask));
            prop_assert_eq!(reason.contains("share"), short.is_some(), "{}", reason);
            let waits = !view.fits(share.ask, view.room(node_of(&view, share)));
            prop_assert_eq!(reason.contains("waits"), waits, "{}", reason);
        }
    }
}

/// The properties above say nothing of a mode that the cases never place.
#[test]
fn the_cases_reach_every_mode() {
    let mut runner = TestRunner::deterministic();
    let mut placed: BTreeMap<Mode, u32> = BTreeMap::new();
    let mut waiting = 0;
    for _ in 0..CASES {
        let (view, demand) = any_case().new_tree(&mut runner).unwrap().current();
        if let Ok(placement) = place_fresh(&demand, &view) {
            *placed.entry(demand.mode).or_default() += 1;
            waiting += u32::from(!fits_now(&view, &placement));
        }
    }
    println!("placed of {CASES}: {placed:?}; {waiting} of them wait");
    for mode in Mode::EVERY {
        assert!(placed[&mode] > CASES / 40, "{mode}: {placed:?}");
    }
    assert!(waiting > CASES / 20, "{waiting}");
}
