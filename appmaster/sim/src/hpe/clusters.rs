//! Table 1: the paper's three clusters of eight nodes.

use std::collections::BTreeMap;

use policy::schedule::{Bundle, Stage};

use super::settings::HpeSettings;
use crate::workload::{AlikeNodes, TASK_MB};

/// How many nodes of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpeCluster {
    /// `E1`.
    pub name: &'static str,
    /// Nodes with a GPU; they come first.
    pub(super) gpu: u32,
    /// Nodes without.
    pub(super) cpu: u32,
}

/// Eight nodes without a GPU.
pub const E1: HpeCluster = HpeCluster {
    name: "E1",
    gpu: 0,
    cpu: 8,
};
/// Eight nodes with one.
pub const E2: HpeCluster = HpeCluster {
    name: "E2",
    gpu: 8,
    cpu: 0,
};
/// Six nodes with one, and two without.
pub const E3: HpeCluster = HpeCluster {
    name: "E3",
    gpu: 6,
    cpu: 2,
};

/// What a node with a GPU counts.
pub(super) const GPU: &str = "acc/gpu";

impl HpeCluster {
    pub(super) fn nodes(self, settings: &HpeSettings) -> Vec<AlikeNodes> {
        let kinds = [(self.gpu, 1), (self.cpu, 0)];
        let there = kinds.into_iter().filter(|(count, _)| *count > 0);
        let nodes = there.map(|(count, gpus)| {
            let cut = settings.cut.slots(&Bundle::new().with(GPU, gpus));
            let of = |stage: Stage| match settings.slots {
                Some(_) => 0,
                None => {
                    let slots = cut.iter().filter(|slot| slot.stages.contains(&stage));
                    slots.count()
                }
            };
            let slots = settings.slots.unwrap_or(cut.len());
            AlikeNodes {
                count: count.div_ceil(settings.nodes),
                rack: String::new(),
                map_slots: of(Stage::Map),
                reduce_slots: of(Stage::Reduce),
                slots: settings.slots.unwrap_or(0),
                slow_map_slots: 0,
                slow_reduce_slots: 0,
                speed: None,
                memory_mb: TASK_MB.saturating_mul(u64::try_from(slots).unwrap_or(u64::MAX)),
                has: BTreeMap::from([(GPU.to_owned(), gpus)]),
                ways: settings.ways,
            }
        });
        nodes.collect()
    }
}
