//! GERBIL's container allocators.
//!
//! Source: L. Xu, M. Li, A. R. Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III.

mod all;
mod round_robin;
mod size;

pub use all::All;

use crate::{ClusterView, Demand, Placement, Rejection};

/// Decides where the processes of one job go.
pub trait Allocator {
    /// A placement of every process of `demand` on `cluster`, one container a node.
    ///
    /// # Errors
    /// A [`Rejection`] with the numbers; [`Rejection::may_pass`] tells whether to look again.
    fn place(&self, demand: &Demand, cluster: &ClusterView) -> Result<Placement, Rejection>;
}
