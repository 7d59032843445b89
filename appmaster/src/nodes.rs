//! The cluster as the policy sees it, read from the ResourceManager.

use std::collections::BTreeMap;

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
/// does not reach: they are no candidates. Of a host that is listed twice, the entry heard of last
/// counts: a NodeManager that was restarted leaves its old entry behind for ten minutes, and a
/// request names the host alone.
pub(crate) fn view(limits: Limits, reports: &[NodeReport]) -> ClusterView {
    let mut newest: BTreeMap<&str, &NodeReport> = BTreeMap::new();
    for report in reports.iter().filter(|report| report.labels.is_empty()) {
        let entry = newest.entry(&report.id.host).or_insert(report);
        if report.last_health_report_ms > entry.last_health_report_ms {
            *entry = report;
        }
    }
    ClusterView {
        nodes: newest
            .into_values()
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

#[cfg(test)]
mod tests {
    use proto_hadoop::yarn::{NodeState, Resource};

    use super::*;

    fn report(port: u16, heard_ms: i64, labels: &[&str]) -> NodeReport {
        NodeReport {
            id: proto_hadoop::NodeId {
                host: "n1".into(),
                port,
            },
            http_address: String::new(),
            rack: "/default-rack".into(),
            state: NodeState::Running,
            used: Resource::default(),
            capability: Resource::default(),
            containers: 0,
            health_report: String::new(),
            last_health_report_ms: heard_ms,
            labels: labels.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_restarted_node_manager_counts_once_and_partitions_do_not_count() {
        let limits = Limits {
            maximum: Resources::new(8192, 4),
            counted: Counted::Memory,
            step: MiB(1024),
        };
        let reports = [
            report(1, 5, &[]),
            report(2, 9, &[]),
            report(3, 99, &["gpu"]),
        ];
        let nodes = view(limits, &reports).nodes;
        let ids: Vec<&str> = nodes.iter().map(|node| node.id.0.as_str()).collect();
        assert_eq!(ids, ["n1:2"]);
    }
}
