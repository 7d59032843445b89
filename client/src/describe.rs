//! What the ApplicationMaster has to know of a job.

use std::num::NonZeroU32;
use std::time::Duration;

use follow::streams::Input;
use follow::submit::AM_MEMORY_MIB;
use job::Description;
use policy::{GPU, Numbering};
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
    let demand = &checked.demand;
    let given = &plan.placement.flags;
    let ms = |span: Option<Duration>| Some(u64::try_from(span?.as_millis()).unwrap_or(u64::MAX));
    Description {
        build: job::BUILD.into(),
        user: cluster.user.clone(),
        rm_client: cluster.resource_managers.client.clone(),
        rm_scheduler: cluster.resource_managers.scheduler.clone(),
        processes: demand.processes.get(),
        memory_per_process_mib: demand.unit.memory.0,
        memory_is_explicit: demand.memory_is_explicit,
        vcores_per_process: demand.unit.vcores.0,
        oversubscribe: demand.oversubscribe,
        mode: demand.mode.to_string(),
        listed: demand
            .listed
            .iter()
            .map(|entry| (entry.host.clone(), entry.processes))
            .collect(),
        nodes: demand.nodes.map(NonZeroU32::get),
        pack: demand.pack,
        same_rack: demand.same_rack,
        sort_nodes: demand.sort_nodes,
        rank_by_node: demand.numbering == Numbering::Node,
        rank_map: match &demand.numbering {
            Numbering::Map(nodes) => nodes.clone(),
            Numbering::Slot | Numbering::Node => Vec::new(),
        },
        near: (
            demand.near.of.clone(),
            demand.near.held.clone().into_iter().collect(),
        ),
        exclude: checked.excluded.clone(),
        node_label: checked.node_label.clone(),
        reissue_after_ms: ms(given.reissue_after),
        gang_timeout_ms: ms(given.gang_timeout),
        wait_timeout_ms: ms(given.wait_timeout),
        join_timeout_ms: ms(given.join_timeout),
        run_limit_ms: ms(plan.program.run_limit),
        linger_ms: ms(plan.program.linger),
        spare_others: plan.program.spare_others,
        restarts: plan.program.restarts,
        attempts: plan.deployment.attempts,
        explain: plan.streams.explain,
        yielding: given.yielding,
        binding: plan.program.binding,
        gpus_per_process: plan.placement.gpus_per_process,
        gpus_are_counted: checked.view.types.find(GPU).is_some(),
        resources_per_process: plan.placement.resources.clone(),
        universe: plan.program.universe,
        am_memory_mib: match plan.deployment.mode {
            DeployMode::Cluster => AM_MEMORY_MIB,
            DeployMode::Client => 0,
        },
        node_names_have_ports: plan.placement.node_names == NodeNames::HostAndPort,
        allocation_step_mib: plan.placement.allocation_step_mib,
        programs: plan
            .program
            .executables
            .iter()
            .zip(&staged.programs)
            .map(|(wanted, placed)| job::Program {
                processes: wanted.processes.unwrap_or(demand.processes.get()),
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
            .collect(),
        staged: staged.staged.clone(),
        stage_out: plan.data.outgoing.clone(),
        checkpoints: plan.data.checkpoints.clone(),
        am_ports: plan.deployment.am_ports,
        interface: plan.deployment.interface.clone(),
        input: plan.streams.input != Input::None,
        terminal: plan.streams.terminal.clone(),
        am_expiry_ms: plan.deployment.am_expiry_ms,
    }
}
