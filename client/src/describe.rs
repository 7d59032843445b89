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
use crate::preflight::Checked;
use crate::resolve::Resolved;

/// The description of a job that was `checked`, and of which everything is `staged`.
pub(crate) fn describe(
    resolved: &Resolved,
    checked: &Checked,
    cluster: &Cluster,
    staged: &Outcome,
) -> Description {
    let demand = &checked.demand;
    let given = &resolved.placement;
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
        run_limit_ms: ms(resolved.run_limit),
        linger_ms: ms(resolved.linger),
        spare_others: resolved.spare_others,
        restarts: resolved.restarts,
        attempts: resolved.attempts,
        explain: resolved.explain,
        yielding: given.yielding,
        binding: resolved.binding,
        gpus_per_process: resolved.gpus_per_process,
        gpus_are_counted: checked.view.types.find(GPU).is_some(),
        resources_per_process: resolved.resources.clone(),
        universe: resolved.universe,
        am_memory_mib: match resolved.deploy_mode {
            DeployMode::Cluster => AM_MEMORY_MIB,
            DeployMode::Client => 0,
        },
        node_names_have_ports: resolved.node_names == NodeNames::HostAndPort,
        allocation_step_mib: resolved.allocation_step_mib,
        programs: resolved
            .programs
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
        stage_out: resolved.data.outgoing.clone(),
        checkpoints: resolved.data.checkpoints.clone(),
        am_ports: resolved.am_ports,
        interface: resolved.interface.clone(),
        input: resolved.input != Input::None,
        terminal: resolved.terminal.clone(),
        am_expiry_ms: resolved.am_expiry_ms,
    }
}
