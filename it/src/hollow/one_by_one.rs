//! An ApplicationMaster that asks as most do: a container for each process, wherever there is room.
//!
//! It is unmanaged, this process itself, and starts nothing: what it measures is the time from its one
//! call that asks to the answer that brings the last container, as Hadoop's DistributedShell, which
//! asks in the same way and looks once a second, would see it.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use credentials::Token;
use proto_hadoop::yarn::{
    ANY, AllocateRequest, ApplicationSubmission, ContainerLaunch, FinalApplicationStatus, Resource,
    ResourceRequest,
};
use proto_hadoop::{ApplicationClient, ApplicationId, ApplicationMasterClient};
use tokio::time::{Instant, sleep};

use crate::Cluster;

/// Of each container.
const MEMORY_MIB: u64 = 1024;
/// To be admitted, and to be over.
const DEADLINE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// What came of the asking.
#[derive(Debug, Clone, Copy)]
pub struct AskedContainers {
    /// From the call that asked to the answer with the last container.
    pub allocation: Duration,
    /// Calls in that time.
    pub allocates: u32,
}

/// Asks for `count` containers of 1024 MiB, looks every `pause`, and gives all back at the end.
///
/// # Errors
///
/// The ResourceManager refuses, or has not granted all by `deadline`.
pub async fn ask(
    cluster: &Cluster,
    count: u32,
    pause: Duration,
    deadline: Duration,
) -> Result<AskedContainers> {
    let rm = ApplicationClient::new(vec![cluster.resource_manager_address()], cluster.user());
    let (id, token) = submitted(&rm).await?;
    let master = ApplicationMasterClient::new(vec![cluster.scheduler_address()], token);
    master.register("", None, "").await?;
    let began = Instant::now();
    let mut request = AllocateRequest {
        asks: vec![ResourceRequest {
            priority: 1,
            resource_name: ANY.into(),
            capability: Resource::new(MEMORY_MIB, 1),
            containers: count,
            relax_locality: true,
            node_label: None,
            allocation_request_id: 0,
        }],
        ..AllocateRequest::default()
    };
    let (mut granted, mut allocates) = (0, 0);
    let allocation = loop {
        let answer = master.allocate(std::mem::take(&mut request)).await?;
        allocates += 1;
        granted += answer.allocated.len();
        if granted >= count as usize {
            break began.elapsed();
        }
        ensure!(
            began.elapsed() < deadline,
            "{granted} of {count} containers after {deadline:?}"
        );
        sleep(pause).await;
    };
    let status = FinalApplicationStatus::Succeeded;
    master.finish(status, "", "").await?;
    let ending = Instant::now();
    while !rm.report(&id).await?.state.is_final() {
        ensure!(ending.elapsed() < DEADLINE, "{id} does not end");
        sleep(LOOK).await;
    }
    Ok(AskedContainers {
        allocation,
        allocates,
    })
}

/// An unmanaged application whose ApplicationMaster never registers, and what it could log in with.
///
/// # Errors
///
/// The ResourceManager refuses, or does not admit it in time.
pub async fn submitted(rm: &ApplicationClient) -> Result<(ApplicationId, Token)> {
    let new = rm.new_application().await?;
    let submission = ApplicationSubmission {
        name: "one by one".into(),
        application_type: "BENCHMARK".into(),
        unmanaged: true,
        max_attempts: 1,
        ..ApplicationSubmission::new(
            new.id,
            ContainerLaunch::default(),
            Resource::new(MEMORY_MIB, 1),
        )
    };
    rm.submit(&submission).await?;
    let began = Instant::now();
    while began.elapsed() < DEADLINE {
        let report = rm.report(&new.id).await?;
        if report.state.is_final() {
            bail!("{}: {}", new.id, report.diagnostics);
        }
        if let Some(token) = report
            .am_rm_token
            .filter(|_| report.current_attempt.is_some())
        {
            return Ok((new.id, token));
        }
        sleep(LOOK).await;
    }
    None.with_context(|| format!("{} was not admitted within {DEADLINE:?}", new.id))
}
