//! Whether the cluster can ever give a session its containers, and what it has for one.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use follow::FollowError;
use policy::{MiB, ResourceTypes, Resources};
use proto_hadoop::yarn::{NodeReport, NodeState, Rows, newest};
use proto_hadoop::{ApplicationClient, ApplicationId, CallError};
use terminal::say;
use tokio::time::{Instant, sleep};

use super::{PreflightError, amount, candidates};
use crate::arguments::LocalDisk;
use crate::hostfile::HostNames;

/// NodeManagers come back to a ResourceManager within half a minute (`yarn.resourcemanager.connect.retry-interval.ms`);
/// where none has by then the job waits in its queue.
const COMING_BACK: Duration = Duration::from_secs(60);
/// What is said meanwhile.
pub(super) const NO_NODE: &str = "no node of the cluster runs now: waiting for one";
/// How often it is looked whether one has.
const LOOK: Duration = Duration::from_secs(1);

/// What a session, or an application of MapReduce jobs, is to hold.
#[derive(Debug)]
pub(crate) struct WantedContainers<'a> {
    /// So many, a node may have several.
    pub containers: NonZeroU32,
    /// The size of each.
    pub container: Resources,
    /// Hosts where it takes none.
    pub exclude: &'a [HostNames],
}

/// What the cluster has, for a new application.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The new one.
    pub application: ApplicationId,
    /// Hosts where it takes no container, as they registered.
    pub excluded: Vec<String>,
    /// MiB that tasks may have of the disks of hosts that are named, as these registered.
    pub disks: BTreeMap<String, u64>,
    /// The largest container that there is.
    pub maximum: Resources,
    /// The nodes that run and are not excluded.
    pub nodes: Vec<NodeUse>,
}

/// A node, all of it and what containers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeUse {
    /// All that it offers.
    pub capability: Resources,
    /// What containers hold of it.
    pub used: Resources,
}

/// Asks the ResourceManager and checks.
pub(crate) async fn held(
    rm: &ApplicationClient,
    queue: &str,
    wanted: &WantedContainers<'_>,
    disk: &LocalDisk,
) -> Result<Ground, PreflightError> {
    let ground = ground(rm, queue, wanted.exclude, disk).await?;
    ground.holds(wanted)?;
    Ok(ground)
}

/// Asks the ResourceManager for a new application, and what there is for it in its queue.
pub(crate) async fn ground(
    rm: &ApplicationClient,
    queue: &str,
    exclude: &[HostNames],
    disk: &LocalDisk,
) -> Result<Ground, PreflightError> {
    let asked = tokio::try_join!(
        nodes(rm),
        super::queue::queue(rm, queue),
        rm.new_application()
    );
    let (reports, queue, application) = asked.map_err(FollowError::from)?;
    // Containers without a label have the queue's own.
    let label = queue.and_then(|queue| queue.default_node_label);
    let newest = newest(&reports);
    let excluded = candidates::excluded(exclude, &newest).await?;
    let disks = candidates::disks(disk, &newest).await?;
    let types = ResourceTypes::default();
    let runs = |report: &&&NodeReport| report.state == NodeState::Running;
    let nodes = newest.values().filter(runs);
    let mut nodes: Vec<&&NodeReport> = nodes.collect();
    if let Some(label) = label.filter(|_| !nodes.is_empty()) {
        nodes.retain(|report| report.is_in(Some(&label)));
        if nodes.is_empty() {
            let nodes = candidates::no_node_has(&label);
            return Err(PreflightError::NoNode { nodes });
        }
    }
    let nodes = nodes
        .into_iter()
        .filter(|report| !excluded.contains(&report.id.host));
    let nodes = nodes.map(|report| NodeUse {
        capability: amount(&report.capability, &types),
        used: amount(&report.used, &types),
    });
    Ok(Ground {
        application: application.id,
        maximum: amount(&application.maximum, &types),
        nodes: nodes.collect(),
        excluded,
        disks,
    })
}

/// The nodes, when one of them runs: a ResourceManager that has just started hears of them half a minute later, and
/// what a job wants is cut by their sizes.
async fn nodes(rm: &ApplicationClient) -> Result<Rows<NodeReport>, CallError> {
    let limit = Instant::now() + COMING_BACK;
    let mut is_said = false;
    loop {
        let reports = rm.nodes(&[]).await?;
        let runs = |report: &NodeReport| report.state == NodeState::Running;
        if reports.iter().any(runs) || Instant::now() >= limit {
            return Ok(reports);
        }
        if !is_said {
            say(NO_NODE);
            is_said = true;
        }
        sleep(LOOK).await;
    }
}

impl Ground {
    /// Checks that the cluster could hold this when it is empty.
    ///
    /// # Errors
    /// It could not, with the numbers.
    pub(crate) fn holds(&self, wanted: &WantedContainers<'_>) -> Result<(), PreflightError> {
        let nodes: Vec<Resources> = self.nodes.iter().map(|node| node.capability).collect();
        match refusal(wanted, self.maximum, &nodes) {
            Some(why) => Err(PreflightError::Rejected { why }),
            None => Ok(()),
        }
    }
}

/// Why containers can never be had, the largest being `maximum`, on nodes of these sizes.
fn refusal(
    wanted: &WantedContainers<'_>,
    maximum: Resources,
    nodes: &[Resources],
) -> Option<String> {
    let size = wanted.container;
    let types = ResourceTypes::default();
    if size.memory > maximum.memory || size.vcores > maximum.vcores {
        return Some(format!(
            "a container would be {}, and this cluster gives at most {}; ask for less with \
             --slots-per-container or --memory",
            size.words(&types),
            maximum.words(&types)
        ));
    }
    // A ResourceManager that has just started hears of its nodes later.
    if nodes.is_empty() {
        return None;
    }
    // Cores are counted by some schedulers only.
    let fit = nodes.iter().map(|node| how_many(size.memory, node.memory));
    let fit = fit.fold(0, u64::saturating_add);
    let containers = wanted.containers.get();
    (fit < containers.into()).then(|| {
        format!(
            "{containers} containers of {} are wanted, and the {} nodes that run and are not excluded can hold \
             {fit}; ask for less with --containers, --slots-per-container or --memory",
            size.words(&types),
            nodes.len()
        )
    })
}

/// How many containers of this size fit into so much.
pub(crate) fn how_many(size: MiB, into: MiB) -> u64 {
    into.0 / size.0.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_cluster_of_this_kind_can_hold_is_refused_with_the_numbers() {
        let wanted = |containers: u32, mib, vcores| WantedContainers {
            containers: containers.try_into().unwrap(),
            container: Resources::new(mib, vcores),
            exclude: &[],
        };
        let maximum = Resources::new(8192, 4);
        let nodes = [Resources::new(8192, 8), Resources::new(4096, 8)];
        let refused = |wanted: WantedContainers<'_>| refusal(&wanted, maximum, &nodes);
        assert_eq!(refused(wanted(2, 4096, 4)), None);
        assert_eq!(refusal(&wanted(2, 4096, 4), maximum, &[]), None);
        assert_eq!(refused(wanted(1, 8192, 1)), None);
        // Two of them on the larger one.
        assert_eq!(refused(wanted(3, 4096, 1)), None);
        let why = refused(wanted(4, 4096, 1)).unwrap();
        assert!(
            why.contains("the 2 nodes") && why.contains("can hold 3;"),
            "{why}"
        );
        let why = refused(wanted(1, 1024, 5)).unwrap();
        assert!(why.contains("at most 8192 MiB and 4 vcores"), "{why}");
        assert!(refused(wanted(1, 9000, 1)).is_some());
    }
}
