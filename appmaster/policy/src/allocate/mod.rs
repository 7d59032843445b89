//! GERBIL's container allocators.
//!
//! Source: L. Xu, M. Li, A. R. Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III.

mod all;
mod reasons;
mod round_robin;
mod size;

pub use reasons::{Reasons, reasons};

use crate::{ClusterView, Demand, Mode, NodeShare, Placement, Rejection};

/// A placement of every process of `demand` on `cluster`, one container a node.
///
/// `held` are the shares of an earlier placement whose containers are there already: they stand
/// first in the answer, unchanged, their nodes get nothing more, and only the rest is placed. Their
/// containers count as used in `cluster`.
///
/// # Errors
/// A [`Rejection`] with the numbers; [`Rejection::may_pass`] tells whether to look again.
pub fn place(
    demand: &Demand,
    cluster: &ClusterView,
    held: &[NodeShare],
) -> Result<Placement, Rejection> {
    match demand.mode {
        Mode::All => all::place(demand, cluster, held),
        Mode::None | Mode::Loc | Mode::Dist | Mode::LocDist => Err(Rejection::NoNodes),
    }
}
