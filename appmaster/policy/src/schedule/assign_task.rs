//! Which task of a job runs on a node: one whose input is there, else in the rack, else any.

use super::{JobIx, NodeIx, Session, Stage, TaskIx};

/// How near a task's input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// On the node, or no slot is nearer: the task has no input, or none of the nodes that have it has a container.
    Node,
    /// In the node's rack.
    Rack,
    /// In another rack than every node that has its input.
    Any,
}

/// The pending task of the lowest number on the nearest level. Cost: O(log tasks).
#[must_use]
pub fn assign_task(
    session: &Session,
    job: JobIx,
    stage: Stage,
    node: NodeIx,
) -> Option<(TaskIx, Level)> {
    let tasks = session.tasks(job, stage)?;
    if let Some(task) = tasks.at_node.get(&node).and_then(|here| here.first()) {
        return Some((*task, Level::Node));
    }
    if let Some(task) = tasks.placeless.first() {
        return Some((*task, Level::Node));
    }
    let rack = &session.node(node)?.rack;
    if let Some(task) = tasks.in_rack.get(rack).and_then(|here| here.first()) {
        return Some((*task, Level::Rack));
    }
    Some((*tasks.pending.first()?, Level::Any))
}

/// How near the input of a task is to `node`, wherever there are containers; without input [`Level::Node`]. Cost:
/// O(nodes that have it).
#[must_use]
pub fn level(session: &Session, job: JobIx, stage: Stage, task: TaskIx, node: NodeIx) -> Level {
    let Some(task) = session.task(job, stage, task) else {
        return Level::Any;
    };
    if task.nodes.is_empty() || task.nodes.contains(&node) {
        return Level::Node;
    }
    let rack = |node: NodeIx| session.node(node).map(|node| node.rack.as_str());
    let here = rack(node);
    match task.nodes.iter().any(|other| rack(*other) == here) {
        true => Level::Rack,
        false => Level::Any,
    }
}
