//! What the ApplicationMaster has to know of a job.

use std::time::Duration;

use follow::streams::Input;
use follow::submit::AM_MEMORY_MIB;
use job::{Application, Description, Jobs, MpiJob};
use policy::lifecycle::Limits;
use policy::{MiB, Millis, gang, run};
use proto_hadoop::yarn::NodeNames;
use staging::Outcome;

use crate::arguments::DeployMode;
use crate::cluster::Cluster;
use crate::plan::Plan;
use crate::preflight::Checked;

/// The description of a job that was `checked`, and of which everything is `staged`.
pub(crate) fn describe(
    plan: &Plan,
    checked: &Checked,
    cluster: &Cluster,
    staged: &Outcome,
) -> Description {
    Description {
        build: job::BUILD.into(),
        application: application(plan, checked, cluster, staged),
        jobs: Jobs::One(Box::new(mpi_job(plan, checked, staged))),
    }
}

fn application(plan: &Plan, checked: &Checked, cluster: &Cluster, staged: &Outcome) -> Application {
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
        interface: plan.deployment.interface.clone(),
        allocation_step: MiB(plan.placement.allocation_step_mib),
        node_names_have_ports: plan.placement.node_names == NodeNames::HostAndPort,
        node_label: checked.node_label.clone(),
        staged: staged.staged.clone(),
    }
}

fn mpi_job(plan: &Plan, checked: &Checked, staged: &Outcome) -> MpiJob {
    let given = &plan.placement.flags;
    MpiJob {
        demand: checked.demand.clone(),
        types: checked.view.types.clone(),
        limits: limits(plan),
        exclude: checked.excluded.clone(),
        explain: plan.streams.explain,
        yielding: given.yielding,
        binding: plan.program.binding,
        gpus_per_process: plan.placement.gpus_per_process,
        universe: plan.program.universe,
        programs: programs(plan, checked.demand.processes.get(), staged),
        stage_out: plan.data.outgoing.clone(),
        checkpoints: plan.data.checkpoints.clone(),
        input: plan.streams.input != Input::None,
        terminal: plan.streams.terminal.clone(),
    }
}

/// What the user wants of them; the rest stays as it is.
fn limits(plan: &Plan) -> Limits {
    let (given, program) = (&plan.placement.flags, &plan.program);
    let ms = |span: Duration| Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    let or = |given: Option<Duration>, usual| given.map_or(usual, ms);
    let usual = Limits::default();
    Limits {
        gang: gang::Limits {
            reissue: or(given.reissue_after, usual.gang.reissue),
            gather: or(given.gang_timeout, usual.gang.gather),
            wait: given.wait_timeout.map(ms),
            ..usual.gang
        },
        run: run::Limits {
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
fn programs(plan: &Plan, processes: u32, staged: &Outcome) -> Vec<job::Program> {
    let wanted = plan.program.executables.iter();
    wanted
        .zip(&staged.programs)
        .map(|(wanted, placed)| job::Program {
            processes: wanted.processes.unwrap_or(processes),
            file: placed.link.clone(),
            own_path: placed.own_path.clone(),
            mpi_library: placed.mpi_library.clone(),
            args: wanted.args.clone(),
            environment: wanted.environment.clone(),
            folder: wanted.folder.clone(),
            library_folder: placed.library_folder.clone(),
            library_variables: placed.library_variables.clone(),
            glibc_needed: placed.glibc_needed.clone(),
            digest: placed.digest.clone(),
        })
        .collect()
}
