//! The queue: that it exists and takes applications, and which partition of the cluster it uses.

use job::exit::Exit;
use proto_hadoop::yarn::{NodeLabel, QueueInfo, QueueState};
use proto_hadoop::{ApplicationClient, CallError};

use crate::failure::Failure;

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

/// The queue, if it takes applications.
pub(super) async fn check(
    rm: &ApplicationClient,
    name: &str,
    queue: Option<QueueInfo>,
) -> Result<QueueInfo, Failure> {
    let trouble = match queue {
        None => "does not exist on this cluster",
        Some(queue) if queue.state == QueueState::Stopped => "is stopped",
        Some(queue) if !queue.children.is_empty() => "only holds other queues",
        Some(queue) => return Ok(queue),
    };
    // For the hint alone: a scheduler without a queue of this name just gets a shorter sentence.
    let root = rm.queue_info("root").await.ok().flatten();
    let mut leaves = Vec::new();
    root.iter()
        .for_each(|root| collect_leaves(root, &mut leaves));
    let hint = match leaves.is_empty() {
        true => String::new(),
        false => format!(" (there are {})", leaves.join(", ")),
    };
    Err(Failure::new(
        Exit::Impossible,
        format!("the queue {name} {trouble}; choose another one with --queue{hint}"),
    ))
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
    queue: &QueueInfo,
) -> Result<Option<String>, Failure> {
    let Some(wanted) = wanted else {
        return Ok(queue.default_node_label.clone());
    };
    let impossible = |sentence| Err(Failure::new(Exit::Impossible, sentence));
    if !labels.iter().any(|label| label.name == wanted) {
        let names: Vec<&str> = labels.iter().map(|label| label.name.as_str()).collect();
        let there = match names.is_empty() {
            true => "the cluster has no node labels".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        return impossible(format!("--node-label {wanted}: no such label; {there}"));
    }
    let accessible = &queue.accessible_node_labels;
    if !accessible
        .iter()
        .any(|label| label == wanted || label == EVERY_PARTITION)
    {
        let there = match accessible.is_empty() {
            true => "it may use the nodes without a label alone".to_owned(),
            false => format!("it may use {}", accessible.join(", ")),
        };
        return impossible(format!(
            "--node-label {wanted}: the queue {queue_name} may not use it ({there}); choose another \
             queue with --queue"
        ));
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
            partition(wanted, labels, "q", &queue).map_err(|failure| failure.sentence)
        };
        assert_eq!(ask(None, &labels, queue(&[], None)), Ok(None));
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
