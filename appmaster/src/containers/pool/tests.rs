use std::num::NonZeroU32;

use job::StagingFolder;
use job::element::{Scan, Trust};
use policy::gang::GangPhase;
use policy::{ClusterView, MiB, NodeId, NodeView, ResourceTypes, Resources};

use super::*;

pub(crate) fn plan(containers: u32) -> SessionPlan {
    SessionPlan {
        name: "s".into(),
        containers: NonZeroU32::new(containers).unwrap(),
        first: NonZeroU32::new(containers).unwrap(),
        most: NonZeroU32::new(containers).unwrap(),
        idle_container: Millis(60_000),
        slots: NonZeroU32::new(2).unwrap(),
        gpu_slots: NonZeroU32::new(2).unwrap(),
        room: NonZeroU32::new(2).unwrap(),
        slot: Resources::new(512, 1),
        types: ResourceTypes::default(),
        policy: "fifo".into(),
        core_slots: None,
        is_strict: false,
        running: None,
        idle: None,
        scan: Scan::default(),
        elements: Trust::Scan,
        local_disk: 0,
        local_disks: Default::default(),
        disk_percent: 85,
        is_owned: false,
        ends_with_job: false,
        exclude: Vec::new(),
        staging: StagingFolder {
            address: storage::Address::Shared,
            path: "/staging".into(),
        },
        record: None,
    }
}

pub(in crate::containers) fn view(nodes: u32) -> ClusterView {
    let node = |number| NodeView {
        id: NodeId(format!("n{number}:1")),
        host: format!("n{number}"),
        rack: "/r".into(),
        capability: Resources::new(4096, 4),
        ..NodeView::default()
    };
    ClusterView {
        nodes: (1..=nodes).map(node).collect(),
        maximum: Resources::new(4096, 4),
        step: MiB(512),
        ..ClusterView::default()
    }
}

/// The same nodes, of which the first have so much in use, MiB.
pub(super) fn used(mut view: ClusterView, each: &[u64]) -> ClusterView {
    for (node, used) in view.nodes.iter_mut().zip(each) {
        node.used = Resources::new(*used, 0);
    }
    view
}

pub(in crate::containers) fn id(number: u32) -> ContainerId {
    ContainerId(format!("c{number}"))
}

/// Grants all that is asked for, container by container from `first`.
pub(super) fn granted(pool: &mut Pool, now: Millis, wants: Vec<Want>, first: u32) -> Vec<Want> {
    let mut all = Vec::new();
    let mut number = first;
    for want in wants {
        let Want::Ask(request, asking) = want else {
            continue;
        };
        for share in asking.fresh() {
            let grant = Grant {
                container: id(number),
                node: share.node.clone(),
                resources: share.ask,
                round: asking.round,
            };
            number += 1;
            all.extend(pool.granted(now, request, grant));
        }
    }
    all
}

/// The container of this number, for the first share of what is asked for.
pub(in crate::containers) fn granted_one(asking: &Asking, number: u32) -> Grant {
    let share = asking.fresh().next().unwrap();
    Grant {
        container: id(number),
        node: share.node.clone(),
        resources: share.ask,
        round: asking.round,
    }
}

fn started(wants: &[Want]) -> Vec<&ContainerId> {
    let started = wants.iter().filter_map(|want| match want {
        Want::Start(container) => Some(container),
        _ => None,
    });
    started.collect()
}

pub(super) fn asked(wants: &[Want]) -> Vec<NodeId> {
    let asked = wants.iter().filter_map(|want| match want {
        Want::Ask(_, asking) => Some(asking.fresh().map(|share| share.node.clone())),
        _ => None,
    });
    asked.flatten().collect()
}

pub(super) fn released(wants: &[Want]) -> Vec<ContainerId> {
    let released = wants.iter().filter_map(|want| match want {
        Want::Release(all) => Some(all.clone()),
        _ => None,
    });
    released.flatten().collect()
}

#[test]
fn containers_lie_on_as_many_nodes_and_one_that_is_lost_is_replaced_elsewhere() {
    let mut pool = Pool::new(plan(2), 1);
    let now = Millis(0);
    assert!(matches!(pool.begin(now)[..], [Want::Snapshot]));
    let wants = pool.snapshot(now, &Ok(view(3)));
    let nodes = asked(&wants);
    assert_eq!(nodes.len(), 2);
    assert_ne!(nodes[0], nodes[1]);
    let wants = granted(&mut pool, now, wants, 1);
    assert_eq!(started(&wants), [&id(1), &id(2)]);
    assert_eq!(pool.missing(), 2);
    for number in [1, 2] {
        let wants = pool.joined(&id(number), BTreeMap::new(), &[]);
        let [Want::Offer(offer)] = &wants[..] else {
            panic!("{wants:?}");
        };
        assert_eq!((offer.size(), offer.pool.memory), (2, MiB(1024)));
    }
    assert_eq!((pool.missing(), pool.wakes_at()), (0, None));

    let now = Millis(60_000);
    let wants = pool.lost(now, &id(1), true);
    assert!(wants.iter().any(|want| matches!(want, Want::Withdraw(_))));
    assert!(wants.iter().any(|want| matches!(want, Want::Snapshot)));
    assert_eq!(pool.missing(), 1);
    let wants = pool.snapshot(now, &Ok(view(3)));
    assert!(!nodes.contains(&asked(&wants)[0]));
    let wants = granted(&mut pool, now, wants, 3);
    assert_eq!(started(&wants), [&id(3)]);
    pool.joined(&id(3), BTreeMap::new(), &[]);
    // No node is left, and none has room.
    pool.lost(now, &id(2), true);
    let full = || Ok(used(view(3), &[4096; 3]));
    assert!(asked(&pool.snapshot(now, &full())).is_empty());
    assert!(pool.is_everywhere() && pool.has_no_node());
    let later = now.plus(AVOID);
    assert!(matches!(pool.tick(later)[..], [Want::Snapshot]));
    assert_eq!(asked(&pool.snapshot(later, &full())).len(), 1);
    let wants = pool.end();
    assert!(
        matches!(&wants[..], [Want::Ask(_, none), Want::Release(all)]
            if none.placement.shares.is_empty() && *all == [id(3)]),
        "{wants:?}"
    );
}

/// Without any container a node that has lost some is better than none, after a while.
#[test]
fn the_only_node_is_tried_again_soon() {
    let mut pool = Pool::new(plan(1), 1);
    pool.begin(Millis(0));
    let wants = pool.snapshot(Millis(0), &Ok(view(1)));
    granted(&mut pool, Millis(0), wants, 1);
    pool.joined(&id(1), BTreeMap::new(), &[]);
    let lost = Millis(60_000);
    pool.lost(lost, &id(1), true);
    assert_eq!(asked(&pool.snapshot(lost, &Ok(view(1)))), []);
    assert!(pool.is_everywhere());
    let soon = lost.plus(AVOID_ALONE);
    assert!(pool.wakes_at().is_some_and(|at| at <= soon));
    assert!(matches!(pool.tick(soon)[..], [Want::Snapshot]));
    assert_eq!(asked(&pool.snapshot(soon, &Ok(view(1)))).len(), 1);
}

#[test]
fn what_comes_is_used_and_what_does_not_is_waited_for() {
    let mut pool = Pool::new(plan(3), 1);
    let now = Millis(0);
    pool.begin(now);
    // Room for one container on each of two nodes.
    let wants = pool.snapshot(now, &Ok(used(view(2), &[3072; 2])));
    let wants = granted(&mut pool, now, wants, 1);
    assert_eq!(started(&wants).len(), 2);
    assert_eq!(pool.missing(), 3);
    pool.joined(&id(1), BTreeMap::new(), &[]);
    pool.joined(&id(2), BTreeMap::new(), &[]);
    assert_eq!(pool.missing(), 1);
    assert!(matches!(pool.phase(), Some(GangPhase::WaitingForRoom(_))));
    assert!(pool.wakes_at().is_some());
}

#[test]
fn a_launcher_that_does_not_join_is_replaced() {
    let mut pool = Pool::new(plan(1), 1);
    let now = Millis(0);
    pool.begin(now);
    let wants = pool.snapshot(now, &Ok(view(2)));
    granted(&mut pool, now, wants, 1);
    assert_eq!(pool.wakes_at(), Some(JOIN));
    let wants = pool.tick(JOIN);
    assert!(matches!(&wants[0], Want::Release(back) if *back == [id(1)]));
    let wants = pool.snapshot(JOIN, &Ok(view(2)));
    let wants = granted(&mut pool, JOIN, wants, 2);
    assert_eq!(started(&wants), [&id(2)]);
    // It comes too late.
    assert!(pool.joined(&id(1), BTreeMap::new(), &[]).is_empty());
}

#[test]
fn a_cluster_whose_nodes_are_too_small_is_said() {
    let mut pool = Pool::new(
        SessionPlan {
            slot: Resources::new(4096, 1),
            ..plan(1)
        },
        1,
    );
    pool.begin(Millis(0));
    let wants = pool.snapshot(Millis(0), &Ok(view(2)));
    assert!(
        wants.iter().any(|want| matches!(want, Want::GiveUp(_))),
        "{wants:?}"
    );
}

/// What YARN refuses is not asked for at once again, and the nodes are looked at before.
#[test]
fn a_place_whose_request_is_refused_is_asked_for_anew_after_a_while() {
    let mut pool = Pool::new(plan(2), 1);
    let now = Millis(0);
    pool.begin(now);
    let wants = pool.snapshot(now, &Ok(view(2)));
    assert_eq!(asked(&wants).len(), 2);
    // What is no place's any more, or has come, is nothing to it.
    assert!(
        pool.refused(now, &BTreeSet::from([9]), "no".into())
            .is_empty()
    );
    pool.refused(now, &BTreeSet::from([1]), "too large".into());
    assert_eq!(pool.missing(), 2);
    assert_eq!(pool.refusal(), Some("too large"));
    // The other goes on.
    let wants = granted(&mut pool, now, wants, 1);
    assert_eq!(started(&wants), [&id(1)]);
    assert_eq!(released(&wants), [id(2)]);
    pool.joined(&id(1), BTreeMap::new(), &[]);
    assert_eq!(pool.wakes_at(), Some(LOOK_AGAIN));
    assert!(matches!(pool.tick(LOOK_AGAIN)[..], [Want::Snapshot]));
    let wants = pool.snapshot(LOOK_AGAIN, &Ok(view(2)));
    assert_eq!(asked(&wants).len(), 1);
}

#[test]
fn what_the_resource_manager_refused_is_not_said_when_it_has_taken_it() {
    let mut pool = Pool::new(plan(2), 1);
    let now = Millis(0);
    pool.begin(now);
    let wants = pool.snapshot(now, &Ok(view(2)));
    let one = BTreeSet::from([1]);
    pool.refused(now, &one, "too large".into());
    // The other size, or the same after a while.
    pool.taken();
    assert_eq!((pool.missing(), pool.refusal()), (2, None));
    pool.refused(now, &one, "too large".into());
    granted(&mut pool, now, wants, 1);
    assert_eq!((pool.missing(), pool.refusal()), (2, None));
}

#[test]
fn a_node_is_left_alone_when_it_loses_a_second_container() {
    let mut pool = Pool::new(plan(1), 1);
    pool.begin(Millis(0));
    let mut now = Millis(0);
    let mut nodes = Vec::new();
    for number in 1..=3 {
        let wants = pool.snapshot(now, &Ok(view(2)));
        nodes.extend(asked(&wants));
        granted(&mut pool, now, wants, number);
        pool.joined(&id(number), BTreeMap::new(), &[]);
        now = now.plus(Millis(60_000));
        pool.lost(now, &id(number), false);
    }
    assert_eq!(nodes[0], nodes[1]);
    assert_ne!(nodes[1], nodes[2]);
}

/// The same nodes, and YARN counts so many GPUs of each.
fn with_gpus(mut view: ClusterView, each: &[u64]) -> ClusterView {
    view.types = ResourceTypes::new(["acc/gpu", "license"]);
    for (node, count) in view.nodes.iter_mut().zip(each) {
        let of = |name: &str| Some(if name == "acc/gpu" { *count } else { 9 });
        node.capability.counts = view.types.counts(of);
    }
    view.maximum.counts = view.types.counts(|_| Some(100));
    view
}

/// What is asked for: memory and GPUs.
fn sizes(wants: &[Want], types: &ResourceTypes) -> Vec<(u64, Vec<(String, u64)>)> {
    let asked = wants.iter().filter_map(|want| match want {
        Want::Ask(_, asking) => Some(asking.fresh().map(|share| share.ask).collect::<Vec<_>>()),
        _ => None,
    });
    let of = |ask: Resources| {
        let counts = types.named(ask.counts);
        let counts = counts.map(|(name, count)| (name.to_owned(), count));
        (ask.memory.0, counts.collect())
    };
    asked.flatten().map(of).collect()
}

#[test]
fn a_node_s_gpus_are_asked_for_with_its_container_which_has_more_slots_there() {
    let mut plan = plan(1);
    plan.elements = Trust::Both;
    (plan.slots, plan.room) = (NonZeroU32::MIN, NonZeroU32::MIN);
    plan.gpu_slots = NonZeroU32::new(4).unwrap();
    let mut pool = Pool::new(plan.clone(), 1);
    let now = Millis(0);
    pool.begin(now);
    let seen = with_gpus(view(1), &[2]);
    let wants = pool.snapshot(now, &Ok(seen.clone()));
    // Nothing of what is no accelerator.
    let gpus = |count| vec![("acc/gpu".to_owned(), count)];
    assert_eq!(sizes(&wants, &seen.types), [(2048, gpus(2))]);
    // Another application has one now: no more is asked for than there is.
    let wants = pool.snapshot(now, &Ok(with_gpus(view(1), &[1])));
    assert_eq!(sizes(&wants, &seen.types), [(2048, gpus(1))]);
    granted(&mut pool, now, wants, 1);
    let elements: BTreeMap<String, u64> = [("gpu".to_owned(), 1)].into();
    assert_eq!(pool.slots(&id(1), &elements, &[]).len(), 4);
    // Found to be broken: the memory is there for those who come when it is back.
    let wants = pool.joined(&id(1), BTreeMap::new(), &[]);
    let [Want::Offer(offer)] = &wants[..] else {
        panic!("{wants:?}");
    };
    assert_eq!((offer.size(), offer.pool.memory), (1, MiB(2048)));

    let mut plain = Pool::new(plan, 1);
    plain.begin(now);
    let wants = plain.snapshot(now, &Ok(with_gpus(view(1), &[0])));
    assert_eq!(sizes(&wants, &seen.types), [(512, Vec::new())]);
    granted(&mut plain, now, wants, 1);
    // YARN counts none, and the launcher has found one.
    assert_eq!(plain.slots(&id(1), &elements, &[]).len(), 1);
}
