//! Proof, before anything is submitted, that the cluster can give what the job wants, and what it
//! wants in the cluster's own words.

mod candidates;
mod queue;

use job::exit::Exit;
use policy::allocate::place;
use policy::{Circumstances, ClusterView, Counted, Demand, MiB, Resources, choose};
use proto_hadoop::yarn::{self, NewApplication};
use proto_hadoop::{ApplicationClient, CallError};

use crate::failure::Failure;
use crate::resolve::Resolved;

/// A job in the cluster's own words; one that it could run when empty, if it comes from [`check`].
#[derive(Debug)]
pub(crate) struct Checked {
    pub application: NewApplication,
    pub demand: Demand,
    /// The usable nodes, as they are used now.
    pub view: ClusterView,
    /// Why `-r auto` chose the mode of `demand`.
    pub chosen: Option<String>,
    /// Hosts that are no candidates, as they registered.
    pub excluded: Vec<String>,
    /// The partition whose nodes are the candidates; `None`: the default one.
    pub node_label: Option<String>,
}

/// Asks the ResourceManager and checks.
pub(crate) async fn check(rm: &ApplicationClient, resolved: &Resolved) -> Result<Checked, Failure> {
    let checked = look(rm, resolved).await?;
    check_room(&checked.demand, &checked.view)?;
    Ok(checked)
}

/// As [`check`], also where the cluster could never run the job.
pub(crate) async fn look(rm: &ApplicationClient, resolved: &Resolved) -> Result<Checked, Failure> {
    let given = &resolved.placement;
    let labels = async {
        match &given.node_label {
            Some(_) => rm.node_labels().await,
            None => Ok(Vec::new()),
        }
    };
    let (reports, queue, application, labels, gpus) = tokio::try_join!(
        rm.nodes(&[]),
        queue::queue(rm, &resolved.queue),
        rm.new_application(),
        labels,
        gpus(rm, resolved),
    )
    .map_err(|error| unavailable(&error))?;
    let queue = queue::check(rm, &resolved.queue, queue).await?;
    let node_label = queue::partition(
        given.node_label.as_deref(),
        &labels,
        &resolved.queue,
        &queue,
    )?;
    let newest = yarn::newest(&reports);
    let excluded = candidates::excluded(&given.exclude, &newest).await?;
    let view = ClusterView {
        nodes: candidates::usable(&newest, &excluded, node_label.as_deref())?,
        maximum: amount(&application.maximum),
        step: MiB(resolved.allocation_step_mib),
        // What the scheduler counts is known only to a registered ApplicationMaster.
        counted: Counted::Memory,
    };
    let demand = Demand {
        processes: resolved.wanted.processes,
        unit: Resources::new(resolved.memory_mib, resolved.vcores).with_gpus(gpus),
        memory_is_explicit: resolved.memory_is_explicit,
        oversubscribe: given.oversubscribe.unwrap_or(true),
        mode: resolved.wanted.mode,
        listed: candidates::listed(
            &resolved.wanted,
            given.list(),
            &newest,
            &excluded,
            node_label.as_deref(),
        )
        .await?,
        nodes: resolved.wanted.nodes,
        pack: given.pack,
        same_rack: given.same_rack,
        sort_nodes: given.sort_nodes.unwrap_or(true),
        numbering: resolved.wanted.numbering.clone(),
        near: match &resolved.data.near {
            Some(near) => near.find(newest.keys().copied()).await?,
            None => policy::Near::default(),
        },
    };
    let (demand, chosen) = match resolved.wanted.auto {
        false => (demand, None),
        true => {
            let choice = choose(&Circumstances {
                demand: &demand,
                cluster: &view,
                communication_share: resolved.communication_share,
            });
            (choice.demand, Some(choice.reason))
        }
    };
    Ok(Checked {
        application,
        demand,
        view,
        chosen,
        excluded,
        node_label,
    })
}

/// The GPUs of a process that YARN is asked for: none where it does not count them. It would drop them
/// without a word; a launcher deals those that it finds on its node then.
async fn gpus(rm: &ApplicationClient, resolved: &Resolved) -> Result<u32, CallError> {
    let Some(wanted @ 1..) = resolved.gpus_per_process else {
        return Ok(0);
    };
    let types = rm.resource_types().await?;
    let counted = types.iter().any(|counted| counted.name == yarn::GPU);
    Ok(if counted { wanted } else { 0 })
}

/// YARN's amount as the policy's.
fn amount(resource: &yarn::Resource) -> Resources {
    Resources::new(resource.memory_mib, resource.vcores).with_gpus(resource.gpus())
}

/// The ResourceManager does not answer, or answers nonsense.
pub(crate) fn unavailable(error: &CallError) -> Failure {
    Failure::new(Exit::Unavailable, format!("the ResourceManager: {error}"))
}

/// Whether the job fits the cluster when nothing else runs there.
pub(crate) fn check_room(demand: &Demand, view: &ClusterView) -> Result<(), Failure> {
    if demand.unit.vcores > view.maximum.vcores {
        return Err(Failure::new(
            Exit::Impossible,
            format!(
                "one process wants {}, but this cluster gives a container at most {}; ask for less \
                 with --vcores-per-proc",
                demand.unit.vcores, view.maximum.vcores
            ),
        ));
    }
    let mut empty = view.clone();
    for node in &mut empty.nodes {
        node.used = Resources::default();
    }
    match place(demand, &empty, &[]) {
        Err(rejection) if !rejection.may_pass() => Err(Failure::new(Exit::Impossible, rejection)),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use policy::{NodeId, NodeView};

    use super::*;

    fn view(used: u64) -> ClusterView {
        ClusterView {
            nodes: vec![NodeView {
                id: NodeId("n1:1".into()),
                host: "n1".into(),
                rack: "/r".into(),
                capability: Resources::new(4096, 4),
                used: Resources::new(used, 1),
            }],
            maximum: Resources::new(4096, 4),
            step: MiB(1024),
            counted: Counted::Memory,
        }
    }

    #[test]
    fn what_could_never_run_is_refused_and_what_can_wait_is_not() {
        let demand = |processes: u32, memory, vcores| {
            let processes = processes.try_into().unwrap();
            Demand::anywhere(processes, Resources::new(memory, vcores))
        };
        assert!(check_room(&demand(4, 1024, 1), &view(0)).is_ok());
        assert!(check_room(&demand(4, 1024, 1), &view(4096)).is_ok());
        let refused = |demand| check_room(&demand, &view(0)).unwrap_err().sentence;
        assert!(refused(demand(1, 8192, 1)).contains("8192 MiB"));
        assert!(refused(demand(1, 1024, 8)).contains("--vcores-per-proc"));
        let whole = Demand {
            oversubscribe: false,
            ..demand(5, 1024, 1)
        };
        assert!(refused(whole).contains("do not fit"));
        let nobody = ClusterView {
            nodes: Vec::new(),
            ..view(0)
        };
        assert!(check_room(&demand(1, 1024, 1), &nobody).is_ok());
    }
}
