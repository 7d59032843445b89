//! The queue: what is odd about it, and which partition of the cluster it uses.

use follow::submit::AM_MEMORY_MIB;
use policy::{MiB, Queue, ResourceTypes, Resources};
use proto_hadoop::yarn::{NodeLabel, NodeReport, NodeState, QueueInfo, QueueState};
use proto_hadoop::{ApplicationClient, CallError};

use super::PreflightError;
use crate::arguments::DeployMode;
use crate::plan::Plan;

/// A queue that may use every partition says so.
const EVERY_PARTITION: &str = "*";

/// A queue that does not exist is an exception on some Hadoop lines, an empty answer on others.
pub(super) async fn queue(
    rm: &ApplicationClient,
    name: &str,
) -> Result<Option<QueueInfo>, CallError> {
    match rm.queue_info(name).await {
        Err(CallError::Remote { .. }) => Ok(None),
        other => other,
    }
}

/// What is odd about the queue that the user names; `None` where it takes applications. That is for
/// the ResourceManager to judge: by queue mappings, placement rules and queues that are made on demand it
/// takes applications whose queue is on no list, and puts them where it likes.
pub(super) fn remark(
    name: &str,
    queue: Option<&QueueInfo>,
    root: Option<&QueueInfo>,
) -> Option<String> {
    let trouble = match queue {
        None => "is not on the ResourceManager's list",
        Some(queue) if queue.state == QueueState::Stopped => "is stopped",
        Some(queue) if !queue.children.is_empty() => "only holds other queues",
        Some(_) => return None,
    };
    let mut leaves = Vec::new();
    if let Some(root) = root {
        collect_leaves(root, &mut leaves);
    }
    let hint = match leaves.is_empty() {
        true => String::new(),
        false => format!(" (there are {})", leaves.join(", ")),
    };
    Some(format!(
        "the queue {name} {trouble}{hint}; the job runs only where the ResourceManager has a rule that \
         places it, else choose another queue with --queue"
    ))
}

/// What the queue gives the job, by `root` and what all `nodes` offer: at the most, and beside what is in
/// it now.
pub(super) fn limits(
    plan: &Plan,
    root: Option<&QueueInfo>,
    nodes: &[&NodeReport],
    types: &ResourceTypes,
) -> Queue {
    let step = MiB(plan.placement.allocation_step_mib);
    let appmaster = match plan.deployment.mode {
        DeployMode::Cluster => Resources::new(AM_MEMORY_MIB.next_multiple_of(step.0.max(1)), 1),
        DeployMode::Client => Resources::default(),
    };
    let running = nodes
        .iter()
        .filter(|report| report.state == NodeState::Running);
    let offered = running
        .filter(|report| report.is_in(None))
        .map(|report| super::amount(&report.capability, types));
    let all = offered.fold(Resources::default(), Resources::plus);
    let share = root.and_then(|root| root.share_of(&plan.deployment.queue));
    let maximum = share.map(|share| all.share(share.maximum, step));
    let used = share.map(|share| all.share(share.used, step));
    Queue {
        name: plan.deployment.queue.clone(),
        maximum,
        appmaster,
        headroom: maximum
            .zip(used)
            .map(|(maximum, used)| maximum.minus(used).minus(appmaster)),
        named: None,
        names_no_room: false,
    }
}

/// The queues that take applications.
fn collect_leaves(queue: &QueueInfo, leaves: &mut Vec<String>) {
    if queue.children.is_empty() {
        leaves.push(queue.path.clone().unwrap_or_else(|| queue.name.clone()));
    }
    for child in &queue.children {
        collect_leaves(child, leaves);
    }
}

/// The partition whose nodes are the candidates: the wanted one, else the queue's own; `None` is the
/// default partition.
///
/// # Errors
/// The wanted label does not exist, or the queue may not use it.
pub(super) fn partition(
    wanted: Option<&str>,
    labels: &[NodeLabel],
    queue_name: &str,
    queue: Option<&QueueInfo>,
) -> Result<Option<String>, PreflightError> {
    let Some(wanted) = wanted else {
        return Ok(queue.and_then(|queue| queue.default_node_label.clone()));
    };
    if !labels.iter().any(|label| label.name == wanted) {
        let names: Vec<&str> = labels.iter().map(|label| label.name.as_str()).collect();
        let there = match names.is_empty() {
            true => "the cluster has no node labels".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        let label = wanted.to_owned();
        return Err(PreflightError::NoLabel { label, there });
    }
    let Some(queue) = queue else {
        return Ok(Some(wanted.to_owned()));
    };
    let accessible = &queue.accessible_node_labels;
    if !accessible
        .iter()
        .any(|label| label == wanted || label == EVERY_PARTITION)
    {
        let there = match accessible.is_empty() {
            true => "it may use the nodes without a label alone".to_owned(),
            false => format!("it may use {}", accessible.join(", ")),
        };
        return Err(PreflightError::ClosedLabel {
            label: wanted.to_owned(),
            queue: queue_name.to_owned(),
            there,
        });
    }
    Ok(Some(wanted.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_to_exist_and_be_open_to_the_queue() {
        let label = |name: &str| NodeLabel {
            name: name.to_owned(),
            exclusive: true,
        };
        let queue = |accessible: &[&str], default: Option<&str>| QueueInfo {
            name: "default".into(),
            path: None,
            state: QueueState::Running,
            capacity: 1.0,
            maximum_capacity: 1.0,
            current_capacity: 0.0,
            children: Vec::new(),
            applications: Vec::new(),
            accessible_node_labels: accessible.iter().map(ToString::to_string).collect(),
            default_node_label: default.map(str::to_owned),
        };
        let labels = [label("gpu"), label("ssd")];
        let ask = |wanted, labels: &[NodeLabel], queue| {
            partition(wanted, labels, "q", Some(&queue)).map_err(|failure| failure.to_string())
        };
        assert_eq!(ask(None, &labels, queue(&[], None)), Ok(None));
        // What a queue that is on no list may use, only the ResourceManager knows.
        let unlisted = partition(Some("gpu"), &labels, "q", None);
        assert_eq!(unlisted.unwrap(), Some("gpu".into()));
        assert_eq!(
            ask(None, &labels, queue(&["gpu"], Some("gpu"))),
            Ok(Some("gpu".into()))
        );
        for accessible in ["gpu", "*"] {
            let answer = ask(Some("gpu"), &labels, queue(&[accessible], None));
            assert_eq!(answer, Ok(Some("gpu".into())));
        }
        let missing = ask(Some("fpga"), &labels, queue(&["*"], None)).unwrap_err();
        assert!(missing.ends_with("there are gpu, ssd"), "{missing}");
        let none = ask(Some("fpga"), &[], queue(&["*"], None)).unwrap_err();
        assert!(none.ends_with("the cluster has no node labels"), "{none}");
        let closed = ask(Some("gpu"), &labels, queue(&["ssd"], None)).unwrap_err();
        assert!(
            closed.contains("may not use it (it may use ssd)"),
            "{closed}"
        );
    }
}
