//! Which task of a job runs on a node: one whose input is there, else in the rack, else any.

use super::{JobIx, NodeIx, Session, Stage, TaskIx};

/// How near a task's input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// On the node, or the task has no input of its own.
    Node,
    /// In the node's rack.
    Rack,
    /// Elsewhere.
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
    let rack = &session.node(node)?.rack;
    if let Some(task) = tasks.in_rack.get(rack).and_then(|here| here.first()) {
        return Some((*task, Level::Rack));
    }
    let task = *tasks.pending.first()?;
    let anywhere = session
        .task(job, stage, task)
        .is_some_and(|task| task.nodes.is_empty());
    Some((task, if anywhere { Level::Node } else { Level::Any }))
}
