//! What is handed to the ResourceManager to start an application.

use std::time::Duration;

use crate::ApplicationId;
use crate::wire::yarn;

use super::{ContainerLaunch, Resource, ResourceRequest};

/// An application to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationSubmission {
    /// From [`new_application`](crate::ApplicationClient::new_application).
    pub id: ApplicationId,
    /// Shown in lists.
    pub name: String,
    /// Leaf name or full path.
    pub queue: String,
    /// Larger is more urgent, clamped to the cluster's maximum; `None` is the queue's default.
    pub priority: Option<i32>,
    /// Shown in lists; cut by the server to 20 characters.
    pub application_type: String,
    /// At most ten, each at most 100 printable ASCII characters.
    pub tags: Vec<String>,
    /// How to start the ApplicationMaster; for an unmanaged one it is sent all the same.
    pub launch: ContainerLaunch,
    /// The ApplicationMaster's container.
    pub resource: Resource,
    /// Instead of `resource`, when the ApplicationMaster's container needs a place: rows as in an
    /// allocate call, exactly one of them for `*`. Empty otherwise.
    pub master_asks: Vec<ResourceRequest>,
    /// 0 leaves the number of attempts to the cluster.
    pub max_attempts: u32,
    /// Failures longer ago than this are not counted; `None` counts all.
    pub attempt_failures_validity: Option<Duration>,
    /// Containers outlive an attempt and are handed to the next.
    pub keep_containers: bool,
    /// The ApplicationMaster runs outside the cluster. `resource` counts against the queue's limit
    /// for ApplicationMasters all the same, and beyond that limit it may register but gets nothing.
    pub unmanaged: bool,
    /// The partition of asks for `*` that name none.
    pub node_label: Option<String>,
    /// The ResourceManager kills the application after this time, counted in whole seconds.
    pub lifetime: Option<Duration>,
}

impl ApplicationSubmission {
    /// A submission to queue `default`, with the cluster's defaults for everything not named.
    #[must_use]
    pub fn new(id: ApplicationId, launch: ContainerLaunch, resource: Resource) -> Self {
        Self {
            id,
            name: "N/A".to_owned(),
            queue: "default".to_owned(),
            priority: None,
            application_type: "YARN".to_owned(),
            tags: Vec::new(),
            launch,
            resource,
            master_asks: Vec::new(),
            max_attempts: 0,
            attempt_failures_validity: None,
            keep_containers: false,
            unmanaged: false,
            node_label: None,
            lifetime: None,
        }
    }
}

impl From<&ApplicationSubmission> for yarn::ApplicationSubmissionContextProto {
    fn from(submission: &ApplicationSubmission) -> Self {
        let timeout = |lifetime: Duration| yarn::ApplicationTimeoutMapProto {
            application_timeout_type: Some(
                yarn::ApplicationTimeoutTypeProto::AppTimeoutLifetime.into(),
            ),
            timeout: Some(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX)),
        };
        let validity = submission
            .attempt_failures_validity
            .map(|interval| i64::try_from(interval.as_millis()).unwrap_or(i64::MAX));
        Self {
            application_id: Some(submission.id.into()),
            application_name: Some(submission.name.clone()),
            queue: Some(submission.queue.clone()),
            priority: submission.priority.map(|priority| yarn::PriorityProto {
                priority: Some(priority),
            }),
            am_container_spec: Some((&submission.launch).into()),
            unmanaged_am: Some(submission.unmanaged),
            max_app_attempts: Some(i32::try_from(submission.max_attempts).unwrap_or(i32::MAX)),
            resource: Some((&submission.resource).into()),
            application_type: Some(submission.application_type.clone()),
            keep_containers_across_application_attempts: Some(submission.keep_containers),
            application_tags: submission.tags.clone(),
            attempt_failures_validity_interval: validity,
            node_label_expression: submission.node_label.clone(),
            am_container_resource_request: submission.master_asks.iter().map(Into::into).collect(),
            application_timeouts: submission.lifetime.map(timeout).into_iter().collect(),
            ..Self::default()
        }
    }
}
