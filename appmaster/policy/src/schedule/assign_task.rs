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

/// The pending task of the lowest number on the nearest level, of those that have not failed at the node; else of all.
/// Cost: O(log tasks), and the tasks that have failed there.
#[must_use]
pub fn assign_task(
    session: &Session,
    job: JobIx,
    stage: Stage,
    node: NodeIx,
) -> Option<(TaskIx, Level)> {
    let tasks = session.tasks(job, stage)?;
    let may = |task: &&TaskIx| !session.has_failed(node, job, stage, **task);
    let at_node = tasks.at_node.get(&node);
    if let Some(task) = at_node.and_then(|here| here.iter().find(may)) {
        return Some((*task, Level::Node));
    }
    if let Some(task) = tasks.placeless.iter().find(may) {
        return Some((*task, Level::Node));
    }
    let in_rack = tasks.in_rack.get(&session.node(node)?.rack);
    if let Some(task) = in_rack.and_then(|here| here.iter().find(may)) {
        return Some((*task, Level::Rack));
    }
    if let Some(task) = tasks.pending.iter().find(may) {
        return Some((*task, Level::Any));
    }
    let task = *tasks.pending.first()?;
    Some((task, level(session, job, stage, task, node)))
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
