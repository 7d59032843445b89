//! The cluster as this application may use it.

use std::sync::Arc;
use std::time::Duration;

use policy::Resources;
use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::NodeState;
use tokio::time::timeout;

use crate::next_allocate::Nodes;
use crate::nodes::{self, Candidates, ClusterLimits};

/// Its clones ask by the same connection.
#[derive(Clone, Debug)]
pub struct ApplicationCluster {
    client: Arc<ApplicationClient>,
    limits: ClusterLimits,
    candidates: Arc<Candidates>,
}

impl ApplicationCluster {
    /// Read by `client`. `candidates` are the nodes that the application may use, within `limits`.
    pub(crate) fn new(
        client: Arc<ApplicationClient>,
        limits: ClusterLimits,
        candidates: Candidates,
    ) -> Self {
        Self {
            client,
            limits,
            candidates: Arc::new(candidates),
        }
    }

    /// Asks the ResourceManager whatever the application's user may ask.
    #[must_use]
    pub const fn client(&self) -> &Arc<ApplicationClient> {
        &self.client
    }

    /// What registration told of limits.
    #[must_use]
    pub const fn limits(&self) -> &ClusterLimits {
        &self.limits
    }

    /// The largest container that is granted is another from now on. Clones do not hear of it.
    pub(crate) const fn grants_at_most(&mut self, maximum: Resources) {
        self.limits.maximum = maximum;
    }

    /// Which nodes it may use.
    #[must_use]
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// The running nodes that it may use. What the queue still gives is not known from them.
    ///
    /// # Errors
    /// They cannot be told, or not within `deadline`; a sentence.
    pub async fn nodes(&self, deadline: Duration) -> Nodes {
        let running = [NodeState::Running];
        match timeout(deadline, self.client.nodes(&running)).await {
            Ok(Ok(reports)) => Ok(nodes::view(&self.limits, &self.candidates, &reports)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_late) => Err("no answer in time".into()),
        }
    }
}
