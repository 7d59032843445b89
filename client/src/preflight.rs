//! Proof, before anything is submitted, that the cluster can give what the job wants.

use job::exit::Exit;
use policy::allocate::place;
use policy::{ClusterView, Counted, Demand, MiB, NodeId, NodeView, Resources, Vcores};
use proto_hadoop::yarn::{NewApplication, NodeReport, NodeState, QueueInfo, QueueState, Resource};
use proto_hadoop::{ApplicationClient, CallError};

use crate::failure::Failure;
use crate::resolve::Resolved;

/// Asks the ResourceManager, checks, and returns the id of the new application.
pub(crate) async fn check(
    rm: &ApplicationClient,
    resolved: &Resolved,
) -> Result<NewApplication, Failure> {
    let (nodes, queue, application) = tokio::try_join!(
        rm.nodes(&[NodeState::Running]),
        queue(rm, &resolved.queue),
        rm.new_application(),
    )
    .map_err(|error| unavailable(&error))?;
    check_queue(rm, &resolved.queue, queue.as_ref()).await?;
    check_room(resolved, &nodes, &application.maximum)?;
    Ok(application)
}

/// The ResourceManager does not answer, or answers nonsense.
pub(crate) fn unavailable(error: &CallError) -> Failure {
    Failure::new(Exit::Unavailable, format!("the ResourceManager: {error}"))
}

/// A queue that does not exist is an exception on some Hadoop lines, an empty answer on others.
async fn queue(rm: &ApplicationClient, name: &str) -> Result<Option<QueueInfo>, CallError> {
    match rm.queue_info(name).await {
        Err(CallError::Remote { .. }) => Ok(None),
        other => other,
    }
}

async fn check_queue(
    rm: &ApplicationClient,
    name: &str,
    queue: Option<&QueueInfo>,
) -> Result<(), Failure> {
    let trouble = match queue {
        None => "does not exist on this cluster",
        Some(queue) if queue.state == QueueState::Stopped => "is stopped",
        Some(queue) if !queue.children.is_empty() => "only holds other queues",
        Some(_) => return Ok(()),
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

/// Whether the job fits the cluster when nothing else runs there.
fn check_room(
    resolved: &Resolved,
    nodes: &[NodeReport],
    maximum: &Resource,
) -> Result<(), Failure> {
    let empty = |report: &NodeReport| NodeView {
        id: NodeId(report.id.to_string()),
        host: report.id.host.clone(),
        rack: report.rack.clone(),
        capability: Resources::new(report.capability.memory_mib, report.capability.vcores),
        used: Resources::default(),
    };
    let view = ClusterView {
        nodes: nodes
            .iter()
            .filter(|n| n.labels.is_empty())
            .map(empty)
            .collect(),
        maximum: Resources::new(maximum.memory_mib, maximum.vcores),
        step: MiB(resolved.allocation_step_mib),
        // What the scheduler counts is known only to a registered ApplicationMaster.
        counted: Counted::Memory,
    };
    let Ok(processes) = resolved.processes.try_into() else {
        return Err(Failure::new(Exit::Usage, "a job has at least one process"));
    };
    let demand = Demand {
        memory_is_explicit: resolved.memory_is_explicit,
        ..Demand::anywhere(
            processes,
            Resources::new(resolved.memory_mib, resolved.vcores),
        )
    };
    if demand.unit.vcores > view.maximum.vcores {
        return Err(Failure::new(
            Exit::Impossible,
            format!(
                "one process wants {}, but this cluster gives a container at most {}; ask for less \
                 with --vcores-per-proc",
                demand.unit.vcores,
                Vcores(maximum.vcores)
            ),
        ));
    }
    match place(&demand, &view, &[]) {
        Ok(_) => Ok(()),
        Err(rejection) => Err(Failure::new(Exit::Impossible, rejection)),
    }
}
