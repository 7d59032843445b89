//! What YARN has granted, in the amounts of the policies.

use holding::{Granted, amount};
use policy::lifecycle::Grant;
use policy::{ContainerId, NodeId, ResourceTypes};

/// The same containers, with the counts that `types` names.
pub(super) fn grants(granted: &[Granted], types: &ResourceTypes) -> Vec<Grant> {
    let grants = granted.iter().map(|granted| Grant {
        container: ContainerId(granted.container.id.to_string()),
        node: NodeId(granted.container.node.to_string()),
        resources: amount(&granted.container.resource, types),
        round: granted.round,
    });
    grants.collect()
}
