//! The nodes that the job may use, and which of them the user's names mean.

use std::collections::{BTreeMap, BTreeSet};

use follow::submit::NodeRequest;
use policy::{ClusterView, ListedHost, Mode, NodeId, NodeView, ResourceTypes};
use proto_hadoop::yarn::{NodeReport, NodeState};

use super::PreflightError;
use super::appmaster::own_place;
use crate::arguments::LocalDisk;
use crate::host_names::{Hosts, NameError};
use crate::hostfile::{HostList, HostNames};
use crate::placement_request::{NodeProcesses, PlacementRequest};

/// The running nodes of the job's partition that are not excluded; none where no node of the cluster runs, as for half a
/// minute after a ResourceManager has restarted, until NodeManagers come back to it.
pub(super) fn usable(
    nodes: &[&NodeReport],
    excluded: &[String],
    label: Option<&str>,
    types: &ResourceTypes,
) -> Result<Vec<NodeView>, PreflightError> {
    let running = |report: &&&NodeReport| report.state == NodeState::Running;
    let partition: Vec<&NodeReport> = nodes
        .iter()
        .filter(running)
        .filter(|report| report.is_in(label))
        .copied()
        .collect();
    let excluded: BTreeSet<&str> = sort::set(excluded.iter().map(String::as_str));
    let usable: Vec<NodeView> = partition
        .iter()
        .filter(|report| !excluded.contains(report.id.host.as_str()))
        .map(|report| view(report, types))
        .collect();
    if usable.is_empty() && nodes.iter().any(|report| running(&report)) {
        let there = match (partition.len(), label) {
            (0, Some(label)) => no_node_has(label),
            (0, None) => "no node without a label is running".to_owned(),
            (1, _) => "--exclude leaves out the one node that runs".to_owned(),
            (all, _) => format!("--exclude leaves out all {all} nodes that run"),
        };
        return Err(PreflightError::NoNode { nodes: there });
    }
    Ok(usable)
}

pub(super) fn no_node_has(label: &str) -> String {
    format!("no running node has the label {label}")
}

/// The running nodes of the partition that are excluded and have room for an ApplicationMaster such as
/// `view` tells of.
pub(super) fn left_out(
    nodes: &[&NodeReport],
    excluded: &[String],
    label: Option<&str>,
    view: &ClusterView,
) -> Vec<NodeRequest> {
    let own = view.queue.appmaster.memory;
    nodes
        .iter()
        .filter(|report| report.state == NodeState::Running && report.is_in(label))
        .filter(|report| excluded.contains(&report.id.host))
        .map(|report| self::view(report, &view.types))
        .filter(|node| node.capability.memory >= own)
        .map(|node| own_place(&node))
        .collect()
}

fn view(report: &NodeReport, types: &ResourceTypes) -> NodeView {
    NodeView {
        id: NodeId(report.id.to_string()),
        host: report.id.host.clone(),
        rack: report.rack.clone(),
        capability: super::amount(&report.capability, types),
        used: super::amount(&report.used, types),
        ..NodeView::default()
    }
}

/// The hosts that `--exclude` means, as they registered. Nodes that do not run count too: that is
/// why they may be excluded.
pub(super) async fn excluded(
    names: &[HostNames],
    newest: &BTreeMap<&str, &NodeReport>,
) -> Result<Vec<String>, PreflightError> {
    let names: Vec<&str> = names
        .iter()
        .flat_map(|names| &names.0)
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let hosts = Hosts::new(newest.keys().copied());
    let found: Result<BTreeSet<String>, NameError> = hosts.find(&names).await.into_iter().collect();
    match found {
        Ok(found) => Ok(found.into_iter().collect()),
        Err(error) => Err(PreflightError::Excluded {
            why: hosts.sentence(&error),
        }),
    }
}

/// What `--local-disk` gives nodes, by their hosts as they registered.
pub(super) async fn disks(
    given: &LocalDisk,
    newest: &BTreeMap<&str, &NodeReport>,
) -> Result<BTreeMap<String, u64>, PreflightError> {
    let names: Vec<&str> = given.nodes.keys().map(String::as_str).collect();
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let hosts = Hosts::new(newest.keys().copied());
    let mut disks = BTreeMap::new();
    for (found, (name, mib)) in hosts.find(&names).await.into_iter().zip(&given.nodes) {
        let host = found.map_err(|error| PreflightError::LocalDisk {
            why: hosts.sentence(&error),
        })?;
        if disks.insert(host.clone(), *mib).is_some() {
            let why = format!("{name} is {host}, which has another amount");
            return Err(PreflightError::LocalDisk { why });
        }
    }
    Ok(disks)
}

/// The user's entries with the hosts that they mean; several names of one host become one entry.
/// Where the location may be relaxed, a name that means nothing stands for any node.
pub(super) async fn listed(
    wanted: &PlacementRequest,
    list: Option<&HostList>,
    newest: &BTreeMap<&str, &NodeReport>,
    excluded: &[String],
    label: Option<&str>,
) -> Result<Vec<ListedHost>, PreflightError> {
    // Where a file mentions it.
    let at = |name: &str| {
        let mut hosts = list.into_iter().flat_map(|list| &list.hosts);
        let host = hosts.find(|host| host.name == name);
        let at = host.and_then(|host| host.at.as_ref());
        at.map_or_else(String::new, |at| format!("{at}: "))
    };
    let hosts = Hosts::new(newest.keys().copied());
    let names: Vec<&str> = wanted
        .listed
        .iter()
        .filter_map(|entry| entry.name.as_deref())
        .collect();
    if wanted.auto {
        let found = hosts.find(&names).await.into_iter().map(Result::ok);
        return Ok(together(&wanted.listed, found));
    }
    if matches!(wanted.mode, Mode::Loc | Mode::LocDist | Mode::All) {
        // Where these hosts are is of no consequence: no name service is asked.
        let found = names.iter().map(|name| hosts.by_name(name).ok());
        return Ok(together(&wanted.listed, found));
    }
    let mut found = Vec::with_capacity(names.len());
    for (name, host) in names.iter().zip(hosts.find(&names).await) {
        let host = host.map_err(|error| PreflightError::Listed {
            at: at(name),
            why: hosts.sentence(&error),
        })?;
        if excluded.contains(&host) {
            return Err(PreflightError::ListedAndExcluded {
                at: at(name),
                name: (*name).to_owned(),
            });
        }
        let report = newest.get(host.as_str());
        if let Some(trouble) = report.and_then(|report| trouble(report, label)) {
            return Err(PreflightError::Unusable {
                at: at(name),
                name: (*name).to_owned(),
                trouble,
            });
        }
        found.push(Some(host));
    }
    Ok(together(&wanted.listed, found.into_iter()))
}

/// Why the job cannot use this node, and what to do.
fn trouble(report: &NodeReport, label: Option<&str>) -> Option<String> {
    if report.state != NodeState::Running {
        return Some(format!(
            "is {}; list another one, or relax the location with -r loc or -r loc+dist",
            format!("{:?}", report.state).to_lowercase()
        ));
    }
    match (report.labels.first(), label) {
        (Some(its), Some(wanted)) if its != wanted => Some(format!(
            "has the label {its}, not {wanted}; a job keeps to the nodes of one label"
        )),
        (Some(its), None) => Some(format!(
            "has the label {its} and serves only what asks for it: write --node-label {its}"
        )),
        (None, Some(wanted)) => Some(format!(
            "does not have the label {wanted}; list another one"
        )),
        _ => None,
    }
}

/// Puts `found`, one for each entry with a name, into the entries, and adds up those of one host.
fn together(
    entries: &[NodeProcesses],
    mut found: impl Iterator<Item = Option<String>>,
) -> Vec<ListedHost> {
    let mut listed: Vec<ListedHost> = Vec::with_capacity(entries.len());
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries {
        let host = entry.name.as_ref().and_then(|_| found.next().flatten());
        let position = host.as_ref().and_then(|host| known.get(host)).copied();
        if let Some(position) = position {
            let sum = &mut listed[position].processes;
            *sum = sum.saturating_add(entry.processes);
            continue;
        }
        if let Some(host) = &host {
            known.insert(host.clone(), listed.len());
        }
        listed.push(ListedHost {
            host,
            processes: entry.processes,
        });
    }
    listed
}

#[cfg(test)]
mod tests {
    use proto_hadoop::yarn::{NodeNames, Resource, newest};

    use super::*;
    use crate::hostfile;

    fn report(host: &str, port: i32, state: NodeState, heard: i64, label: &str) -> NodeReport {
        NodeReport {
            id: proto_hadoop::NodeId {
                host: host.into(),
                port,
            },
            http_address: String::new(),
            rack: "/r".into(),
            state,
            used: Resource::new(512, 1),
            capability: Resource::new(4096, 4),
            containers: 1,
            health_report: String::new(),
            last_health_report_ms: heard,
            labels: Some(label.to_owned())
                .into_iter()
                .filter(|l| !l.is_empty())
                .collect(),
            attributes: BTreeMap::new(),
            decommissioning_timeout: None,
        }
    }

    fn cluster() -> Vec<NodeReport> {
        use NodeState::{Lost, Running};
        vec![
            report("n1.example", 1, Running, 5, ""),
            report("n2.example", 1, Lost, 9, ""),
            report("n2.example", 2, Running, 7, ""),
            report("n3.example", 1, Running, 5, "gpu"),
            report("n4.example", 1, Lost, 5, ""),
        ]
    }

    fn wanted(mode: Mode, listed: &[(&str, u32)]) -> PlacementRequest {
        let entry = |(name, processes): &(&str, u32)| NodeProcesses {
            name: Some((*name).to_owned()),
            processes: *processes,
        };
        PlacementRequest {
            processes: 9.try_into().unwrap(),
            mode,
            auto: false,
            listed: listed.iter().map(entry).collect(),
            nodes: None,
            numbering: policy::Numbering::Slot,
        }
    }

    fn pairs(listed: Vec<ListedHost>) -> Vec<(Option<String>, u32)> {
        listed.into_iter().map(|l| (l.host, l.processes)).collect()
    }

    #[test]
    fn candidates_run_in_the_partition_and_are_not_excluded() {
        let reports = cluster();
        let nodes = NodeNames::Host.nodes(&reports);
        let ids = |excluded: &[&str], label| {
            let excluded: Vec<String> = excluded.iter().map(ToString::to_string).collect();
            let nodes = usable(&nodes, &excluded, label, &ResourceTypes::default())
                .map_err(|failure| failure.to_string())?;
            Ok::<_, String>(nodes.into_iter().map(|node| node.id.0).collect::<Vec<_>>())
        };
        assert_eq!(ids(&[], None).unwrap(), ["n1.example:1", "n2.example:2"]);
        assert_eq!(ids(&["n1.example"], None).unwrap(), ["n2.example:2"]);
        assert_eq!(ids(&[], Some("gpu")).unwrap(), ["n3.example:1"]);
        let all = ids(&["n1.example", "n2.example"], None).unwrap_err();
        assert!(
            all.ends_with("--exclude leaves out all 2 nodes that run"),
            "{all}"
        );
        let label = ids(&[], Some("ssd")).unwrap_err();
        assert!(
            label.ends_with("no running node has the label ssd"),
            "{label}"
        );
        // A ResourceManager that has just started hears of its nodes later.
        let lost = report("n1.example", 1, NodeState::Lost, 5, "");
        for none in [&[][..], &[&lost]] {
            let types = ResourceTypes::default();
            assert_eq!(usable(none, &[], None, &types).unwrap(), []);
        }
    }

    #[tokio::test]
    async fn names_of_one_host_are_one_entry() {
        let reports = cluster();
        let newest = newest(&reports);
        let wanted = wanted(Mode::None, &[("n2", 2), ("n1", 1), ("n2.example", 3)]);
        let found = listed(&wanted, None, &newest, &[], None).await.unwrap();
        assert_eq!(
            pairs(found),
            [
                (Some("n2.example".into()), 5),
                (Some("n1.example".into()), 1)
            ]
        );
    }

    #[tokio::test]
    async fn a_strict_mode_wants_each_host_running_and_not_excluded() {
        let reports = cluster();
        let newest = newest(&reports);
        let sentence = async |name: &str, excluded: &[String]| {
            let wanted = wanted(Mode::Dist, &[(name, 1)]);
            listed(&wanted, None, &newest, excluded, None)
                .await
                .unwrap_err()
                .to_string()
        };
        let listed_in = HostList {
            words: "the list hosts".into(),
            hosts: vec![hostfile::Host {
                name: "n7.invalid".into(),
                places: 1,
                at: Some("hosts:3".into()),
            }],
            notes: Vec::new(),
        };
        let wanted_there = wanted(Mode::None, &[("n7.invalid", 1)]);
        let error = listed(&wanted_there, Some(&listed_in), &newest, &[], None).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("hosts:3: no node of the cluster"),
            "{error}"
        );
        assert!(
            sentence("n4", &[])
                .await
                .starts_with("the listed host n4 is lost")
        );
        assert!(
            sentence("n7.invalid", &[])
                .await
                .contains("no node of the cluster")
        );
        let excluded = ["n1.example".to_owned()];
        assert!(
            sentence("n1", &excluded)
                .await
                .contains("both listed and excluded")
        );
    }

    #[test]
    fn a_host_of_another_partition_says_which_label_to_write() {
        let plain = report("n1", 1, NodeState::Running, 1, "");
        let gpu = report("n2", 1, NodeState::Running, 1, "gpu");
        assert_eq!(trouble(&plain, None), None);
        assert_eq!(trouble(&gpu, Some("gpu")), None);
        let sentence = |report, label| trouble(report, label).unwrap();
        assert!(sentence(&gpu, None).ends_with("write --node-label gpu"));
        assert!(sentence(&gpu, Some("ssd")).starts_with("has the label gpu, not ssd"));
        assert!(sentence(&plain, Some("ssd")).starts_with("does not have the label ssd"));
    }

    #[tokio::test]
    async fn where_the_location_is_relaxed_any_name_will_do() {
        let reports = cluster();
        let newest = newest(&reports);
        let wanted = wanted(Mode::Loc, &[("elsewhere", 2), ("n1", 1), ("other", 2)]);
        let found = listed(&wanted, None, &newest, &["n1.example".into()], None)
            .await
            .unwrap();
        assert_eq!(
            pairs(found),
            [(None, 2), (Some("n1.example".into()), 1), (None, 2)]
        );
    }

    #[tokio::test]
    async fn what_is_excluded_has_to_exist() {
        let reports = cluster();
        let newest = newest(&reports);
        let names = |names: &str| hostfile::names(names).unwrap();
        let given = [names("n4,n1.example"), names("n1")];
        let found = excluded(&given, &newest).await.unwrap();
        assert_eq!(found, ["n1.example", "n4.example"]);
        let error = excluded(&[names("nn.invalid")], &newest).await.unwrap_err();
        assert!(
            error.to_string().starts_with("--exclude: no node"),
            "{}",
            error
        );
    }
}
