//! GERBIL's container allocators.
//!
//! Source: L. Xu, M. Li, A. R. Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III.
//!
//! | mode       | nodes                       | processes a node     | number of nodes   |
//! |------------|-----------------------------|----------------------|-------------------|
//! | `none`     | as listed                   | as listed            | as listed         |
//! | `loc`      | freest, largest count first | as listed            | as listed         |
//! | `dist`     | as listed                   | most room left first | as listed         |
//! | `loc+dist` | freest                      | most room left first | as listed, or `N` |
//! | `all`      | any                         | most room left first | any               |
//!
//! The differences from the paper stand at the head of each mode's file. They are: (1) `loc` goes by
//! size instead of the order of the list; (2) where the number of nodes is kept, each first gets one
//! process; (3) rooms and ceilings bound the one container of a node; (4) a full node is asked for
//! the whole size; (5) the ApplicationMaster waits, not the client before it starts; (6) degraded is
//! a fact of the grant, see [`crate::degraded()`]; (7) what the
//! queue gives the job bounds all containers together, see `budget`.
//!
//! Every answer is within what the cluster can ever give, and a process is never placed where not
//! even one fits when empty. More room never turns a job that can be placed into one that cannot.

mod all;
mod budget;
mod candidate;
mod dist;
mod listed;
mod loc;
mod loc_dist;
mod none;
#[cfg(test)]
mod properties;
mod rack;
mod reasons;
mod rest;
mod round_robin;
mod size;

pub use reasons::{Reasons, reasons, reasons_beside};

use self::budget::Budget;
use self::rest::Rest;
use crate::{ClusterView, Demand, Mode, NodeShare, Placement, Rejection};

/// A placement of every process of `demand` on `cluster`, one container a node.
///
/// `held` are the shares of an earlier placement whose containers are there already: they stand
/// first in the answer, unchanged, their nodes get nothing more, and only the rest is placed. Their
/// containers count as used in `cluster`.
///
/// Shares stand in order of the list in the modes `none`, `loc` and `dist`, freest node first in
/// `loc+dist`, and in order of first use in `all`.
///
/// # Errors
/// A [`Rejection`] with the numbers; [`Rejection::may_pass`] tells whether to look again.
///
/// # Examples
/// Eight processes of 1 GiB, listed as 2 on `a` and 6 on `b`, on nodes of 8 GiB of which `a` has 1
/// left, `b` 4, `c` 6 and `d` 4:
///
/// ```
/// use std::num::NonZeroU32;
///
/// use policy::allocate::place;
/// use policy::{ClusterView, Counted, Demand, ListedHost, MiB, Mode, NodeId, NodeView, Resources};
///
/// let node = |host: &str, free: u64| NodeView {
///     id: NodeId(format!("{host}:45454")),
///     host: host.into(),
///     rack: "/default-rack".into(),
///     capability: Resources::new(8192, 8),
///     used: Resources::new(8192 - free * 1024, 0),
///     ..NodeView::default()
/// };
/// let cluster = ClusterView {
///     nodes: vec![node("a", 1), node("b", 4), node("c", 6), node("d", 4)],
///     maximum: Resources::new(8192, 8),
///     step: MiB(1024),
///     counted: Counted::Memory,
///     ..ClusterView::default()
/// };
/// let listed = |host: &str, processes| ListedHost {
///     host: Some(host.into()),
///     processes,
/// };
/// let eight = NonZeroU32::new(8).unwrap();
/// let placed = |mode: Mode| {
///     let demand = Demand {
///         mode,
///         listed: match mode {
///             Mode::All => Vec::new(),
///             _ => vec![listed("a", 2), listed("b", 6)],
///         },
///         ..Demand::anywhere(eight, Resources::new(1024, 1))
///     };
///     let shares = place(&demand, &cluster, &[]).unwrap().shares.into_iter();
///     let words = shares.map(|s| format!("{} on {} in {}", s.processes, s.host, s.ask.memory));
///     words.collect::<Vec<_>>().join(", ")
/// };
/// // As listed; both share what their nodes have left.
/// assert_eq!(placed(Mode::None), "2 on a in 1024 MiB, 6 on b in 4096 MiB");
/// // The freest node for the six, the next for the two.
/// assert_eq!(placed(Mode::Loc), "2 on b in 2048 MiB, 6 on c in 6144 MiB");
/// // The listed nodes, by their room.
/// assert_eq!(placed(Mode::Dist), "3 on a in 1024 MiB, 5 on b in 4096 MiB");
/// // The two freest nodes, by their room.
/// assert_eq!(placed(Mode::LocDist), "5 on c in 5120 MiB, 3 on b in 3072 MiB");
/// // Any nodes, by their room.
/// assert_eq!(placed(Mode::All), "4 on c in 4096 MiB, 2 on b in 2048 MiB, 2 on d in 2048 MiB");
/// ```
pub fn place(
    demand: &Demand,
    cluster: &ClusterView,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    match beside(demand, cluster, held) {
        // The containers that are held may be what stands in the way: then it helps to let them go.
        Err(why) if !held.is_empty() && !why.may_pass() => match beside(demand, cluster, &[]) {
            Err(without) if !without.may_pass() => Err(why),
            _ => Err(Rejection::BesideHeld {
                held: held.len(),
                why: Box::new(why),
            }),
        },
        answer => answer,
    }
}

fn beside(
    demand: &Demand,
    cluster: &ClusterView,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    let held_processes = held.iter().map(|share| share.processes);
    let processes = held_processes.fold(demand.processes.get(), u32::saturating_sub);
    let mut shares = held.to_vec();
    if processes > 0 {
        let rest = Rest::new(demand, cluster, held, processes)?;
        let by_room = match demand.mode {
            Mode::None => none::place(&rest)?,
            Mode::Loc => loc::place(&rest)?,
            Mode::Dist => dist::place(&rest)?,
            Mode::LocDist => loc_dist::place(&rest)?,
            Mode::All => all::place(&rest)?,
        };
        shares.extend(Budget::new(&rest).apply(&rest, by_room)?);
    }
    Ok(Placement { shares })
}
