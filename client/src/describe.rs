//! What the ApplicationMaster has to know of a job.

use std::time::Duration;

use follow::streams::StandardInput;
use follow::submit::AM_MEMORY_MIB;
use job::{Application, ApplicationWork, Description, MpiJob, Staged, StagingFolder};
use policy::gang::GangLimits;
use policy::lifecycle::LifecycleLimits;
use policy::run::RunLimits;
use policy::{Demand, MiB, Millis, ResourceTypes, Resources};
use proto_hadoop::yarn::NodeNames;
use staging::StagedFiles;

use crate::arguments::DeployMode;
use crate::cluster::{Cluster, ClusterError};
use crate::plan::{Plan, am_expiry_ms, node_names, step_mib};
use crate::preflight::Checked;

/// How often YARN may start the ApplicationMaster of a session. The second takes no job, and brings those of the
/// first to an end.
pub(crate) const SESSION_ATTEMPTS: u32 = 2;

/// The description of a job that was `checked`, and of which everything is `staged`.
pub(crate) fn describe(
    plan: &Plan,
    checked: &Checked,
    cluster: &Cluster,
    staged: &StagedFiles,
) -> Description {
    Description {
        build: job::BUILD.into(),
        application: application(plan, checked, cluster, staged),
        jobs: ApplicationWork::One(Box::new(mpi_job(plan, PlacedDemand::from(checked), staged))),
    }
}

/// Where a session's processes may be reached; `None`: anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network<'a> {
    /// Ports of the ApplicationMaster, inclusive.
    pub am_ports: Option<(u16, u16)>,
    /// The same of each launcher.
    pub launcher_ports: Option<(u16, u16)>,
    /// Interface of the nodes.
    pub interface: Option<&'a str>,
}

/// How a session's application stands to the cluster, this binary being `staged`.
pub(crate) fn session_application(
    network: Network<'_>,
    cluster: &Cluster,
    staged: Vec<Staged>,
) -> Result<Application, ClusterError> {
    Ok(Application {
        user: cluster.user.clone(),
        rm_client: cluster.resource_managers.client.clone(),
        rm_scheduler: cluster.resource_managers.scheduler.clone(),
        am_expiry_ms: am_expiry_ms(cluster)?,
        attempts: SESSION_ATTEMPTS,
        am_memory: MiB(AM_MEMORY_MIB),
        am_ports: network.am_ports,
        launcher_ports: network.launcher_ports,
        interface: network.interface.map(str::to_owned),
        allocation_step: MiB(step_mib(cluster)?),
        node_names_have_ports: node_names(cluster)? == NodeNames::HostAndPort,
        node_label: None,
        staged,
    })
}

/// Where a session keeps what others are to find.
pub(crate) fn staging_folder(staged: &StagedFiles) -> StagingFolder {
    StagingFolder {
        address: staged.address.clone(),
        path: staged.root_path.clone(),
    }
}

/// A job that a session is to run, of which everything is `staged`. Where, the session decides.
pub(crate) fn for_session(plan: &Plan, staged: &StagedFiles) -> MpiJob {
    let placement = &plan.placement;
    let unit = Resources::new(placement.memory_mib, placement.vcores);
    let demand = Demand {
        memory_is_explicit: placement.memory_is_explicit,
        ..Demand::anywhere(placement.wanted.processes, unit)
    };
    let mut job = mpi_job(
        plan,
        PlacedDemand {
            demand: &demand,
            types: &ResourceTypes::default(),
            excluded: &[],
        },
        staged,
    );
    // Kept here: it is the session that lets the job wait, and no container of its own.
    job.limits.gang.wait = None;
    job
}

/// What a job wants of the cluster.
struct PlacedDemand<'a> {
    demand: &'a Demand,
    types: &'a ResourceTypes,
    excluded: &'a [String],
}

impl<'a> From<&'a Checked> for PlacedDemand<'a> {
    fn from(checked: &'a Checked) -> Self {
        Self {
            demand: &checked.demand,
            types: &checked.view.types,
            excluded: &checked.excluded,
        }
    }
}

fn application(
    plan: &Plan,
    checked: &Checked,
    cluster: &Cluster,
    staged: &StagedFiles,
) -> Application {
    Application {
        user: cluster.user.clone(),
        rm_client: cluster.resource_managers.client.clone(),
        rm_scheduler: cluster.resource_managers.scheduler.clone(),
        am_expiry_ms: plan.deployment.am_expiry_ms,
        attempts: plan.deployment.attempts,
        am_memory: MiB(match plan.deployment.mode {
            DeployMode::Cluster => AM_MEMORY_MIB,
            DeployMode::Client => 0,
        }),
        am_ports: plan.deployment.am_ports,
        // Launchers of such a job have nothing to fetch from each other.
        launcher_ports: None,
        interface: plan.deployment.interface.clone(),
        allocation_step: MiB(plan.placement.allocation_step_mib),
        node_names_have_ports: plan.placement.node_names == NodeNames::HostAndPort,
        node_label: checked.node_label.clone(),
        staged: staged.staged.clone(),
    }
}

fn mpi_job(plan: &Plan, placed: PlacedDemand<'_>, staged: &StagedFiles) -> MpiJob {
    let given = &plan.placement.flags;
    MpiJob {
        demand: placed.demand.clone(),
        types: placed.types.clone(),
        limits: limits(plan),
        exclude: placed.excluded.to_vec(),
        explain: plan.streams.explain,
        yielding: given.yielding,
        binding: plan.program.binding,
        any_speed: given.any_speed,
        gpus_per_process: plan.placement.gpus_per_process,
        universe: plan.program.universe,
        programs: programs(plan, placed.demand.processes.get(), staged),
        stage_out: plan.data.outgoing.clone(),
        checkpoints: plan.data.checkpoints.clone(),
        input: plan.streams.input != StandardInput::None,
        terminal: plan.streams.terminal.clone(),
    }
}

/// What the user wants of them; the rest stays as it is.
fn limits(plan: &Plan) -> LifecycleLimits {
    let (given, program) = (&plan.placement.flags, &plan.program);
    let ms = |span: Duration| Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    let or = |given: Option<Duration>, usual| given.map_or(usual, ms);
    let usual = LifecycleLimits::default();
    LifecycleLimits {
        gang: GangLimits {
            reissue: or(given.reissue_after, usual.gang.reissue),
            gather: or(given.gang_timeout, usual.gang.gather),
            wait: given.wait_timeout.map(ms),
            ..usual.gang
        },
        run: RunLimits {
            join: or(given.join_timeout, usual.run.join),
            run: program.run_limit.map(ms),
            linger: program.linger.map(ms),
            spare_others: program.spare_others,
            restarts: program.restarts,
            ..usual.run
        },
    }
}

/// What the ranks run; a program that names no number has all `processes`.
fn programs(plan: &Plan, processes: u32, staged: &StagedFiles) -> Vec<job::MpiProgram> {
    let wanted = plan.program.executables.iter();
    wanted
        .zip(&staged.programs)
        .map(|(wanted, placed)| job::MpiProgram {
            processes: wanted.processes.unwrap_or(processes),
            file: placed.link.clone(),
            own_path: placed.own_path.clone(),
            in_place: placed.in_place.clone(),
            tree: placed.tree.clone(),
            mpi_library: placed.mpi_library.clone(),
            args: wanted.args.clone(),
            environment: wanted.environment.clone(),
            folder: wanted.folder.clone(),
            library_folder: placed.library_folder.clone(),
            library_variables: placed.library_variables.clone(),
            glibc_needed: placed.glibc_needed.clone(),
            digest: placed.digest.clone(),
            pmix_library: placed.pmix_library.clone(),
        })
        .collect()
}
