//! An application makes itself known to its ResourceManager, and learns its limits.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use job::Application;
use policy::{MiB, ResourceTypes, Resources};
use proto_hadoop::yarn::{Counted, Registration};
use proto_hadoop::{ApplicationClient, ApplicationMasterClient, ContainerId, NodeId, Timing};
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::ApplicationCluster;
use crate::nodes;

/// Between two tries to register.
const REGISTER_PAUSE: Duration = Duration::from_secs(1);
/// For a read of the cluster whose ResourceManager restarts or is too busy. Who waits for less says so.
const RM_PATIENCE: Duration = Duration::from_secs(20);
/// For the limits of the queue; without them the application waits where it could be told that it has to.
const QUEUE_DEADLINE: Duration = Duration::from_secs(2);

/// Registers, also with a ResourceManager that is just restarting, failing over or too busy. `None`:
/// an earlier try was taken, and its answer lost.
///
/// # Errors
/// The ResourceManager refuses it, or does not answer for half of the time after which YARN takes this AM
/// for dead.
pub async fn register(
    rm: &ApplicationMasterClient,
    host: &str,
    port: Option<u16>,
    page: &str,
    application: &Application,
) -> Result<Option<Registration>> {
    let give_up = Instant::now() + Duration::from_millis(application.am_expiry_ms / 2);
    loop {
        match rm.register(host, port, page).await {
            Ok(registration) => return Ok(Some(registration)),
            Err(error) if error.is_already_registered() => {
                tracing::warn!("{error}: the answer to an earlier try was lost; going on");
                return Ok(None);
            }
            Err(error) if error.is_final() || Instant::now() > give_up => {
                return Err(error).context("cannot register with the ResourceManager");
            }
            Err(error) => tracing::warn!("registerApplicationMaster: {error}"),
        }
        sleep(REGISTER_PAUSE).await;
    }
}

/// What a lost answer to the registration would have told. Whether the scheduler counts cores is told
/// nowhere else; most do not, and whoever takes them for uncounted at worst waits longer.
async fn registration_of(cluster: &ApplicationClient) -> Result<Registration> {
    let offer = cluster.new_application().await;
    let offer = offer.context("cannot read the largest container that YARN grants")?;
    Ok(Registration {
        maximum: offer.maximum,
        queue: String::new(),
        counted: Counted::Memory,
        resource_types: Vec::new(),
        previous_containers: Vec::new(),
        nm_tokens: Vec::new(),
    })
}

/// The AM's own container and its node, inside the cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct AmContainer {
    pub container: Option<ContainerId>,
    pub node: Option<NodeId>,
}

/// The cluster as `registration` told of it, and as it is read beside it. Nodes of `exclude` are no
/// candidates; amounts know the `types` of the application first.
pub(crate) async fn cluster(
    registration: Option<Registration>,
    application: &Application,
    exclude: &[String],
    types: &ResourceTypes,
    own: AmContainer,
) -> Result<ApplicationCluster> {
    let client = ApplicationClient::new(application.rm_client.clone(), &application.user);
    let client = Arc::new(client.with_timing(Timing::patient(RM_PATIENCE)));
    let registration = match registration {
        Some(registration) => registration,
        None => registration_of(&client).await?,
    };
    let (step, share) = tokio::join!(
        step(&client, application, own.container),
        share(&client, &registration.queue)
    );
    let memory = application.am_memory.0.next_multiple_of(step.0.max(1));
    let held = own.node.map(|node| (node, Resources::new(memory, 1)));
    let types = nodes::types(types, &registration);
    let candidates = nodes::Candidates::new(application, exclude, &registration.queue, share, held);
    let limits = nodes::ClusterLimits::new(&registration, types, step);
    Ok(ApplicationCluster::new(client, limits, candidates))
}

/// To multiples of what the ResourceManager rounds containers up: what the client's settings say,
/// unless this AM's `own` container proves them wrong.
async fn step(
    cluster: &ApplicationClient,
    application: &Application,
    own: Option<ContainerId>,
) -> MiB {
    let said = MiB(application.allocation_step.0.max(1));
    let asked = application.am_memory.0;
    let report = match &own {
        Some(container) => cluster.report(&container.attempt.application).await.ok(),
        None => None,
    };
    match report.map(|report| report.usage.used.memory_mib) {
        None | Some(0) => said,
        Some(got) if asked.div_ceil(said.0) * said.0 == got => said,
        Some(got) => {
            tracing::warn!("the cluster rounds to {got} MiB, the client's settings say {said}");
            MiB(got)
        }
    }
}

/// The share of the cluster that all of `queue` may hold; `None`: no limit is known.
async fn share(cluster: &ApplicationClient, queue: &str) -> Option<f64> {
    let root = timeout(QUEUE_DEADLINE, cluster.queue_info("root")).await;
    let root = root.ok()?.ok()??;
    Some(root.share_of(queue)?.maximum)
}
