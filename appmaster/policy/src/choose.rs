//! Chooses the mode of a job that leaves it open (`-r auto`).
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, which says what each mode is good
//! for, and §VII, which names the automatic choice as future work; the rules are our own.
//!
//! Without a list of hosts or a number of nodes there is nothing to keep: mode `all`. Otherwise the
//! modes are tried, the strictest first, and the choice falls on
//! 1. the first whose containers all fit into the room there is now, none of it shared;
//! 2. else the first whose containers all fit now, shared;
//! 3. else the one whose wait is shortest, taken for: the fewest nodes waited for, then the least
//!    memory missing on them, then the fewest vcores, then the strictest. A job without room for one
//!    process anywhere waits for one node, whichever comes first, in mode `all`.
//!
//! | the program                   | order                                         |
//! |-------------------------------|-----------------------------------------------|
//! | unknown                       | `none`, `loc`, `dist`, `loc+dist`, `all`      |
//! | communicates much             | `none`, `dist`, `loc`, `loc+dist`, `all`      |
//! | computes                      | `none`, `loc`, `loc+dist`, `all`              |
//! | no list, but a number of nodes| `loc+dist`, `all`                             |
//!
//! A program that communicates much keeps the nodes that the user chose close to each other before
//! it keeps the number of processes on each; for one that computes the nodes do not matter, and
//! whatever `dist` could start, `loc+dist` starts too.
//!
//! Cost: one placement for each mode tried.

#[cfg(test)]
mod properties;

use std::collections::BTreeMap;

use crate::queue::together;
use crate::{ClusterView, Demand, MiB, Mode, NodeId, NodeView, Rejection, Vcores, allocate};

/// From this share of its time on a program is taken to communicate much: at a quarter, communication
/// that takes twice as long over distant nodes makes the run a quarter longer.
pub const COMMUNICATES_MUCH: f64 = 0.25;

/// What the choice is made from.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The job. Its mode is ignored; its list may be empty.
    pub demand: &'a Demand,
    /// The cluster now.
    pub cluster: &'a ClusterView,
    /// The share of its time that the program spent communicating, from the report of an earlier
    /// run, 0 to 1. Anything else is taken for unknown.
    pub communication_share: Option<f64>,
}

/// A mode, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The mode.
    pub mode: Mode,
    /// What comes of it.
    pub outlook: Outlook,
    /// The strictest mode, which was tried first, where another one was chosen, and what came of it.
    pub stricter: Option<(Mode, Outlook)>,
    /// It was the only one that was tried.
    pub alone: bool,
    /// The share of its time that the program spent communicating, where that is known.
    pub communication_share: Option<f64>,
    /// The demand in that mode; without its list in mode `all`, which keeps to none.
    pub demand: Demand,
}

/// Chooses a mode. The same circumstances give the same choice.
///
/// ```
/// use std::num::NonZeroU32;
///
/// use policy::{
///     Circumstances, ClusterView, Counted, Demand, MiB, Mode, NodeId, NodeView, Outlook, Resources,
///     choose,
/// };
///
/// let processes = NonZeroU32::new(4).unwrap();
/// let demand = Demand::anywhere(processes, Resources::new(1024, 1));
/// let node = NodeView {
///     id: NodeId("n1:45454".into()),
///     host: "n1".into(),
///     rack: "/default-rack".into(),
///     capability: Resources::new(8192, 8),
///     used: Resources::new(6144, 6),
///     ..NodeView::default()
/// };
/// let cluster = ClusterView {
///     nodes: vec![node],
///     maximum: Resources::new(8192, 4),
///     step: MiB(1024),
///     counted: Counted::Memory,
///     ..ClusterView::default()
/// };
/// let choice = choose(&Circumstances {
///     demand: &demand,
///     cluster: &cluster,
///     communication_share: None,
/// });
/// assert_eq!(choice.mode, Mode::All);
/// assert_eq!(choice.outlook, Outlook::Shared);
/// ```
#[must_use]
pub fn choose(circumstances: &Circumstances<'_>) -> Choice {
    let demand = circumstances.demand;
    let share = circumstances
        .communication_share
        .filter(|share| (0.0..=1.0).contains(share));
    let trials: Vec<Trial> = order(demand, share)
        .iter()
        .map(|mode| Trial::new(demand, circumstances.cluster, *mode))
        .collect();
    let chosen = best(&trials);
    let stricter = trials
        .first()
        .filter(|first| first.demand.mode != chosen.demand.mode);
    Choice {
        mode: chosen.demand.mode,
        outlook: chosen.outlook.clone(),
        stricter: stricter.map(|first| (first.demand.mode, first.outlook.clone())),
        alone: trials.len() == 1,
        communication_share: share,
        demand: chosen.demand.clone(),
    }
}

fn order(demand: &Demand, share: Option<f64>) -> &'static [Mode] {
    if demand.listed.is_empty() {
        return match demand.nodes {
            Some(_) => &[Mode::LocDist, Mode::All],
            None => &[Mode::All],
        };
    }
    match share {
        Some(share) if share >= COMMUNICATES_MUCH => {
            &[Mode::None, Mode::Dist, Mode::Loc, Mode::LocDist, Mode::All]
        }
        Some(_) => &[Mode::None, Mode::Loc, Mode::LocDist, Mode::All],
        None => &Mode::EVERY,
    }
}

/// One mode, tried.
struct Trial {
    demand: Demand,
    outlook: Outlook,
}

/// What comes of a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// All containers fit now, unshared.
    Whole,
    /// All containers fit now.
    Shared,
    /// Some do not.
    Waits(Wait),
    /// It can never be placed.
    Never(Box<Rejection>),
}

/// What a placement waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Hosts that have too little room now; empty when whichever comes first will do.
    pub hosts: Vec<String>,
    /// The queue gives too little now.
    pub queue: bool,
    /// Memory that is missing.
    pub memory: MiB,
    /// Vcores that are missing.
    pub vcores: Vcores,
}

impl Trial {
    fn new(demand: &Demand, cluster: &ClusterView, mode: Mode) -> Self {
        let mut demand = Demand {
            mode,
            ..demand.clone()
        };
        if mode == Mode::All {
            demand.listed = Vec::new();
            demand.nodes = None;
        }
        let outlook = Outlook::new(&demand, cluster);
        Self { demand, outlook }
    }
}

impl Outlook {
    fn new(demand: &Demand, cluster: &ClusterView) -> Self {
        let mut wait = Wait {
            hosts: Vec::new(),
            queue: false,
            memory: MiB(0),
            vcores: Vcores(0),
        };
        let placement = match allocate::place(demand, cluster, &[]) {
            Ok(placement) => placement,
            Err(Rejection::QueueFull { left, unit, .. }) => {
                wait.queue = true;
                wait.memory = unit.minus(left).memory;
                return Self::Waits(wait);
            }
            Err(Rejection::NoRoomNow { unit, freest, .. }) => {
                wait.memory = MiB(unit.memory.0.saturating_sub(freest.0));
                return Self::Waits(wait);
            }
            Err(rejection) if rejection.may_pass() => {
                wait.memory = demand.unit.memory;
                return Self::Waits(wait);
            }
            Err(rejection) => return Self::Never(Box::new(rejection)),
        };
        let nodes: BTreeMap<&NodeId, &NodeView> =
            cluster.nodes.iter().map(|node| (&node.id, node)).collect();
        let mut whole = true;
        for share in &placement.shares {
            let room = nodes.get(&share.node).map(|node| cluster.room(node));
            let room = room.unwrap_or_default();
            if !cluster.fits(share.ask, room) {
                let missing = share.ask.minus(room);
                wait.hosts.push(share.host.clone());
                wait.memory = MiB(wait.memory.0.saturating_add(missing.memory.0));
                wait.vcores = Vcores(wait.vcores.0.saturating_add(missing.vcores.0));
            }
            whole &= cluster.fits(demand.unit.times(share.processes), share.ask);
        }
        let asks = placement.shares.iter().map(|share| share.ask);
        if let Some(left) = cluster.queue.headroom {
            let wanted = together(asks, cluster.step);
            wait.queue = !cluster.fits(wanted, left);
            if wait.queue {
                wait.memory = wait.memory.max(wanted.minus(left).memory);
            }
        }
        match (wait.hosts.is_empty() && !wait.queue, whole) {
            (false, _) => Self::Waits(wait),
            (true, true) => Self::Whole,
            (true, false) => Self::Shared,
        }
    }

    /// Smaller is better.
    fn rank(&self) -> (u8, usize, MiB, Vcores) {
        match self {
            Self::Whole => (0, 0, MiB(0), Vcores(0)),
            Self::Shared => (1, 0, MiB(0), Vcores(0)),
            Self::Waits(wait) => (2, wait.hosts.len().max(1), wait.memory, wait.vcores),
            Self::Never(_) => (3, 0, MiB(0), Vcores(0)),
        }
    }
}

/// The best of `trials`, which are never none; of equals the first.
fn best(trials: &[Trial]) -> &Trial {
    let mut best = &trials[0];
    for trial in trials {
        if trial.outlook.rank() < best.outlook.rank() {
            best = trial;
        }
    }
    best
}
