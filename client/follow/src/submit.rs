//! Hands the application over to the ResourceManager.

use std::collections::BTreeSet;

use credentials::Credentials;
use job::role::BINARY_LINK;
use job::{Description, Role, Staged, StagedKind, secrets};
use proto_hadoop::yarn::{
    ANY, ApplicationSubmission, ContainerLaunch, LocalResource, LocalResourceKind, Resource,
    ResourceRequest, Visibility,
};
use proto_hadoop::{ApplicationClient, ApplicationId, CallError};

use crate::error::FollowError;
use crate::keys::JobKeys;

/// What the AM's container is asked to hold, MiB. It needs a tenth; the cluster rounds it up to
/// its own smallest container.
pub const AM_MEMORY_MIB: u64 = 256;
/// A ResourceManager keeps a submission in its state store, which refuses large ones: ZooKeeper's
/// limit is 1 MiB for all of it.
const DESCRIPTION_MAX: usize = 512 * 1024;

/// How YARN is to list and treat an application.
#[derive(Clone, Debug)]
pub struct ApplicationTerms {
    /// As the ResourceManager gave it.
    pub id: ApplicationId,
    /// As YARN's pages show it.
    pub name: String,
    /// Where it waits.
    pub queue: String,
    /// In its queue; higher is sooner.
    pub priority: Option<i32>,
    /// By which YARN's pages find it.
    pub tags: Vec<String>,
    /// How often YARN starts the ApplicationMaster.
    pub attempts: u32,
    /// The ApplicationMaster is no container of YARN's.
    pub unmanaged: bool,
    /// Where alone its container may lie; empty: anywhere.
    pub places: Vec<NodeRequest>,
}

/// A node, as YARN is asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRequest {
    /// As in its id.
    pub host: String,
    /// As the ResourceManager says it.
    pub rack: String,
}

/// Submits an application, whose ApplicationMaster is told the `description`. Of what was `staged` it
/// needs this binary.
pub async fn submit(
    rm: &ApplicationClient,
    application: ApplicationTerms,
    description: &Description,
    staged: &[Staged],
    keys: &JobKeys,
) -> Result<(), FollowError> {
    let id = application.id;
    let (launch, memory_mib) = match application.unmanaged {
        false => (launch(description, staged, keys)?, AM_MEMORY_MIB),
        // It has no container: YARN takes it for one of the smallest size, whatever is said here.
        // No key of the job leaves this process.
        true => (ContainerLaunch::default(), 1),
    };
    let resource = Resource {
        memory_mib,
        vcores: 1,
        ..Resource::default()
    };
    let master_asks = match application.unmanaged {
        false => asks(&application.places, &resource),
        true => Vec::new(),
    };
    let submission = ApplicationSubmission {
        master_asks,
        name: application.name,
        queue: application.queue,
        priority: application.priority,
        application_type: job::APPLICATION_TYPE.into(),
        tags: application.tags,
        // All failures count, however long ago, so that a job cannot go on in this way for ever. What
        // an attempt leaves running would be of no use to the next, and is ended by YARN.
        max_attempts: application.attempts,
        unmanaged: application.unmanaged,
        ..ApplicationSubmission::new(id, launch, resource)
    };
    let error = match rm.submit(&submission).await {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    if error.is_final() || matches!(error, CallError::TooLong { .. }) {
        return Err(FollowError::NotTaken(Box::new(error)));
    }
    // The answer was lost, not the order perhaps: what nobody follows must not run.
    let _killed = rm
        .kill(&id, Some("the client had no answer to its submission"))
        .await
        .is_ok();
    Err(error.into())
}

/// Asks for one container of this size at one of `places` and nowhere else; nothing where there are none.
fn asks(places: &[NodeRequest], size: &Resource) -> Vec<ResourceRequest> {
    if places.is_empty() {
        return Vec::new();
    }
    let row = |name: &str, relax_locality| ResourceRequest {
        priority: 0,
        resource_name: name.to_owned(),
        capability: size.clone(),
        containers: 1,
        relax_locality,
        node_label: None,
        allocation_request_id: 0,
    };
    let racks: BTreeSet<&str> = sort::set(places.iter().map(|place| place.rack.as_str()));
    let hosts: BTreeSet<&str> = sort::set(places.iter().map(|place| place.host.as_str()));
    let hosts = hosts.into_iter().map(|host| row(host, true));
    let racks = racks.into_iter().map(|rack| row(rack, false));
    hosts.chain(racks).chain([row(ANY, false)]).collect()
}

/// How YARN starts the ApplicationMaster in a container.
fn launch(
    description: &Description,
    staged: &[Staged],
    keys: &JobKeys,
) -> Result<ContainerLaunch, FollowError> {
    let description = serde_json::to_vec(description);
    let description = description.map_err(FollowError::Description)?;
    if description.len() > DESCRIPTION_MAX {
        return Err(FollowError::DescriptionTooLong {
            length: description.len(),
            most: DESCRIPTION_MAX,
        });
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
    let binary = staged.iter().filter(|file| file.link == BINARY_LINK);
    Ok(ContainerLaunch {
        resources: binary
            .map(|file| Ok((file.link.clone(), resource(file)?)))
            .collect::<Result<_, FollowError>>()?,
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

fn resource(file: &Staged) -> Result<LocalResource, FollowError> {
    Ok(LocalResource {
        url: file.url.parse()?,
        size: file.size,
        timestamp_ms: file.modified_ms,
        kind: match file.kind {
            StagedKind::File => LocalResourceKind::File,
            StagedKind::Archive => LocalResourceKind::Archive,
        },
        visibility: Visibility::Private,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_at_some_places_is_asked_for_nowhere_else() {
        let place = |host: &str| NodeRequest {
            host: host.into(),
            rack: "/r".into(),
        };
        let asks = asks(&[place("n2"), place("n4")], &Resource::new(256, 1));
        let rows = asks
            .iter()
            .map(|ask| (ask.resource_name.as_str(), ask.relax_locality));
        let rows: Vec<_> = rows.collect();
        assert_eq!(
            rows,
            [("n2", true), ("n4", true), ("/r", false), (ANY, false)]
        );
    }
}
