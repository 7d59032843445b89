//! What a process takes, and where it may go.

use std::path::Path;

use proto_hadoop::yarn::NodeNames;

use super::PlanError;
use crate::arguments::{Arguments, Placement, of_a_process};
use crate::cluster::{Cluster, ClusterError};
use crate::history;
use crate::placement_request::PlacementRequest;

/// Whether the scheduler names nodes with their ports.
const PORTS_IN_NODE_NAMES: &str = "yarn.scheduler.include-port-in-node-name";
/// Hadoop's default of `yarn.scheduler.minimum-allocation-mb`.
const MINIMUM_ALLOCATION_MIB: u64 = 1024;

/// Which nodes are asked for, and what of them.
pub(crate) struct PlacementPlan {
    /// How many processes, by which mode, over which list.
    pub wanted: PlacementRequest,
    /// The flags of placement that need no further thought.
    pub flags: Placement,
    /// Share of its time that the program waited for messages, 0 to 1, when it was last run; for
    /// `-r auto` alone.
    pub communication_share: Option<f64>,
    /// MiB of one process, and whether the user said so.
    pub memory_mib: u64,
    pub memory_is_explicit: bool,
    pub vcores: u32,
    /// GPUs of a process; `None`: nothing is said of them.
    pub gpus_per_process: Option<u32>,
    /// Further countable types, by name, and how many for each process.
    pub resources: Vec<(String, u64)>,
    /// How requests name nodes.
    pub node_names: NodeNames,
    /// The RM rounds containers up to multiples of this, MiB.
    pub allocation_step_mib: u64,
}

impl PlacementPlan {
    /// Of `program`, the first.
    pub(super) fn new(
        given: &Arguments,
        cluster: &Cluster,
        program: &Path,
    ) -> Result<Self, PlanError> {
        let wanted = PlacementRequest::new(&given.placement)?;
        let communication_share = history::state_folder(&|name| std::env::var_os(name))
            .filter(|_folder| wanted.auto)
            .and_then(|folder| history::communication_share(program, &folder));
        let step = step_mib(cluster)?;
        Ok(Self {
            wanted,
            flags: given.placement.clone(),
            communication_share,
            memory_mib: given.mem_per_proc.unwrap_or(step),
            memory_is_explicit: given.mem_per_proc.is_some(),
            vcores: given.vcores_per_proc,
            resources: of_a_process(given.resource.clone())?,
            gpus_per_process: given.bind.gpus_per_proc.and_then(|gpus| gpus.0),
            node_names: node_names(cluster)?,
            allocation_step_mib: step,
        })
    }
}

/// The RM rounds containers up to multiples of this, MiB.
pub(crate) fn step_mib(cluster: &Cluster) -> Result<u64, ClusterError> {
    cluster.number(
        "yarn.scheduler.minimum-allocation-mb",
        MINIMUM_ALLOCATION_MIB,
    )
}

/// How requests name nodes.
pub(crate) fn node_names(cluster: &Cluster) -> Result<NodeNames, ClusterError> {
    Ok(match cluster.configuration.flag(PORTS_IN_NODE_NAMES)? {
        true => NodeNames::HostAndPort,
        false => NodeNames::Host,
    })
}
