//! The cluster as the policy sees it, read from the ResourceManager.

use std::collections::{BTreeMap, BTreeSet};

use job::Application;
use policy::elements::{FPGA, GPU};
use policy::{
    ClusterView, Counted, MiB, Millis, NodeId, NodeView, Queue, ResourceTypes, Resources,
};
use proto_hadoop::yarn::{self, NodeNames, NodeReport, NodeState, Registration};

/// What registration told about limits, for the snapshots that follow.
#[derive(Clone, Debug)]
pub struct ClusterLimits {
    /// The table of the counts in all amounts.
    pub types: ResourceTypes,
    /// The largest container that is granted.
    pub maximum: Resources,
    /// Whether the scheduler counts cores.
    pub counted: Counted,
    /// To multiples of this containers are rounded up.
    pub step: MiB,
}

impl ClusterLimits {
    pub(crate) fn new(registration: &Registration, types: ResourceTypes, step: MiB) -> Self {
        Self {
            maximum: amount(&registration.maximum, &types),
            types,
            counted: match registration.counted {
                yarn::Counted::Memory => Counted::Memory,
                yarn::Counted::MemoryAndCpu => Counted::MemoryAndVcores,
            },
            step,
        }
    }
}

/// Which nodes the application may use at all, and how much of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    exclude: BTreeSet<String>,
    label: Option<String>,
    names: NodeNames,
    /// The queue that the application is in.
    queue: String,
    /// The share of the cluster that all of the queue may hold; `None`: not known, or no limit.
    share: Option<f64>,
    /// What this ApplicationMaster's own container holds, and its node.
    appmaster: Option<(proto_hadoop::NodeId, Resources)>,
}

impl Candidates {
    /// Of an application in `queue` that wants none of `exclude`, and may hold `share` of the cluster.
    /// `appmaster` is what this ApplicationMaster's own container holds, and its node.
    pub(crate) fn new(
        application: &Application,
        exclude: &[String],
        queue: &str,
        share: Option<f64>,
        appmaster: Option<(proto_hadoop::NodeId, Resources)>,
    ) -> Self {
        Self {
            queue: queue.to_owned(),
            // What is known is of the nodes without a label.
            share: share.filter(|_| application.node_label.is_none()),
            appmaster,
            exclude: exclude.iter().cloned().collect(),
            label: application.node_label.clone(),
            names: names(application),
        }
    }

    fn include(&self, report: &NodeReport) -> bool {
        report.is_in(self.label.as_deref()) && !self.exclude.contains(&report.id.host)
    }

    /// What keeps nodes from being candidates, in words; `None` when nothing is asked for.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let label = self.label.as_ref();
        let label = label.map(|label| format!("only nodes with the label {label} are usable"));
        let exclude = (!self.exclude.is_empty()).then(|| {
            let hosts: Vec<&str> = self.exclude.iter().map(String::as_str).collect();
            format!("{} excluded", hosts.join(", "))
        });
        let words: Vec<String> = label.into_iter().chain(exclude).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// The queue of the application, without what it gives just now. The ResourceManager counts by all nodes of the
/// partition, whichever the application may use.
fn queue(limits: &ClusterLimits, candidates: &Candidates, reports: &[NodeReport]) -> Queue {
    let nodes = candidates.names.nodes(reports).into_iter();
    let nodes = nodes.filter(|report| {
        report.state == NodeState::Running && report.is_in(candidates.label.as_deref())
    });
    let all = nodes.map(|report| amount(&report.capability, &limits.types));
    let all = all.fold(Resources::default(), Resources::plus);
    Queue {
        name: candidates.queue.clone(),
        maximum: candidates.share.map(|share| all.share(share, limits.step)),
        appmaster: candidates
            .appmaster
            .as_ref()
            .map_or_else(Resources::default, |(_, own)| *own),
        headroom: None,
        named: None,
        names_no_room: false,
    }
}

/// How requests name nodes.
pub(crate) const fn names(application: &Application) -> NodeNames {
    match application.node_names_have_ports {
        true => NodeNames::HostAndPort,
        false => NodeNames::Host,
    }
}

/// The snapshot: each node that a request can name once.
pub(crate) fn view(
    limits: &ClusterLimits,
    candidates: &Candidates,
    reports: &[NodeReport],
) -> ClusterView {
    ClusterView {
        types: limits.types.clone(),
        nodes: candidates
            .names
            .nodes(reports)
            .into_iter()
            .filter(|report| candidates.include(report))
            .map(|report| NodeView {
                id: NodeId(report.id.to_string()),
                host: report.id.host.clone(),
                rack: report.rack.clone(),
                capability: amount(&report.capability, &limits.types),
                used: amount(&report.used, &limits.types),
                appmaster: match &candidates.appmaster {
                    Some((node, own)) if *node == report.id => *own,
                    _ => Resources::default(),
                },
                heard: Millis(report.last_health_report_ms.try_into().unwrap_or(0)),
                elements: elements(&report.attributes),
            })
            .collect(),
        maximum: limits.maximum,
        step: limits.step,
        counted: limits.counted,
        queue: Box::new(queue(limits, candidates, reports)),
    }
}

/// How many elements a node's attributes tell of: those called `gpu` and `fpga`, whoever has set them; of two the
/// smaller number.
fn elements(attributes: &BTreeMap<String, String>) -> BTreeMap<String, u64> {
    let mut elements: BTreeMap<String, u64> = BTreeMap::new();
    for (name, value) in attributes {
        let name = name.rsplit('/').next().unwrap_or(name);
        if let (true, Ok(count)) = ([GPU, FPGA].contains(&name), value.parse()) {
            let there = elements.entry(name.to_owned()).or_insert(count);
            *there = count.min(*there);
        }
    }
    elements
}

/// The countable types of this application: those `asked` for, then what else its ResourceManager counts.
pub(crate) fn types(asked: &ResourceTypes, registration: &Registration) -> ResourceTypes {
    let asked = asked.iter().map(|(_, name)| name);
    let all = registration.resource_types.iter();
    let all = all.map(|counted| counted.name.as_str());
    let further = all.filter(|name| ![yarn::MEMORY, yarn::VCORES].contains(name));
    ResourceTypes::new(asked.chain(further))
}

/// YARN's amount as the policy's.
#[must_use]
pub fn amount(resource: &yarn::Resource, types: &ResourceTypes) -> Resources {
    let counts = types.counts(|name| resource.others.get(name).copied());
    Resources::new(resource.memory_mib, resource.vcores).with_counts(counts)
}

#[cfg(test)]
mod tests {
    use proto_hadoop::yarn::Resource;

    use super::*;

    fn limits() -> ClusterLimits {
        ClusterLimits {
            types: ResourceTypes::default(),
            maximum: Resources::new(8192, 4),
            counted: Counted::Memory,
            step: MiB(1024),
        }
    }

    fn report(host: &str, port: i32, heard_ms: i64, labels: &[&str]) -> NodeReport {
        NodeReport {
            id: proto_hadoop::NodeId {
                host: host.into(),
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
            attributes: BTreeMap::new(),
            decommissioning_timeout: None,
        }
    }

    #[test]
    fn attributes_that_count_elements_are_understood_and_the_smaller_of_two_holds() {
        let attributes = [
            ("nm.yarn.io/gpu", "2"),
            ("rm.yarn.io/gpu", "1"),
            ("rm.yarn.io/fpga", "some"),
            ("rm.yarn.io/os", "7"),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(elements(&attributes.into()), [("gpu".to_owned(), 1)].into());
    }

    fn ids(candidates: &Candidates, reports: &[NodeReport]) -> Vec<String> {
        let nodes = view(&limits(), candidates, reports).nodes;
        nodes.into_iter().map(|node| node.id.0).collect()
    }

    #[test]
    fn a_restarted_node_manager_counts_once() {
        let reports = [report("n1", 1, 5, &[]), report("n1", 2, 9, &[])];
        assert_eq!(ids(&Candidates::default(), &reports), ["n1:2"]);
        // Where requests name the port, they are two.
        let with_ports = Candidates {
            names: NodeNames::HostAndPort,
            ..Candidates::default()
        };
        assert_eq!(ids(&with_ports, &reports), ["n1:1", "n1:2"]);
    }

    #[test]
    fn a_job_stays_in_its_partition_and_off_excluded_hosts() {
        let reports = [
            report("n1", 1, 5, &[]),
            report("n2", 1, 5, &["gpu"]),
            report("n3", 1, 5, &["gpu"]),
            report("n4", 1, 5, &["fpga"]),
            report("n5", 1, 5, &[]),
        ];
        let excluding = |hosts: &[&str], label: Option<&str>| Candidates {
            exclude: hosts.iter().map(ToString::to_string).collect(),
            label: label.map(str::to_owned),
            ..Candidates::default()
        };
        assert_eq!(ids(&excluding(&[], None), &reports), ["n1:1", "n5:1"]);
        assert_eq!(ids(&excluding(&["n5"], None), &reports), ["n1:1"]);
        assert_eq!(ids(&excluding(&["n2"], Some("gpu")), &reports), ["n3:1"]);
        assert!(ids(&excluding(&[], Some("ssd")), &reports).is_empty());

        assert_eq!(excluding(&[], None).words(), None);
        assert_eq!(
            excluding(&["n2", "n3"], Some("gpu")).words().unwrap(),
            "only nodes with the label gpu are usable, n2, n3 excluded"
        );
    }
}
