//! Hands the application over to the ResourceManager.

use std::num::NonZeroU32;
use std::time::Duration;

use credentials::Credentials;
use job::exit::Exit;
use job::role::BINARY_LINK;
use job::{Description, Role, Staged, StagedKind, secrets};
use policy::{GPU, Numbering};
use proto_hadoop::yarn::{
    ApplicationSubmission, ContainerLaunch, LocalResource, LocalResourceKind, NodeNames, Resource,
    Visibility,
};
use proto_hadoop::{ApplicationClient, CallError};

use crate::arguments::{DeployMode, Input};
use crate::failure::Failure;
use crate::keys::Keys;
use crate::preflight::{Checked, unavailable};
use crate::resolve::{Cluster, Resolved};
use staging::Outcome;

/// What the AM's container is asked to hold, MiB. It needs a tenth; the cluster rounds it up to
/// its own smallest container.
pub(crate) const AM_MEMORY_MIB: u64 = 256;
/// A ResourceManager keeps a submission in its state store, which refuses large ones: ZooKeeper's
/// limit is 1 MiB for all of it.
const DESCRIPTION_MAX: usize = 512 * 1024;

/// Submits the application that was `checked`; the answer is what its ApplicationMaster has to know.
pub(crate) async fn submit(
    rm: &ApplicationClient,
    checked: &Checked,
    resolved: &Resolved,
    cluster: &Cluster,
    staged: &Outcome,
    keys: &Keys,
) -> Result<Description, Failure> {
    let id = checked.application.id;
    let description = describe(resolved, checked, cluster, staged);
    let unmanaged = resolved.deploy_mode == DeployMode::Client;
    let (launch, memory_mib) = match resolved.deploy_mode {
        DeployMode::Cluster => (launch(&description, staged, keys)?, AM_MEMORY_MIB),
        // It has no container: YARN takes it for one of the smallest size, whatever is said here.
        // No key of the job leaves this process.
        DeployMode::Client => (ContainerLaunch::default(), 1),
    };
    let resource = Resource {
        memory_mib,
        vcores: 1,
        ..Resource::default()
    };
    let submission = ApplicationSubmission {
        name: resolved.name.clone(),
        queue: resolved.queue.clone(),
        priority: resolved.priority,
        application_type: job::APPLICATION_TYPE.into(),
        tags: resolved.tags.clone(),
        // All failures count, however long ago, so that a job cannot go on in this way for ever. What
        // an attempt leaves running would be of no use to the next, and is ended by YARN.
        max_attempts: resolved.attempts,
        unmanaged,
        ..ApplicationSubmission::new(id, launch, resource)
    };
    let error = match rm.submit(&submission).await {
        Ok(()) => return Ok(description),
        Err(error) => error,
    };
    if error.is_final() || matches!(error, CallError::TooLong { .. }) {
        return Err(Failure::new(
            Exit::Impossible,
            format!("the ResourceManager did not take the application: {error}"),
        ));
    }
    // The answer was lost, not the order perhaps: what nobody follows must not run.
    let _killed = rm
        .kill(&id, Some("the client had no answer to its submission"))
        .await
        .is_ok();
    Err(unavailable(&error))
}

/// How YARN starts the ApplicationMaster in a container.
fn launch(
    description: &Description,
    staged: &Outcome,
    keys: &Keys,
) -> Result<ContainerLaunch, Failure> {
    let description = serde_json::to_vec(description);
    let description = description.map_err(|e| Failure::new(Exit::Lost, e))?;
    if description.len() > DESCRIPTION_MAX {
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "arguments, environment and list of hosts together have {} bytes, at most \
                 {DESCRIPTION_MAX} can be handed over; put what is large into a file",
                description.len()
            ),
        ));
    }
    let secrets = [
        (secrets::DESCRIPTION, description),
        (secrets::AUTHORITY, keys.authority.clone().into_bytes()),
        (
            secrets::CERTIFICATE,
            keys.appmaster.certificate.clone().into_bytes(),
        ),
        (secrets::KEY, keys.appmaster.key.clone().into_bytes()),
        (
            secrets::LAUNCHER_CERTIFICATE,
            keys.launcher.certificate.clone().into_bytes(),
        ),
        (
            secrets::LAUNCHER_KEY,
            keys.launcher.key.clone().into_bytes(),
        ),
        (
            secrets::CLIENT_CERTIFICATE,
            keys.client.certificate.clone().into_bytes(),
        ),
    ];
    // The AM itself needs nothing but this binary.
    let binary = staged.staged.iter().filter(|file| file.link == BINARY_LINK);
    Ok(ContainerLaunch {
        resources: binary
            .map(|file| Ok((file.link.clone(), resource(file)?)))
            .collect::<Result<_, Failure>>()?,
        commands: vec![format!(
            "./{BINARY_LINK} {} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr",
            Role::Appmaster.argument()
        )],
        tokens: Credentials {
            secrets: secrets
                .into_iter()
                .map(|(alias, value)| (alias.to_owned(), value))
                .collect(),
            ..Credentials::default()
        },
        ..ContainerLaunch::default()
    })
}

fn describe(
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

fn resource(file: &Staged) -> Result<LocalResource, Failure> {
    Ok(LocalResource {
        url: file
            .url
            .parse()
            .map_err(|e| Failure::new(Exit::Staging, e))?,
        size: file.size,
        timestamp_ms: file.modified_ms,
        kind: match file.kind {
            StagedKind::File => LocalResourceKind::File,
            StagedKind::Archive => LocalResourceKind::Archive,
        },
        visibility: Visibility::Private,
    })
}
