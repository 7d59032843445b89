//! How large a workload may be.

use anyhow::{Result, ensure};

use super::{AlikeNodes, Workload};

/// Nodes, slots and tasks of a workload that is read, each at the most.
const NODES: u64 = 100_000;
const SLOTS: u64 = 10_000_000;
const TASKS: u64 = 10_000_000;

impl Workload {
    /// Refuses what no memory has room for.
    pub(super) fn check_size(&self) -> Result<()> {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let all = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let nodes = all(&mut self.nodes.iter().map(|node| node.count.into()));
        let slots = all(&mut self.nodes.iter().map(|node| {
            let AlikeNodes {
                map_slots,
                reduce_slots,
                slots,
                slow_map_slots,
                slow_reduce_slots,
                ..
            } = *node;
            let kinds = [
                map_slots,
                reduce_slots,
                slots,
                slow_map_slots,
                slow_reduce_slots,
            ];
            all(&mut kinds.into_iter().map(count)).saturating_mul(node.count.into())
        }));
        let phases = self.jobs.iter();
        let phases = phases.flat_map(|job| [&job.maps, &job.reduces, &job.ranks]);
        let tasks = all(&mut phases.flatten().map(|phase| phase.count.into()));
        for (what, there, most) in [
            ("nodes", nodes, NODES),
            ("slots", slots, SLOTS),
            ("tasks", tasks, TASKS),
        ] {
            ensure!(
                there <= most,
                "{there} {what} in all: a workload may have {most}"
            );
        }
        Ok(())
    }
}
