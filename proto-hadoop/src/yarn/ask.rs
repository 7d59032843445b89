//! Rows of the table of what an application wants from the scheduler.

use crate::wire::yarn;

use super::Resource;

/// The resource name that means "any node".
pub const ANY: &str = "*";

/// One row. The table is absolute: a row replaces what the ResourceManager held under the same
/// (priority, allocation request id, resource name), and rows not sent stay as they are.
///
/// To have containers on named hosts and nowhere else, three sorts of rows are needed: the hosts,
/// their racks with `relax_locality` off, and [`ANY`] with `relax_locality` off, counts summed up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    /// Smaller is more urgent. Lists of different capability need different request ids.
    pub priority: i32,
    /// A host name as in [`NodeReport::id`](super::NodeReport), a rack path, or [`ANY`].
    pub resource_name: String,
    /// The size of each container.
    pub capability: Resource,
    /// How many; 0 clears the row.
    pub containers: u32,
    /// Whether the scheduler may go beyond what the rows below this one name.
    pub relax_locality: bool,
    /// The partition, on [`ANY`] rows only.
    pub node_label: Option<String>,
    /// Comes back in [`Container::allocation_request_id`](super::Container).
    pub allocation_request_id: i64,
}

impl From<&ResourceRequest> for yarn::ResourceRequestProto {
    fn from(request: &ResourceRequest) -> Self {
        Self {
            priority: Some(yarn::PriorityProto {
                priority: Some(request.priority),
            }),
            resource_name: Some(request.resource_name.clone()),
            capability: Some((&request.capability).into()),
            num_containers: Some(i32::try_from(request.containers).unwrap_or(i32::MAX)),
            relax_locality: Some(request.relax_locality),
            node_label_expression: request.node_label.clone(),
            // A scheduler of opportunistic containers takes it to be there.
            execution_type_request: Some(yarn::ExecutionTypeRequestProto {
                execution_type: Some(yarn::ExecutionTypeProto::Guaranteed.into()),
                enforce_execution_type: Some(false),
            }),
            // Always sent: Hadoop 2.10 and 3.x have different defaults.
            allocation_request_id: Some(request.allocation_request_id),
        }
    }
}
