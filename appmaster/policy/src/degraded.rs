//! Whether the processes of a container got less than they wanted.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-D2 and Algorithms 1 and 2, `degraded`.
//! Difference from the paper: it is a fact of what was granted, not of the snapshot that the request
//! was made from.

use crate::{Counted, MiB, NodeShare, Resources, Vcores};

/// What the processes of one node share that is less than they wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degraded {
    /// The node's host.
    pub host: String,
    /// Processes in the container.
    pub processes: u32,
    /// Memory that was granted and, more than that, wanted.
    pub memory: Option<(MiB, MiB)>,
    /// Vcores that were granted and, more than that, wanted; only where the scheduler counts them.
    pub vcores: Option<(Vcores, Vcores)>,
    /// Cores that the container may use, fewer than its ranks.
    pub cores: Option<u32>,
}

/// In what the container `granted` for `share` is less than its processes of one `unit` each want,
/// in the resources that are `counted`; and whether they are more than the `cores` of the node that
/// they may use, where these are known. `None` when nothing is short.
///
/// ```
/// use policy::{Counted, MiB, NodeId, NodeShare, Resources, degraded};
///
/// let share = NodeShare {
///     node: NodeId("c4:45454".into()),
///     host: "c4".into(),
///     rack: "/default-rack".into(),
///     processes: 4,
///     ask: Resources::new(2048, 2),
/// };
/// let unit = Resources::new(1024, 1);
/// let short = degraded(unit, Counted::Memory, &share, Resources::new(2048, 2), None).unwrap();
/// assert_eq!(short.memory, Some((MiB(2048), MiB(4096))));
/// assert_eq!(degraded(unit, Counted::Memory, &share, Resources::new(4096, 2), Some(4)), None);
/// ```
#[must_use]
pub fn degraded(
    unit: Resources,
    counted: Counted,
    share: &NodeShare,
    granted: Resources,
    cores: Option<u32>,
) -> Option<Degraded> {
    let wanted = unit.times(share.processes);
    let counts_vcores = counted == Counted::MemoryAndVcores;
    let memory = granted.memory < wanted.memory;
    let vcores = counts_vcores && granted.vcores < wanted.vcores;
    // A node whose number of cores could not be read may be said to have none.
    let cores = cores.filter(|cores| (1..share.processes).contains(cores));
    let degraded = Degraded {
        host: share.host.clone(),
        processes: share.processes,
        memory: memory.then_some((granted.memory, wanted.memory)),
        vcores: vcores.then_some((granted.vcores, wanted.vcores)),
        cores,
    };
    (memory || vcores || cores.is_some()).then_some(degraded)
}
