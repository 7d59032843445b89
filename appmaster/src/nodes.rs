//! The cluster as the policy sees it, read from the ResourceManager.

use policy::{ClusterView, Counted, MiB, NodeId, NodeView, Resources};
use proto_hadoop::yarn::{self, NodeReport, Registration};

/// What registration told about limits, for the snapshots that follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub maximum: Resources,
    pub counted: Counted,
    pub step: MiB,
}

impl Limits {
    pub(crate) fn new(registration: &Registration, step: MiB) -> Self {
        Self {
            maximum: amount(&registration.maximum),
            counted: match registration.counted {
                yarn::Counted::Memory => Counted::Memory,
                yarn::Counted::MemoryAndCpu => Counted::MemoryAndVcores,
            },
            step,
        }
    }
}

/// The snapshot. Nodes with labels are partitions of their own, which a request without a label
/// does not reach: they are no candidates.
pub(crate) fn view(limits: Limits, reports: &[NodeReport]) -> ClusterView {
    let nodes = reports.iter().filter(|report| report.labels.is_empty());
    ClusterView {
        nodes: nodes
            .map(|report| NodeView {
                id: NodeId(report.id.to_string()),
                host: report.id.host.clone(),
                rack: report.rack.clone(),
                capability: amount(&report.capability),
                used: amount(&report.used),
            })
            .collect(),
        maximum: limits.maximum,
        step: limits.step,
        counted: limits.counted,
    }
}

/// YARN's amount as the policy's.
pub(crate) fn amount(resource: &yarn::Resource) -> Resources {
    Resources::new(resource.memory_mib, resource.vcores)
}
