//! Proof, before anything is submitted, that the cluster can give what the job wants, and what it
//! wants in the cluster's own words.

mod appmaster;
mod candidates;
mod error;
mod queue;
mod types;
mod wanted_containers;

use follow::FollowError;
use follow::submit::NodeRequest;
use policy::allocate::place;
use policy::{Circumstances, ClusterView, Counted, Demand, MiB, ResourceTypes, Resources, choose};
use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::{self, NewApplication};

use crate::plan::Plan;

pub(crate) use appmaster::Elsewhere;
pub(crate) use error::PreflightError;
pub(crate) use wanted_containers::{Ground, NodeUse, WantedContainers, ground, held, how_many};

/// A job in the cluster's own words; one that it could run when empty, if it comes from [`check`].
#[derive(Debug)]
pub(crate) struct Checked {
    /// What looks odd, and only the ResourceManager can judge.
    pub remarks: Vec<String>,
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
    /// Where the ApplicationMaster may lie besides the nodes of the view.
    pub elsewhere: Elsewhere,
    /// Where alone the ApplicationMaster is in nobody's way; empty: anywhere.
    pub appmaster: Vec<NodeRequest>,
}

/// Asks the ResourceManager and checks.
pub(crate) async fn check(rm: &ApplicationClient, plan: &Plan) -> Result<Checked, PreflightError> {
    let mut checked = look(rm, plan).await?;
    checked.appmaster = check_room(&checked.demand, &checked.view, &checked.elsewhere)?;
    Ok(checked)
}

/// As [`check`], also where the cluster could never run the job.
pub(crate) async fn look(rm: &ApplicationClient, plan: &Plan) -> Result<Checked, PreflightError> {
    let given = &plan.placement.flags;
    let labels = async {
        match &given.node_label {
            Some(_) => rm.node_labels().await,
            None => Ok(yarn::Rows::default()),
        }
    };
    let (reports, queue, root, application, labels, known) = tokio::try_join!(
        rm.nodes(&[]),
        queue::queue(rm, &plan.deployment.queue),
        queue::queue(rm, "root"),
        rm.new_application(),
        labels,
        types::known(rm, plan),
    )
    .map_err(FollowError::from)?;
    let (types, counts) = types::wanted(
        &known,
        plan.placement.gpus_per_process,
        &plan.placement.resources,
    )?;
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(queue::remark(
        &plan.deployment.queue,
        queue.as_ref(),
        root.as_ref(),
    ));
    if reports.unread > 0 {
        remarks.push(format!(
            "the ResourceManager lists {} nodes in a way that cannot be read; the job goes by the other \
             {}",
            reports.unread,
            reports.len()
        ));
    }
    let node_label = queue::partition(
        given.node_label.as_deref(),
        &labels,
        &plan.deployment.queue,
        queue.as_ref(),
    )?;
    let newest = yarn::newest(&reports);
    let excluded = candidates::excluded(&given.exclude, &newest).await?;
    let view = ClusterView {
        nodes: candidates::usable(
            &plan.placement.node_names.nodes(&reports),
            &excluded,
            node_label.as_deref(),
            &types,
        )?,
        maximum: amount(&application.maximum, &types),
        step: MiB(plan.placement.allocation_step_mib),
        // What the scheduler counts is known only to a registered ApplicationMaster.
        counted: Counted::Memory,
        queue: Box::new(queue::limits(
            plan,
            root.as_ref().filter(|_| node_label.is_none()),
            &plan.placement.node_names.nodes(&reports),
            &types,
        )),
        types,
    };
    if view.nodes.is_empty() {
        remarks.push(wanted_containers::NO_NODE.to_owned());
    }
    // Its ApplicationMaster has the queue's own label, whatever its processes are to have.
    let own_label = queue
        .as_ref()
        .and_then(|queue| queue.default_node_label.as_deref());
    let elsewhere = match own_label == node_label.as_deref() {
        true => Elsewhere::Excluded(candidates::left_out(
            &plan.placement.node_names.nodes(&reports),
            &excluded,
            own_label,
            &view,
        )),
        false => Elsewhere::OtherPartition,
    };
    let demand = Demand {
        processes: plan.placement.wanted.processes,
        unit: Resources::new(plan.placement.memory_mib, plan.placement.vcores).with_counts(counts),
        memory_is_explicit: plan.placement.memory_is_explicit,
        oversubscribe: given.oversubscribe.unwrap_or(true),
        mode: plan.placement.wanted.mode,
        listed: candidates::listed(
            &plan.placement.wanted,
            given.list(),
            &newest,
            &excluded,
            node_label.as_deref(),
        )
        .await?,
        nodes: plan.placement.wanted.nodes,
        pack: given.pack,
        same_rack: given.same_rack,
        sort_nodes: given.sort_nodes.unwrap_or(true),
        numbering: plan.placement.wanted.numbering.clone(),
        near: match &plan.data.near {
            Some(near) => near.find(newest.keys().copied()).await?,
            None => policy::Near::default(),
        },
    };
    let (demand, chosen) = match plan.placement.wanted.auto {
        false => (demand, None),
        true => {
            let choice = choose(&Circumstances {
                demand: &demand,
                cluster: &view,
                communication_share: plan.placement.communication_share,
            });
            let reason = sentences::choice(&choice, &demand, &view.types);
            (choice.demand, Some(reason))
        }
    };
    Ok(Checked {
        remarks,
        application,
        demand,
        view,
        chosen,
        excluded,
        node_label,
        elsewhere,
        appmaster: Vec::new(),
    })
}

/// YARN's amount as the policy's.
fn amount(resource: &yarn::Resource, types: &ResourceTypes) -> Resources {
    let counts = types.counts(|name| resource.others.get(name).copied());
    Resources::new(resource.memory_mib, resource.vcores).with_counts(counts)
}

/// No process runs in less. More processes than that allows, however they share the nodes, would take all memory of
/// machines that others use as well, before YARN or a kernel ends them.
const LEAST: MiB = MiB(4);

/// Whether the job fits the cluster when nothing else runs there, and where its ApplicationMaster may
/// lie then, where there are none `elsewhere`.
pub(crate) fn check_room(
    demand: &Demand,
    view: &ClusterView,
    elsewhere: &Elsewhere,
) -> Result<Vec<NodeRequest>, PreflightError> {
    if demand.unit.vcores > view.maximum.vcores {
        return Err(PreflightError::Cores {
            wanted: demand.unit.vcores,
            most: view.maximum.vcores,
        });
    }
    let processes = demand.processes.get();
    let memory = view.nodes.iter().map(|node| node.capability.memory.0);
    let memory = memory.fold(0, u64::saturating_add);
    if !view.nodes.is_empty() && memory < LEAST.0.saturating_mul(processes.into()) {
        return Err(PreflightError::Crowd {
            processes,
            memory: MiB(memory),
            least: LEAST,
        });
    }
    let mut empty = view.clone();
    for node in &mut empty.nodes {
        node.used = Resources::default();
    }
    empty.queue.headroom = None;
    match place(demand, &empty, &[]) {
        Err(rejection) if !rejection.may_pass() => Err(PreflightError::Rejected {
            why: sentences::rejection(&rejection, &empty.types),
        }),
        Ok(_) => appmaster::places(demand, view, elsewhere),
        Err(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use policy::{NodeId, NodeView, Queue};

    use super::*;

    fn nowhere() -> Elsewhere {
        Elsewhere::Excluded(Vec::new())
    }

    fn view(used: u64) -> ClusterView {
        ClusterView {
            nodes: vec![NodeView {
                id: NodeId("n1:1".into()),
                host: "n1".into(),
                rack: "/r".into(),
                capability: Resources::new(4096, 4),
                used: Resources::new(used, 1),
                ..NodeView::default()
            }],
            maximum: Resources::new(4096, 4),
            step: MiB(1024),
            counted: Counted::Memory,
            ..ClusterView::default()
        }
    }

    #[test]
    fn what_could_never_run_is_refused_and_what_can_wait_is_not() {
        let demand = |processes: u32, memory, vcores| {
            let processes = processes.try_into().unwrap();
            Demand::anywhere(processes, Resources::new(memory, vcores))
        };
        assert!(check_room(&demand(4, 1024, 1), &view(0), &nowhere()).is_ok());
        assert!(check_room(&demand(4, 1024, 1), &view(4096), &nowhere()).is_ok());
        let refused = |demand| {
            check_room(&demand, &view(0), &nowhere())
                .unwrap_err()
                .to_string()
        };
        assert!(refused(demand(1, 8192, 1)).contains("8192 MiB"));
        assert!(refused(demand(1, 1024, 8)).contains("--vcores-per-proc"));
        let whole = Demand {
            oversubscribe: false,
            ..demand(5, 1024, 1)
        };
        assert!(refused(whole).contains("do not fit"));
        assert!(check_room(&demand(1024, 1024, 1), &view(0), &nowhere()).is_ok());
        let crowd = refused(demand(1_000_000, 1024, 1));
        assert_eq!(
            crowd,
            "1000000 processes are too many for this cluster, whose nodes have 4096 MiB: that is less than 4 MiB for \
             each; start fewer (-n)"
        );
        let nobody = ClusterView {
            nodes: Vec::new(),
            ..view(0)
        };
        assert!(check_room(&demand(1, 1024, 1), &nobody, &nowhere()).is_ok());
    }

    #[test]
    fn what_never_fits_beside_the_applicationmaster_or_into_the_queue_is_refused_with_the_numbers()
    {
        let four = |queue: Queue| ClusterView {
            nodes: (1..=4)
                .map(|number| NodeView {
                    id: NodeId(format!("n{number}:1")),
                    host: format!("n{number}"),
                    capability: Resources::new(8192, 8),
                    ..NodeView::default()
                })
                .collect(),
            maximum: Resources::new(8192, 8),
            step: MiB(1024),
            queue: Box::new(queue),
            ..ClusterView::default()
        };
        let queue = Queue {
            name: "small".into(),
            appmaster: Resources::new(1024, 1),
            ..Queue::default()
        };
        let wanted = |processes: u32, mib| Demand {
            memory_is_explicit: true,
            ..Demand::anywhere(processes.try_into().unwrap(), Resources::new(mib, 1))
        };
        let sentence = |demand, queue| {
            check_room(&demand, &four(queue), &nowhere())
                .map(drop)
                .map_err(|failure| failure.to_string())
        };
        assert_eq!(sentence(wanted(7, 4096), queue.clone()), Ok(()));
        let eight = sentence(wanted(8, 4096), queue.clone()).unwrap_err();
        assert!(
            eight.contains("together hold 7")
                && eight.contains("1024 MiB and 1 vcore of one of them"),
            "{eight}"
        );
        // Without an ApplicationMaster of its own on the cluster it fits.
        assert_eq!(sentence(wanted(8, 4096), Queue::default()), Ok(()));
        let small = Queue {
            maximum: Some(Resources::new(8192, 8)),
            ..queue
        };
        assert_eq!(sentence(wanted(7, 1024), small.clone()), Ok(()));
        let eight = sentence(wanted(8, 1024), small).unwrap_err();
        assert!(
            eight.contains("the queue small gives its applications at most 8192 MiB and 8 vcores")
                && eight.contains("holds 1024 MiB"),
            "{eight}"
        );
    }
}
