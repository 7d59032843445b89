//! Against a real cluster: the one that `HADOOP_CONF_DIR` names. Run with
//!
//! ```text
//! HADOOP_CONF_DIR=… cargo test -p proto-hadoop --test cluster -- --ignored --nocapture
//! ```
//!
//! This process is the ApplicationMaster (an unmanaged one), so nothing is installed anywhere.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use proto_hadoop::conf::Configuration;
use proto_hadoop::credentials::Credentials;
use proto_hadoop::yarn::{
    ANY, AllocateRequest, ApplicationFilter, ApplicationReport, ApplicationSubmission, Container,
    ContainerLaunch, ContainerStart, ContainerState, FinalApplicationStatus, NmTokens, NodeReport,
    NodeState, Resource, ResourceRequest, YarnApplicationState,
};
use proto_hadoop::{
    ApplicationClient, ApplicationId, ApplicationMasterClient, CallError, ContainerClient,
};

const REQUEST: i64 = 7;
const TAG: &str = "proto-hadoop-test";
const DEADLINE: Duration = Duration::from_secs(60);

fn settings() -> Configuration {
    Configuration::load(&|name| std::env::var(name).ok()).expect("HADOOP_CONF_DIR of a cluster")
}

fn client(settings: &Configuration) -> ApplicationClient {
    ApplicationClient::new(settings.resource_managers().unwrap().client, "alice")
}

fn scheduler(settings: &Configuration) -> Vec<String> {
    settings.resource_managers().unwrap().scheduler
}

/// Kills what an earlier, failed run left behind first: an unmanaged ApplicationMaster counts
/// against the queue's limit for ApplicationMasters, and one beyond it gets no containers.
async fn submit_unmanaged(client: &ApplicationClient) -> ApplicationId {
    let left = ApplicationFilter {
        states: vec![
            YarnApplicationState::Accepted,
            YarnApplicationState::Running,
        ],
        tags: vec![TAG.into()],
        ..ApplicationFilter::default()
    };
    for report in client.applications(&left).await.unwrap() {
        client.kill(&report.id, Some("left over")).await.unwrap();
        wait_for_end(client, &report.id, Instant::now()).await;
    }
    let new = client.new_application().await.unwrap();
    assert!(
        new.maximum.memory_mib >= 1024 && new.maximum.vcores >= 1,
        "{new:?}"
    );
    let submission = ApplicationSubmission {
        name: "unmanaged".into(),
        application_type: "RUST".into(),
        tags: vec![TAG.into()],
        unmanaged: true,
        max_attempts: 1,
        ..ApplicationSubmission::new(new.id, ContainerLaunch::default(), Resource::new(1024, 1))
    };
    client.submit(&submission).await.unwrap();
    // Handing in the same id again changes nothing.
    client.submit(&submission).await.unwrap();
    new.id
}

/// The report of an application that has ended.
async fn wait_for_end(
    client: &ApplicationClient,
    id: &ApplicationId,
    start: Instant,
) -> ApplicationReport {
    loop {
        let report = client.report(id).await.unwrap();
        if report.state.is_final() {
            return report;
        }
        assert!(start.elapsed() < DEADLINE, "{report:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Rows that are strict about hosts: the hosts, their racks, and any.
fn strict(nodes: &[NodeReport], each: u32, size: &Resource) -> Vec<ResourceRequest> {
    let row = |name: &str, containers: u32, relax_locality: bool| ResourceRequest {
        priority: 1,
        resource_name: name.into(),
        capability: size.clone(),
        containers,
        relax_locality,
        node_label: None,
        allocation_request_id: REQUEST,
    };
    let mut rows: Vec<_> = nodes
        .iter()
        .map(|node| row(&node.id.host, each, true))
        .collect();
    let mut racks = BTreeMap::new();
    for node in nodes {
        *racks.entry(node.rack.as_str()).or_insert(0) += each;
    }
    rows.extend(racks.iter().map(|(rack, &count)| row(rack, count, false)));
    rows.push(row(ANY, racks.values().sum(), false));
    rows
}

#[tokio::test]
#[ignore = "needs a cluster: set HADOOP_CONF_DIR"]
async fn reads_what_the_resource_manager_says() {
    let settings = settings();
    let client = client(&settings);
    let filter = ApplicationFilter::default();
    let (metrics, nodes, queue, types, applications, labels) = tokio::try_join!(
        client.cluster_metrics(),
        client.nodes(&[NodeState::Running]),
        client.queue_info("default"),
        client.resource_types(),
        client.applications(&filter),
        client.node_labels(),
    )
    .unwrap();
    assert_eq!(metrics.active as usize, nodes.len());
    assert!(
        nodes
            .iter()
            .all(|node| node.capability.memory_mib > 0 && node.rack.starts_with('/'))
    );
    let queue = queue.expect("queue default");
    assert!(queue.capacity > 0.0, "{queue:?}");
    let names: BTreeSet<_> = types.iter().map(|known| known.name.as_str()).collect();
    assert!(
        names.contains("memory-mb") && names.contains("vcores"),
        "{names:?}"
    );
    assert!(applications.is_sorted_by_key(|report| report.id));
    println!("{} nodes, queue {queue:?}, labels {labels:?}", nodes.len());

    assert_eq!(
        client.queue_info("no-such-queue").await.ok().flatten(),
        None
    );
    let unknown = ApplicationId {
        cluster_timestamp: 1,
        id: 1,
    };
    let error = client.report(&unknown).await.unwrap_err();
    assert!(error.is("ApplicationNotFoundException"), "{error}");
    assert!(error.to_string().contains("application_1_0001"), "{error}");
}

#[tokio::test]
#[ignore = "needs a cluster: set HADOOP_CONF_DIR"]
async fn runs_containers_on_every_node() {
    let settings = settings();
    let client = client(&settings);
    let nodes = client.nodes(&[NodeState::Running]).await.unwrap();
    let start = Instant::now();
    let id = submit_unmanaged(&client).await;
    let report = loop {
        let report = client.report(&id).await.unwrap();
        assert!(!report.state.is_final(), "{}", report.diagnostics);
        if report.am_rm_token.is_some() && report.current_attempt.is_some() {
            break report;
        }
        assert!(start.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(report.unmanaged && report.user == "alice" && report.name == "unmanaged");
    assert_eq!(report.tags, [TAG]);
    let token = report.am_rm_token.clone().unwrap();
    assert_eq!(token.kind, "YARN_AM_RM_TOKEN");

    let master = ApplicationMasterClient::new(scheduler(&settings), token);
    let registration = master.register("", None, "").await.unwrap();
    let wanted = settings.trimmed("hadoop.rpc.protection").unwrap();
    assert_eq!(master.protection().await, wanted.as_deref());
    println!("registered after {:?}: {registration:?}", start.elapsed());

    let size = Resource::new(1024, 1);
    let asks = strict(&nodes, 2, &size);
    let mut tokens = NmTokens::default();
    let mut granted: Vec<Container> = Vec::new();
    let mut request = AllocateRequest {
        asks,
        ..AllocateRequest::default()
    };
    while granted.len() < nodes.len() * 2 {
        let answer = master.allocate(std::mem::take(&mut request)).await.unwrap();
        assert_eq!(answer.cluster_nodes as usize, nodes.len());
        tokens.keep(answer.nm_tokens);
        granted.extend(answer.allocated);
        assert!(start.elapsed() < DEADLINE, "{granted:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("granted {} after {:?}", granted.len(), start.elapsed());
    let mut by_host = BTreeMap::new();
    for container in &granted {
        assert_eq!(container.allocation_request_id, REQUEST);
        assert_eq!(container.resource.memory_mib, 1024);
        *by_host.entry(container.node.host.clone()).or_insert(0) += 1;
    }
    assert!(by_host.len() == nodes.len() && by_host.values().all(|&count| count == 2));

    // Anybody who may see the application finds its containers by node.
    let running = ApplicationFilter {
        states: vec![YarnApplicationState::Running],
        limit: Some(1000),
        ..ApplicationFilter::default()
    };
    let found = client.applications(&running).await.unwrap();
    let found = found.iter().find(|report| report.id == id).unwrap();
    let attempt = found.current_attempt.unwrap();
    let mut held_by_host = BTreeMap::new();
    for report in client.containers(&attempt).await.unwrap() {
        assert_eq!(report.resource.memory_mib, 1024, "{report:?}");
        assert_ne!(report.state, ContainerState::Complete, "{report:?}");
        *held_by_host.entry(report.node.unwrap().host).or_insert(0) += 1;
    }
    assert_eq!(held_by_host, by_host);

    // Each container proves that its secret and its environment arrived, and ends with a code of
    // its own: the number of its place in the list of its node.
    let mut secrets = Credentials::default();
    secrets
        .secrets
        .insert("gift".into(), b"from-the-master".to_vec());
    let mut expected = BTreeMap::new();
    for node in &nodes {
        let here: Vec<&Container> = granted
            .iter()
            .filter(|container| container.node == node.id)
            .collect();
        let launches: Vec<ContainerLaunch> = (0..here.len())
            .map(|code| ContainerLaunch {
                environment: BTreeMap::from([("CODE".into(), code.to_string())]),
                commands: vec![
                    "grep -q from-the-master $HADOOP_TOKEN_FILE_LOCATION || exit 99;".into(),
                    "sleep 0.5; exit $CODE".into(),
                ],
                tokens: secrets.clone(),
                ..ContainerLaunch::default()
            })
            .collect();
        let starts: Vec<ContainerStart<'_>> = here
            .iter()
            .zip(&launches)
            .map(|(&container, launch)| ContainerStart { container, launch })
            .collect();
        let manager = ContainerClient::new(&node.id, tokens.of(&node.id).unwrap().clone());
        let outcome = manager.start(&starts).await.unwrap();
        assert_eq!(
            (outcome.succeeded.len(), outcome.failed.len()),
            (here.len(), 0)
        );
        assert_eq!(manager.protection().await, wanted.as_deref());
        let ids: Vec<_> = here.iter().map(|container| container.id).collect();
        let statuses = manager.statuses(&ids).await.unwrap();
        assert!(
            statuses
                .succeeded
                .iter()
                .all(|status| status.state != ContainerState::Complete)
        );
        // A grant starts one container once.
        let again = manager.start(&starts).await.unwrap();
        assert_eq!(again.failed.len(), here.len(), "{again:?}");
        assert!(
            again
                .failed
                .iter()
                .all(|failure| !failure.message.is_empty())
        );
        expected.extend(ids.into_iter().zip(0i32..));
    }

    let mut ended = BTreeMap::new();
    while ended.len() < granted.len() {
        let answer = master.allocate(AllocateRequest::default()).await.unwrap();
        assert!(
            answer.allocated.is_empty(),
            "surplus {:?}",
            answer.allocated
        );
        for status in answer.completed {
            println!("{} ended with {}", status.id, status.exit_status);
            assert!(
                ended.insert(status.id, status.exit_status).is_none(),
                "told twice"
            );
        }
        assert!(start.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(ended, expected);

    master
        .finish(FinalApplicationStatus::Succeeded, "all done", "")
        .await
        .unwrap();
    let report = wait_for_end(&client, &id, start).await;
    assert_eq!(report.state, YarnApplicationState::Finished);
    assert_eq!(report.final_status, FinalApplicationStatus::Succeeded);
    assert_eq!(report.diagnostics.trim(), "all done");
    println!("finished after {:?}", start.elapsed());
    let attempts = client.attempts(&id).await.unwrap();
    assert_eq!((attempts.len(), attempts[0].state), (1, "FINISHED"));
}

#[tokio::test]
#[ignore = "needs a cluster: set HADOOP_CONF_DIR"]
async fn stops_containers_and_kills_applications() {
    let settings = settings();
    let client = client(&settings);
    let nodes = client.nodes(&[NodeState::Running]).await.unwrap();
    let id = submit_unmanaged(&client).await;
    let start = Instant::now();
    let token = loop {
        if let Some(token) = client.report(&id).await.unwrap().am_rm_token {
            break token;
        }
        assert!(start.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let master = ApplicationMasterClient::new(scheduler(&settings), token);
    // Not registered yet: a state of its own, not a broken connection.
    let early = master
        .allocate(AllocateRequest::default())
        .await
        .unwrap_err();
    assert!(
        early.is_not_registered() || early.is("InvalidApplicationMasterRequestException"),
        "{early}"
    );
    master
        .register("host.example", Some(4711), "http://host.example/")
        .await
        .unwrap();
    let twice = master.register("", None, "").await.unwrap_err();
    assert!(
        twice.is("InvalidApplicationMasterRequestException"),
        "{twice}"
    );

    let asks = strict(&nodes[..1], 1, &Resource::new(1024, 1));
    let mut tokens = NmTokens::default();
    let mut request = AllocateRequest {
        asks,
        ..AllocateRequest::default()
    };
    let container = loop {
        let answer = master.allocate(std::mem::take(&mut request)).await.unwrap();
        tokens.keep(answer.nm_tokens);
        if let Some(container) = answer.allocated.into_iter().next() {
            break container;
        }
        assert!(start.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let launch = ContainerLaunch {
        commands: vec!["sleep 1000".into()],
        ..Default::default()
    };
    let manager =
        ContainerClient::new(&container.node, tokens.of(&container.node).unwrap().clone());
    let outcome = manager
        .start(&[ContainerStart {
            container: &container,
            launch: &launch,
        }])
        .await
        .unwrap();
    assert_eq!(outcome.succeeded, [container.id]);
    assert_eq!(
        manager.stop(&[container.id]).await.unwrap().succeeded,
        [container.id]
    );
    let status = loop {
        let answer = master.allocate(AllocateRequest::default()).await.unwrap();
        if let Some(status) = answer.completed.into_iter().next() {
            break status;
        }
        assert!(start.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(status.id, container.id);
    println!("stopped: {status:?}");

    // The node checks the token: one with another password is refused, in the node's words.
    let mut forged = tokens.of(&container.node).unwrap().clone();
    forged.password[0] ^= 1;
    let stranger = ContainerClient::new(&container.node, forged);
    let error = stranger.statuses(&[container.id]).await.unwrap_err();
    println!("forged token: {error}");
    assert!(matches!(error, CallError::Refused { .. }), "{error}");

    let report = client.report(&id).await.unwrap();
    assert_eq!(
        (report.host.as_str(), report.rpc_port),
        ("host.example", Some(4711))
    );
    while !client.kill(&id, Some("enough")).await.unwrap() {
        assert!(start.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let report = wait_for_end(&client, &id, start).await;
    assert_eq!(report.state, YarnApplicationState::Killed);
    let gone = master
        .allocate(AllocateRequest::default())
        .await
        .unwrap_err();
    assert!(gone.is_attempt_gone(), "{gone}");
}

#[tokio::test]
#[ignore = "needs a cluster: set HADOOP_CONF_DIR"]
async fn wrong_ports_are_named() {
    let settings = settings();
    let managers = settings.resource_managers().unwrap();
    // The scheduler's port takes tokens only.
    let error = ApplicationClient::new(managers.scheduler.clone(), "alice");
    let error = error.cluster_metrics().await.unwrap_err();
    println!("client on the scheduler's port: {error}");
    assert!(matches!(error, CallError::Refused { .. }), "{error}");
    // The web port answers HTTP.
    let host = managers.client[0].rsplit_once(':').unwrap().0;
    let web = ApplicationClient::new(vec![format!("{host}:8088")], "alice");
    let error = web.cluster_metrics().await.unwrap_err();
    println!("client on the web port: {error}");
    assert!(
        matches!(error, CallError::NotHadoop { .. } | CallError::Lost { .. }),
        "{error}"
    );
}
