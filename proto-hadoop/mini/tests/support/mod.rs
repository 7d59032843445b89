//! A small cluster, and a test that plays the ApplicationMaster.

#![cfg(test)]
#![allow(
    dead_code,
    reason = "each test file is a crate of its own and uses a part of this"
)]

use std::time::Duration;

use credentials::Token;
use mini::resource_manager::ResourceManagerOptions;
use mini::{MiniCluster, RunFolder};
use proto_hadoop::yarn::{
    ANY, AllocateRequest, ApplicationReport, ApplicationSubmission, Container, ContainerLaunch,
    ContainerStatus, NmTokens, Resource, ResourceRequest, YarnApplicationState,
};
use proto_hadoop::{
    ApplicationClient, ApplicationId, ApplicationMasterClient, ContainerClient, NodeId, Timing,
};
use tokio::time::{Instant, sleep, timeout};

/// Anything that a test waits for comes within this time, or the test fails.
pub const SOON: Duration = Duration::from_secs(10);
pub const USER: &str = "alice";

/// A cluster in a folder of its own.
pub struct Mini {
    pub cluster: MiniCluster,
    pub folder: RunFolder,
    pub client: ApplicationClient,
    _base: tempfile::TempDir,
}

/// Deadlines that a test can wait for.
pub fn hasty() -> Timing {
    Timing {
        connect: Duration::from_secs(2),
        call: Duration::from_millis(300),
        ..Timing::default()
    }
}

impl Mini {
    /// `nodes` nodes of 4 GiB and 4 cores.
    pub async fn start(nodes: usize) -> Self {
        Self::with(nodes, ResourceManagerOptions::default()).await
    }

    pub async fn with(nodes: usize, options: ResourceManagerOptions) -> Self {
        let base = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(base.path()).unwrap();
        let sizes = vec![Resource::new(4096, 4); nodes];
        let cluster = MiniCluster::start(options, &sizes, &folder, USER)
            .await
            .unwrap();
        let address = cluster.resource_manager().client_address();
        let client = ApplicationClient::new(vec![address], USER).with_timing(hasty());
        Self {
            cluster,
            folder,
            client,
            _base: base,
        }
    }

    /// Submits an application whose ApplicationMaster runs these words of bash.
    pub async fn submit(&self, command: &str) -> ApplicationId {
        let launch = ContainerLaunch {
            commands: vec![command.to_owned()],
            ..ContainerLaunch::default()
        };
        let id = self.client.new_application().await.unwrap().id;
        let submission = ApplicationSubmission::new(id, launch, Resource::new(256, 1));
        self.client.submit(&submission).await.unwrap();
        id
    }

    /// Submits an application whose ApplicationMaster is the test.
    pub async fn master(&self) -> Master {
        let id = self.client.new_application().await.unwrap().id;
        let submission = ApplicationSubmission {
            unmanaged: true,
            ..ApplicationSubmission::new(id, ContainerLaunch::default(), Resource::new(256, 1))
        };
        self.client.submit(&submission).await.unwrap();
        let token = self.client.report(&id).await.unwrap().am_rm_token.unwrap();
        let scheduler = self.cluster.resource_manager().scheduler_address();
        let client = ApplicationMasterClient::new(vec![scheduler], token).with_timing(hasty());
        Master {
            id,
            client,
            tokens: NmTokens::default(),
            ended: Vec::new(),
        }
    }

    /// The report of an application once `wanted` holds.
    pub async fn until(
        &self,
        id: ApplicationId,
        wanted: impl Fn(&ApplicationReport) -> bool,
    ) -> ApplicationReport {
        let begin = Instant::now();
        loop {
            let report = self.client.report(&id).await.unwrap();
            if wanted(&report) {
                return report;
            }
            assert!(begin.elapsed() < SOON, "{report:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn until_over(&self, id: ApplicationId) -> ApplicationReport {
        self.until(id, |report| report.state.is_final()).await
    }

    pub async fn until_running(&self, id: ApplicationId) -> ApplicationReport {
        self.until(id, |report| report.state == YarnApplicationState::Running)
            .await
    }

    /// Stops it, within a deadline.
    pub async fn stop(self) {
        timeout(SOON, self.cluster.stop(Duration::ZERO))
            .await
            .unwrap();
    }
}

/// The test as an ApplicationMaster.
pub struct Master {
    pub id: ApplicationId,
    pub client: ApplicationMasterClient,
    pub tokens: NmTokens,
    pub ended: Vec<ContainerStatus>,
}

/// Rows for `count` containers on `host` and nowhere else.
pub fn strict(host: &str, memory_mib: u64, count: u32, id: i64) -> Vec<ResourceRequest> {
    let row = |name: &str, relax_locality| ResourceRequest {
        priority: 1,
        resource_name: name.to_owned(),
        capability: Resource::new(memory_mib, 1),
        containers: count,
        relax_locality,
        node_label: None,
        allocation_request_id: id,
    };
    vec![
        row(host, true),
        row("/default-rack", false),
        row(ANY, false),
    ]
}

/// One row for `count` containers anywhere.
pub fn anywhere(memory_mib: u64, count: u32, id: i64) -> Vec<ResourceRequest> {
    let mut rows = strict(ANY, memory_mib, count, id);
    rows.truncate(1);
    rows
}

impl Master {
    pub async fn register(&self) {
        self.client.register("here", Some(1), "").await.unwrap();
    }

    /// One heartbeat.
    pub async fn beat(&mut self, request: AllocateRequest) -> Vec<Container> {
        let answer = self.client.allocate(request).await.unwrap();
        self.tokens.keep(answer.nm_tokens);
        self.ended.extend(answer.completed);
        answer.allocated
    }

    /// Asks, and waits until `count` containers have come.
    pub async fn get(&mut self, asks: Vec<ResourceRequest>, count: usize) -> Vec<Container> {
        let begin = Instant::now();
        let mut got = self
            .beat(AllocateRequest {
                asks,
                ..AllocateRequest::default()
            })
            .await;
        while got.len() < count {
            assert!(begin.elapsed() < SOON, "{got:?}");
            sleep(Duration::from_millis(10)).await;
            got.extend(self.beat(AllocateRequest::default()).await);
        }
        got
    }

    pub fn node(&self, node: &NodeId) -> ContainerClient {
        let token: Token = self.tokens.of(node).unwrap().clone();
        ContainerClient::new(node, token).with_timing(hasty())
    }

    /// Starts words of bash in a container.
    pub async fn start(&self, container: &Container, command: &str) {
        let launch = ContainerLaunch {
            commands: vec![command.to_owned()],
            ..ContainerLaunch::default()
        };
        self.launch(container, &launch).await;
    }

    pub async fn launch(&self, container: &Container, launch: &ContainerLaunch) {
        let order = proto_hadoop::yarn::ContainerStart { container, launch };
        let outcome = self.node(&container.node).start(&[order]).await.unwrap();
        assert_eq!(outcome.failed, []);
        assert_eq!(outcome.succeeded, [container.id]);
    }

    /// How a container ended, as the scheduler tells.
    pub async fn end_of(&mut self, container: &Container) -> ContainerStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.ended.iter().find(|one| one.id == container.id) {
                return status.clone();
            }
            assert!(begin.elapsed() < SOON, "{:?}", self.ended);
            sleep(Duration::from_millis(10)).await;
            self.beat(AllocateRequest::default()).await;
        }
    }
}
