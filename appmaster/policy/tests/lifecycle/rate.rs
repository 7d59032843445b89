//! Whatever the cluster says and the allocator answers: askings keep their distance, and every
//! container that was granted is started or given back, once.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use policy::NodeShare;
use policy::gang::Chance;

/// What may be done to the machine, with a span before it.
#[derive(Clone, Debug)]
enum Move {
    Snapshot {
        taste: u64,
    },
    SnapshotFailed,
    Grant {
        node: usize,
        rounds_ago: u32,
    },
    Lose {
        which: usize,
    },
    Tick,
    /// To the machine's own next wake.
    Wake,
}

const NODES: usize = 6;

/// Any nodes at all beside those held; which ones is in the view's step.
fn whimsical(
    demand: &Demand,
    view: &ClusterView,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    let mut chance = Chance::new(view.step.0);
    let mut draw = |most: u64| chance.between(Millis(0), Millis(most)).0;
    if draw(4) == 0 {
        return Err(Rejection::NoNodes);
    }
    if draw(8) == 0 {
        return Err(Rejection::UnitTooLarge {
            unit: demand.unit,
            largest: demand.unit,
        });
    }
    let mut shares = held.to_vec();
    for node in &view.nodes {
        if draw(1) == 0 && held.iter().all(|share| share.node != node.id) {
            shares.push(NodeShare {
                node: node.id.clone(),
                host: node.host.clone(),
                rack: node.rack.clone(),
                processes: 1,
                ask: Resources::new(1024 * (1 + draw(1)), 1),
            });
        }
    }
    match shares.is_empty() {
        true => Err(Rejection::NoNodes),
        false => Ok(Placement { shares }),
    }
}

fn any_move() -> impl Strategy<Value = (u64, Move)> {
    let what = prop_oneof![
        4 => any::<u64>().prop_map(|taste| Move::Snapshot { taste }),
        1 => Just(Move::SnapshotFailed),
        3 => (1..=NODES, 0u32..3).prop_map(|(node, rounds_ago)| Move::Grant { node, rounds_ago }),
        1 => (0usize..4).prop_map(|which| Move::Lose { which }),
        1 => Just(Move::Tick),
        4 => Just(Move::Wake),
    ];
    (prop_oneof![Just(0u64), 1u64..50, 50u64..5_000], what)
}

/// What the machine has made of the containers so far.
#[derive(Default)]
struct Ledger {
    /// Granted, and neither started, given back nor lost.
    open: BTreeSet<ContainerId>,
    asked: Vec<Millis>,
    round: u32,
    /// Outstanding by the words of the machine: node and the round it was asked in.
    requests: BTreeMap<NodeId, u32>,
    started: bool,
    looks: u32,
}

impl Ledger {
    fn enter(&mut self, now: Millis, actions: &[LifecycleAction]) -> Result<(), TestCaseError> {
        for action in actions {
            match action {
                LifecycleAction::Ask {
                    round,
                    placement,
                    held,
                    kept,
                } => {
                    let nodes = placement.shares.iter().map(|share| &share.node);
                    let before = std::mem::take(&mut self.requests);
                    for node in nodes {
                        let standing = before.get(node);
                        prop_assert!(!kept.contains(node) || standing.is_some());
                        if !held.contains(node) {
                            let standing = standing.filter(|_| kept.contains(node));
                            let round = standing.unwrap_or(round);
                            self.requests.insert(node.clone(), *round);
                        }
                    }
                    if !placement.shares.is_empty() {
                        prop_assert!(*round > self.round);
                        self.round = *round;
                        self.asked.push(now);
                    }
                }
                LifecycleAction::Release { containers, .. } => {
                    for container in containers {
                        prop_assert!(self.open.remove(container), "{container} went back twice");
                    }
                }
                LifecycleAction::Start(seats) => {
                    self.started = true;
                    for seat in seats {
                        prop_assert!(self.open.remove(&seat.container));
                    }
                }
                LifecycleAction::TakeSnapshot => self.looks += 1,
                _ => {}
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn askings_keep_their_distance_and_no_container_is_forgotten(
        moves in proptest::collection::vec(any_move(), 1..120),
        seed: u64,
        gang in 1_000u64..60_000,
    ) {
        let gang = GangLimits { gather: Millis(gang), ..GangLimits::default() };
        let limits = LifecycleLimits { gang, ..LifecycleLimits::default() };
        let mut job = MpiMachine::new(demand(3), limits, seed).placed_by(whimsical);
        let mut ledger = Ledger::default();
        let mut now = Millis(0);
        ledger.enter(now, &job.step(now, LifecycleEvent::Registered))?;
        let mut granted = 0usize;
        for (span, what) in moves {
            now = now.plus(Millis(span));
            let event = match what {
                Move::Snapshot { taste } => {
                    let mut view = cluster(NODES, 0);
                    view.step = MiB(taste);
                    LifecycleEvent::Snapshot(view)
                }
                Move::SnapshotFailed => LifecycleEvent::SnapshotFailed("no answer".into()),
                Move::Grant { node, rounds_ago } => {
                    granted += 1;
                    let node = NodeId(format!("n{node}:1"));
                    let round = match rounds_ago {
                        0 => ledger.requests.get(&node).copied().unwrap_or(ledger.round),
                        ago => ledger.round.saturating_sub(ago),
                    };
                    let container = ContainerId(format!("c{granted}"));
                    ledger.open.insert(container.clone());
                    LifecycleEvent::Granted(Grant {
                        container,
                        node,
                        resources: Resources::new(1024, 1),
                        round,
                    })
                }
                Move::Lose { which } => {
                    let Some(container) = ledger.open.iter().nth(which).cloned() else {
                        continue;
                    };
                    ledger.open.remove(&container);
                    LifecycleEvent::ContainerEnded {
                        container,
                        status: -100,
                        diagnostics: String::new(),
                    }
                }
                Move::Tick => LifecycleEvent::Tick,
                Move::Wake => {
                    now = now.max(job.wakes_at().unwrap_or(now));
                    LifecycleEvent::Tick
                }
            };
            ledger.enter(now, &job.step(now, event))?;
            if job.is_over() || ledger.started {
                prop_assert!(ledger.open.is_empty(), "kept {:?}", ledger.open);
                break;
            }
            let held: BTreeSet<ContainerId> = job.gang().held().into_iter().collect();
            prop_assert_eq!(&held, &ledger.open);
        }
        for pair in ledger.asked.windows(2) {
            prop_assert!(pair[1].0 - pair[0].0 >= 3_000, "asked at {pair:?}");
        }
    }
}
