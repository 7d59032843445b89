//! Hands the application over to the ResourceManager.

use credentials::Credentials;
use job::role::BINARY_LINK;
use job::{Description, Role, Staged, StagedKind, secrets};
use proto_hadoop::yarn::{
    ApplicationSubmission, ContainerLaunch, LocalResource, LocalResourceKind, Resource, Visibility,
};
use proto_hadoop::{ApplicationClient, ApplicationId, CallError};

use crate::error::FollowError;
use crate::keys::Keys;

/// What the AM's container is asked to hold, MiB. It needs a tenth; the cluster rounds it up to
/// its own smallest container.
pub const AM_MEMORY_MIB: u64 = 256;
/// A ResourceManager keeps a submission in its state store, which refuses large ones: ZooKeeper's
/// limit is 1 MiB for all of it.
const DESCRIPTION_MAX: usize = 512 * 1024;

/// How YARN is to list and treat an application.
#[derive(Clone, Debug)]
pub struct Application {
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
}

/// Submits an application, whose ApplicationMaster is told the `description`. Of what was `staged` it
/// needs this binary.
pub async fn submit(
    rm: &ApplicationClient,
    application: Application,
    description: &Description,
    staged: &[Staged],
    keys: &Keys,
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
    let submission = ApplicationSubmission {
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

/// How YARN starts the ApplicationMaster in a container.
fn launch(
    description: &Description,
    staged: &[Staged],
    keys: &Keys,
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
