//! The slots of a container as a workload names them.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use policy::schedule::{Container, Node, ResourceName, Slot, Speed, Stage};

use crate::{AlikeNodes, SlotSpeed};

/// A container on its node.
pub(super) fn node(node: &Node, container: &Container, slots: &[Slot]) -> Result<AlikeNodes> {
    let mut alike = AlikeNodes {
        count: 1,
        rack: node.rack.clone(),
        map_slots: 0,
        reduce_slots: 0,
        slots: 0,
        slow_map_slots: 0,
        slow_reduce_slots: 0,
        speed: None,
        memory_mb: container.pool.amount(&ResourceName::from("memory-mb")),
        has: has(node, container),
        ways: 1,
    };
    // Places for stopped attempts come with the policy.
    for slot in slots.iter().filter(|slot| slot.starts_tasks()) {
        let runs = |stage| slot.stages.contains(&stage);
        let count = match (runs(Stage::Map), runs(Stage::Reduce), slot.speed) {
            (true, true, Speed::Plain) => &mut alike.slots,
            (true, false, Speed::Plain | Speed::Fast) => &mut alike.map_slots,
            (false, true, Speed::Plain | Speed::Fast) => &mut alike.reduce_slots,
            (true, false, Speed::Slow) => &mut alike.slow_map_slots,
            (false, true, Speed::Slow) => &mut alike.slow_reduce_slots,
            (true, true, Speed::Fast | Speed::Slow) | (false, false, _) | (_, _, Speed::Parked) => {
                bail!("a workload has no slots such as {slot:?}")
            }
        };
        *count = count.saturating_add(1);
        if slot.speed == Speed::Fast {
            alike.speed = Some(SlotSpeed::Fast);
        }
    }
    Ok(alike)
}

/// What is counted there beside memory.
fn has(node: &Node, container: &Container) -> BTreeMap<String, u64> {
    let all = node.pool.iter().chain(container.pool.iter());
    let all = all.filter(|(name, _)| name.0 != "memory-mb");
    all.map(|(name, amount)| (name.0.clone(), amount)).collect()
}
