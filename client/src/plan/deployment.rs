//! What the job is to YARN.

use std::path::Path;
use std::time::Duration;

use super::{PlanError, short};
use crate::arguments::{Arguments, DeployMode};
use crate::cluster::{Cluster, ClusterError};
use crate::usage::UsageError;

/// Hadoop's YarnConfiguration.APPLICATION_MAX_TAGS.
const TAGS_MAX: usize = 10;
/// Hadoop's default of `yarn.am.liveness-monitor.expiry-interval-ms` up to 3.3; 3.4 has 900,000.
/// The smaller one is the safe one.
const AM_EXPIRY_MS: u64 = 600_000;
/// Hadoop's default of `yarn.nm.liveness-monitor.expiry-interval-ms`.
const NM_EXPIRY_MS: u64 = 600_000;
/// Hadoop's default of `yarn.resourcemanager.am.max-attempts`. The ResourceManager holds to its own
/// value, whatever is asked for.
const AM_MAX_ATTEMPTS: u64 = 2;

/// Where the ApplicationMaster runs, and what YARN is told of the application.
pub(crate) struct DeploymentPlan {
    pub mode: DeployMode,
    /// The cluster is in this process: nobody else can ask it for anything.
    pub is_local: bool,
    pub name: String,
    pub queue: String,
    pub tags: Vec<String>,
    pub priority: Option<i32>,
    /// How often YARN starts the ApplicationMaster.
    pub attempts: u32,
    pub am_ports: Option<(u16, u16)>,
    pub interface: Option<String>,
    /// The staging folder, where the user names one.
    pub staging: Option<String>,
    /// The RM takes an AM for dead after this silence, ms.
    pub am_expiry_ms: u64,
    /// What YARN takes to miss a node or an ApplicationMaster.
    pub missed_after: Duration,
}

impl DeploymentPlan {
    /// Of a job whose first program is `program`.
    pub(super) fn new(
        given: Arguments,
        cluster: &Cluster,
        program: &Path,
    ) -> Result<Self, PlanError> {
        if given.tags.len() > TAGS_MAX {
            return Err(UsageError::Tags {
                count: given.tags.len(),
                most: TAGS_MAX,
            }
            .into());
        }
        let is_local = given.local.local.is_some();
        let most = cluster.number("yarn.resourcemanager.am.max-attempts", AM_MAX_ATTEMPTS)?;
        let attempts = match given.deployment.deploy_mode {
            // It is this process.
            DeployMode::Client => 1,
            // The cluster in this process knows one attempt.
            DeployMode::Cluster if is_local => 1,
            DeployMode::Cluster => u64::from(given.ends.attempts()).min(most.max(1)),
        };
        Ok(Self {
            mode: given.deployment.deploy_mode,
            is_local,
            name: given.name.unwrap_or_else(|| short(program)),
            queue: given.queue,
            tags: given.tags,
            priority: given.priority,
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
            am_ports: given.am_ports,
            interface: given.iface,
            staging: given.staging,
            missed_after: missed_after(cluster)?,
            am_expiry_ms: am_expiry_ms(cluster)?,
        })
    }
}

/// The RM takes an AM for dead after this silence, ms.
pub(crate) fn am_expiry_ms(cluster: &Cluster) -> Result<u64, ClusterError> {
    cluster.number("yarn.am.liveness-monitor.expiry-interval-ms", AM_EXPIRY_MS)
}

/// What YARN takes to miss a node or an ApplicationMaster.
pub(crate) fn missed_after(cluster: &Cluster) -> Result<Duration, ClusterError> {
    let of_nodes = cluster.number("yarn.nm.liveness-monitor.expiry-interval-ms", NM_EXPIRY_MS)?;
    Ok(Duration::from_millis(am_expiry_ms(cluster)?.max(of_nodes)))
}
