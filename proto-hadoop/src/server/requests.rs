//! What servers read: wire messages as plain types. The other direction stands beside each type.

use std::time::Duration;

use credentials::{Credentials, Token};

use crate::wire::{FromWire, Incomplete, all, required, yarn};
use crate::yarn::{
    AllocateRequest, ApplicationFilter, ApplicationSubmission, ContainerLaunch,
    FinalApplicationStatus, LocalResource, LocalResourceKind, Resource, ResourceRequest,
    ResourceUrl, Visibility, YarnApplicationState,
};

use super::services::{AllocateCall, FinishCall, RegisterCall, StartCall};

impl FromWire<yarn::UrlProto> for ResourceUrl {
    fn from_wire(wire: yarn::UrlProto) -> Result<Self, Incomplete> {
        Ok(Self {
            scheme: wire.scheme.unwrap_or_default(),
            host: wire.host.filter(|host| !host.is_empty()),
            // -1 is "none".
            port: wire.port.and_then(|port| u16::try_from(port).ok()),
            path: wire.file.ok_or(Incomplete {
                what: "path of a file",
            })?,
        })
    }
}

impl FromWire<yarn::LocalResourceProto> for LocalResource {
    fn from_wire(wire: yarn::LocalResourceProto) -> Result<Self, Incomplete> {
        use yarn::{LocalResourceTypeProto as Kind, LocalResourceVisibilityProto as Sight};
        let kind = wire.r#type.and_then(|number| Kind::try_from(number).ok());
        let sight = wire
            .visibility
            .and_then(|number| Sight::try_from(number).ok());
        Ok(Self {
            url: required(wire.resource, "address of a file")?,
            size: wire.size.unwrap_or(0).try_into().unwrap_or(0),
            timestamp_ms: wire.timestamp.unwrap_or(0),
            kind: match kind {
                Some(Kind::File) => LocalResourceKind::File,
                Some(Kind::Archive) => LocalResourceKind::Archive,
                Some(Kind::Pattern) | None => {
                    return Err(Incomplete {
                        what: "type of a file (FILE or ARCHIVE)",
                    });
                }
            },
            visibility: match sight {
                Some(Sight::Public) => Visibility::Public,
                Some(Sight::Private) => Visibility::Private,
                Some(Sight::Application) => Visibility::Application,
                None => {
                    return Err(Incomplete {
                        what: "visibility of a file",
                    });
                }
            },
        })
    }
}

impl FromWire<yarn::ContainerLaunchContextProto> for ContainerLaunch {
    fn from_wire(wire: yarn::ContainerLaunchContextProto) -> Result<Self, Incomplete> {
        let tokens = match wire.tokens.as_deref() {
            None | Some([]) => Credentials::default(),
            Some(bytes) => Credentials::read(bytes).map_err(|_malformed| Incomplete {
                what: "credentials",
            })?,
        };
        let resource = |row: yarn::StringLocalResourceMapProto| {
            let name = row.key.ok_or(Incomplete {
                what: "name of a file",
            })?;
            Ok((name, required(row.value, "file")?))
        };
        let variable =
            |row: yarn::StringStringMapProto| Some((row.key?, row.value.unwrap_or_default()));
        Ok(Self {
            resources: wire
                .local_resources
                .into_iter()
                .map(resource)
                .collect::<Result<_, _>>()?,
            environment: wire.environment.into_iter().filter_map(variable).collect(),
            commands: wire.command,
            tokens,
        })
    }
}

impl FromWire<yarn::ResourceRequestProto> for ResourceRequest {
    fn from_wire(wire: yarn::ResourceRequestProto) -> Result<Self, Incomplete> {
        let relax_locality = wire.relax_locality();
        let allocation_request_id = wire.allocation_request_id();
        Ok(Self {
            priority: wire.priority.and_then(|p| p.priority).unwrap_or(0),
            resource_name: wire.resource_name.ok_or(Incomplete {
                what: "resource name",
            })?,
            capability: Resource::optional(wire.capability),
            containers: wire.num_containers.unwrap_or(0).try_into().unwrap_or(0),
            relax_locality,
            node_label: wire.node_label_expression.filter(|label| !label.is_empty()),
            allocation_request_id,
        })
    }
}

impl FromWire<yarn::ApplicationSubmissionContextProto> for ApplicationSubmission {
    fn from_wire(wire: yarn::ApplicationSubmissionContextProto) -> Result<Self, Incomplete> {
        let lifetime = yarn::ApplicationTimeoutTypeProto::AppTimeoutLifetime.into();
        let timeouts = wire.application_timeouts.iter();
        let lifetime = timeouts
            .filter(|row| row.application_timeout_type == Some(lifetime))
            .find_map(|row| u64::try_from(row.timeout?).ok());
        let validity = wire.attempt_failures_validity_interval;
        let (name, queue) = (wire.application_name().to_owned(), wire.queue().to_owned());
        Ok(Self {
            application_type: wire.application_type().to_owned(),
            id: required(wire.application_id, "application id")?,
            name,
            queue,
            priority: wire.priority.and_then(|p| p.priority),
            tags: wire.application_tags,
            launch: required(wire.am_container_spec, "container of the ApplicationMaster")?,
            resource: Resource::optional(wire.resource),
            master_asks: all(wire.am_container_resource_request)?,
            max_attempts: wire.max_app_attempts.unwrap_or(0).try_into().unwrap_or(0),
            attempt_failures_validity: validity
                .and_then(|ms| u64::try_from(ms).ok())
                .map(Duration::from_millis),
            keep_containers: wire
                .keep_containers_across_application_attempts
                .unwrap_or(false),
            unmanaged: wire.unmanaged_am.unwrap_or(false),
            node_label: wire.node_label_expression.filter(|label| !label.is_empty()),
            lifetime: lifetime.map(Duration::from_secs),
        })
    }
}

impl FromWire<yarn::GetApplicationsRequestProto> for ApplicationFilter {
    fn from_wire(wire: yarn::GetApplicationsRequestProto) -> Result<Self, Incomplete> {
        let states = wire.application_states.into_iter();
        Ok(Self {
            states: states
                .map(|number| YarnApplicationState::from_number(Some(number)))
                .collect(),
            users: wire.users,
            queues: wire.queues,
            types: wire.application_types,
            tags: wire.application_tags,
            limit: wire.limit.and_then(|limit| limit.try_into().ok()),
        })
    }
}

impl FromWire<yarn::RegisterApplicationMasterRequestProto> for RegisterCall {
    fn from_wire(wire: yarn::RegisterApplicationMasterRequestProto) -> Result<Self, Incomplete> {
        Ok(Self {
            host: wire.host.unwrap_or_default(),
            port: wire.rpc_port.and_then(|port| port.try_into().ok()),
            tracking_url: wire.tracking_url.unwrap_or_default(),
        })
    }
}

impl FromWire<yarn::AllocateRequestProto> for AllocateCall {
    fn from_wire(wire: yarn::AllocateRequestProto) -> Result<Self, Incomplete> {
        let blacklist = wire.blacklist_request.unwrap_or_default();
        Ok(Self {
            response_id: wire.response_id.unwrap_or(0),
            request: AllocateRequest {
                asks: all(wire.ask)?,
                releases: all(wire.release)?,
                progress: wire.progress.unwrap_or(0.0),
                blacklist_additions: blacklist.blacklist_additions,
                blacklist_removals: blacklist.blacklist_removals,
            },
        })
    }
}

impl FromWire<yarn::FinishApplicationMasterRequestProto> for FinishCall {
    fn from_wire(wire: yarn::FinishApplicationMasterRequestProto) -> Result<Self, Incomplete> {
        Ok(Self {
            status: FinalApplicationStatus::from_number(wire.final_application_status),
            diagnostics: wire.diagnostics.unwrap_or_default(),
            tracking_url: wire.tracking_url.unwrap_or_default(),
        })
    }
}

impl FromWire<yarn::StartContainerRequestProto> for StartCall {
    fn from_wire(wire: yarn::StartContainerRequestProto) -> Result<Self, Incomplete> {
        Ok(Self {
            launch: required(wire.container_launch_context, "container launch context")?,
            token: required::<Token, _>(wire.container_token, "container token")?,
        })
    }
}
