//! Daemons that are late, cut off, out of order or forgetful, against the crate's own clients.

mod support;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mini::resource_manager::ResourceManagerOptions;
    use proto_hadoop::server::{Fault, Refusal};
    use proto_hadoop::yarn::{
        AllocateRequest, ContainerLaunch, ContainerStart, FinalApplicationStatus, NodeState,
        YarnApplicationState, exit_status,
    };
    use proto_hadoop::{ApplicationMasterClient, CallError};
    use tokio::time::{Instant, sleep};

    use crate::support::{Master, Mini, anywhere, hasty, strict};

    /// A call of a client that waits 300 ms ends within this.
    const PROMPT: Duration = Duration::from_secs(2);

    /// The error of a call that must fail, and fail soon.
    async fn fails<T: std::fmt::Debug>(
        call: impl Future<Output = Result<T, CallError>>,
    ) -> CallError {
        let began = Instant::now();
        let error = call.await.unwrap_err();
        assert!(began.elapsed() < PROMPT, "{:?}: {error}", began.elapsed());
        error
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn silence_in_all_its_forms_ends_at_the_deadline_and_the_next_call_works() {
        let mini = Mini::start(1).await;
        let faults = mini.cluster.resource_manager().client_faults();
        for fault in [
            Fault::Late(Duration::from_secs(30)),
            Fault::Lost,
            Fault::Dead,
        ] {
            faults.next("getClusterMetrics", fault.clone());
            let error = fails(mini.client.cluster_metrics()).await;
            let words = error.to_string();
            assert!(
                words.contains("no answer within 0.3 s"),
                "{fault:?}: {words}"
            );
            assert!(words.contains("getClusterMetrics at 127.0.0.1:"), "{words}");
            assert_eq!(mini.client.cluster_metrics().await.unwrap().active, 1);
        }
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn answers_out_of_order_or_twice_reach_their_own_callers() {
        let mini = Mini::start(1).await;
        let faults = mini.cluster.resource_manager().client_faults();
        faults.next("getClusterMetrics", Fault::Late(Duration::from_millis(150)));
        faults.next("getQueueInfo", Fault::Twice);
        let (metrics, queue, nodes) = tokio::join!(
            mini.client.cluster_metrics(),
            mini.client.queue_info("default"),
            mini.client.nodes(&[NodeState::Running]),
        );
        assert_eq!(metrics.unwrap().nodes, 1);
        assert_eq!(queue.unwrap().unwrap().name, "default");
        assert_eq!(nodes.unwrap().len(), 1);
        assert_eq!(mini.client.nodes(&[]).await.unwrap().len(), 1);
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_cut_answer_is_asked_for_again_where_that_is_safe() {
        let mini = Mini::start(1).await;
        let faults = mini.cluster.resource_manager().client_faults();
        for length in [0, 3, 9] {
            faults.next("getClusterNodes", Fault::Cut(length));
            assert_eq!(mini.client.nodes(&[]).await.unwrap().len(), 1);
        }
        // Twice in a row is told.
        faults.next("getClusterNodes", Fault::Cut(9));
        faults.next("getClusterNodes", Fault::Cut(9));
        let error = fails(mini.client.nodes(&[])).await;
        assert!(error.to_string().contains("connection lost"), "{error}");
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_servers_own_words_arrive() {
        let mini = Mini::start(1).await;
        let faults = mini.cluster.resource_manager().client_faults();
        let exception = |class: &str| Refusal::new(class, "because of a test");
        faults.next(
            "getClusterMetrics",
            Fault::Fatal(exception("org.apache.hadoop.ipc.RpcServerException")),
        );
        let error = fails(mini.client.cluster_metrics()).await;
        assert!(error.to_string().contains("because of a test"), "{error}");

        faults.next(
            "getClusterMetrics",
            Fault::Refused(exception("java.lang.NullPointerException")),
        );
        let error = fails(mini.client.cluster_metrics()).await;
        assert_eq!(error.class(), Some("java.lang.NullPointerException"));

        faults.next("getClusterMetrics", Fault::Garbled);
        let error = fails(mini.client.cluster_metrics()).await;
        assert!(error.to_string().contains("cannot be read"), "{error}");
        assert_eq!(mini.client.cluster_metrics().await.unwrap().nodes, 1);
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_container_is_lost_with_the_answer_that_brought_it() {
        let mini = Mini::start(1).await;
        let mut master = mini.master().await;
        master.register().await;
        let faults = mini.cluster.resource_manager().scheduler_faults().clone();
        for (id, fault) in [Fault::Lost, Fault::Cut(20), Fault::Twice, Fault::Dead]
            .into_iter()
            .enumerate()
        {
            faults.next("allocate", fault.clone());
            let request = AllocateRequest {
                asks: anywhere(1024, 1, i64::try_from(id).unwrap()),
                ..AllocateRequest::default()
            };
            let mut got = match master.client.allocate(request).await {
                Ok(answer) => answer.allocated,
                Err(error) => {
                    assert!(error.class().is_none(), "{error}");
                    Vec::new()
                }
            };
            while got.is_empty() {
                got = master.beat(AllocateRequest::default()).await;
            }
            assert_eq!(got.len(), 1, "{fault:?}");
            master
                .beat(AllocateRequest {
                    releases: vec![got[0].id],
                    ..AllocateRequest::default()
                })
                .await;
        }
        let report = mini.until(master.id, |report| report.usage.containers == 0);
        assert_eq!(report.await.usage.used.memory_mib, 0);
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_refused_request_is_handed_back_also_when_it_was_the_repeated_one() {
        let mini = Mini::start(1).await;
        let master = registered(&mini).await;
        let faults = mini.cluster.resource_manager().scheduler_faults().clone();
        let request = AllocateRequest {
            asks: anywhere(1024, 1, 1),
            ..AllocateRequest::default()
        };
        // A word of YARN's own: any other exception may come from the layers before it.
        let class = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException";
        let refusal = Fault::Refused(Refusal::new(class, "a test"));
        faults.next("allocate", Fault::Dead);
        let error = fails(master.client.allocate(request.clone())).await;
        assert_eq!(error.class(), None);
        assert_eq!(master.client.take_refused().await, None);
        faults.next("allocate", refusal);
        let error = fails(master.client.allocate(AllocateRequest::default())).await;
        assert_eq!(error.class(), Some(class));
        assert_eq!(master.client.take_refused().await, Some(request));
        assert_eq!(master.client.take_refused().await, None);
        mini.stop().await;
    }

    async fn registered(mini: &Mini) -> Master {
        let master = mini.master().await;
        master.register().await;
        master
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_restarted_resource_manager_wants_a_registration_and_the_whole_table() {
        let mini = Mini::start(1).await;
        let mut master = registered(&mini).await;
        master.get(anywhere(3072, 1, 1), 1).await;
        let waiting = AllocateRequest {
            asks: strict("127.0.0.1", 2048, 1, 2),
            ..AllocateRequest::default()
        };
        assert_eq!(master.beat(waiting).await, []);
        mini.cluster.resource_manager().restart();
        let error = fails(master.client.allocate(AllocateRequest::default())).await;
        assert!(error.is_not_registered(), "{error}");
        master.register().await;
        let error = fails(master.client.register("here", None, "")).await;
        assert!(error.to_string().contains("already registered"), "{error}");
        assert_eq!(master.beat(AllocateRequest::default()).await, []);

        mini.cluster.resource_manager().forget();
        let error = fails(master.client.allocate(AllocateRequest::default())).await;
        assert!(error.is_attempt_gone(), "{error}");
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_restart_keeps_the_containers_that_run_and_forgets_the_others_without_a_word() {
        let mini = Mini::start(1).await;
        let mut master = registered(&mini).await;
        let got = master.get(anywhere(1024, 2, 1), 2).await;
        master.start(&got[0], "sleep 60; true").await;
        mini.cluster.resource_manager().restart();
        mini.until(master.id, |report| report.usage.containers == 1)
            .await;
        master.register().await;

        // Its node has a new ResourceManager by now.
        let launch = ContainerLaunch::default();
        let order = ContainerStart {
            container: &got[1],
            launch: &launch,
        };
        let outcome = master.node(&got[1].node).start(&[order]).await.unwrap();
        let refused = &outcome.failed[0];
        assert!(
            format!("{refused:?}").contains("previous RM"),
            "{refused:?}"
        );
        // All that the other does not use is free again.
        assert_eq!(master.get(anywhere(3072, 1, 2), 1).await.len(), 1);
        let running = mini.client.report(&master.id).await.unwrap();
        assert_eq!(running.usage.containers, 2);
        assert!(master.ended.is_empty(), "{:?}", master.ended);
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nodes_come_back_to_a_resource_manager_that_forgot_them() {
        let mini = Mini::start(2).await;
        mini.cluster.resource_manager().forget();
        let began = Instant::now();
        while mini
            .client
            .nodes(&[NodeState::Running])
            .await
            .unwrap()
            .len()
            < 2
        {
            assert!(began.elapsed() < Duration::from_secs(5));
            sleep(Duration::from_millis(20)).await;
        }
        let mut master = registered(&mini).await;
        let got = master.get(anywhere(1024, 1, 1), 1).await;
        master.start(&got[0], "exit 4").await;
        assert_eq!(master.end_of(&got[0]).await.exit_status, 4);
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_rolled_key_brings_a_new_token_that_logs_in_when_the_old_one_does_not() {
        let mini = Mini::start(1).await;
        let mut master = registered(&mini).await;
        let manager = mini.cluster.resource_manager();
        let old = master.client.token().unwrap();
        manager.roll_am_key();
        master.beat(AllocateRequest::default()).await;
        let newer = master.client.token().unwrap();
        assert_ne!(newer, old);
        manager.retire_am_keys();
        // On a new connection, by the new token.
        let got = master.get(anywhere(1024, 1, 1), 1).await;
        assert_eq!(got.len(), 1);
        let late = ApplicationMasterClient::new(vec![manager.scheduler_address()], old)
            .with_timing(hasty());
        let error = fails(late.allocate(AllocateRequest::default())).await;
        assert!(error.to_string().contains("Invalid AMRMToken"), "{error}");
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_silent_master_is_taken_for_dead_and_its_containers_end() {
        let options = ResourceManagerOptions {
            am_expiry: Duration::from_millis(400),
            ..ResourceManagerOptions::default()
        };
        let mini = Mini::with(1, options).await;
        let mut master = registered(&mini).await;
        let got = master.get(anywhere(1024, 1, 1), 1).await;
        master.start(&got[0], "sleep 60; true").await;
        let began = Instant::now();
        let report = mini.until_over(master.id).await;
        assert!(began.elapsed() < Duration::from_secs(3));
        assert_eq!(report.state, YarnApplicationState::Failed);
        assert!(
            report.diagnostics.contains("timed out"),
            "{}",
            report.diagnostics
        );
        mini.until(master.id, |report| report.usage.containers == 0)
            .await;
        let error = fails(master.client.allocate(AllocateRequest::default())).await;
        assert!(error.is_attempt_gone(), "{error}");
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_silent_node_is_lost_and_its_containers_with_it() {
        let options = ResourceManagerOptions {
            node_expiry: Duration::from_millis(500),
            ..ResourceManagerOptions::default()
        };
        let mini = Mini::with(2, options).await;
        let mut master = registered(&mini).await;
        let got = master.get(anywhere(1024, 2, 1), 2).await;
        for container in &got {
            master.start(container, "sleep 60; true").await;
        }
        // One of the two gets no answer any more; whose heartbeat is next is chance.
        let faults = mini.cluster.resource_manager().tracker_faults();
        faults.next("nodeHeartbeat", Fault::Dead);
        let began = Instant::now();
        let lost = loop {
            master.beat(AllocateRequest::default()).await;
            if let Some(lost) = master.ended.first() {
                break lost.clone();
            }
            assert!(began.elapsed() < Duration::from_secs(5));
            sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(lost.exit_status, exit_status::ABORTED);
        assert!(lost.diagnostics.contains("lost"), "{lost:?}");
        assert_eq!(mini.client.cluster_metrics().await.unwrap().lost, 1);
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_start_whose_answer_is_lost_is_not_repeated_and_can_be_asked_about() {
        let mini = Mini::start(1).await;
        let mut master = registered(&mini).await;
        let got = master.get(anywhere(1024, 1, 1), 1).await;
        mini.cluster.nodes()[0]
            .faults()
            .next("startContainers", Fault::Cut(5));
        let launch = ContainerLaunch {
            commands: vec!["sleep 60; true".to_owned()],
            ..ContainerLaunch::default()
        };
        let order = ContainerStart {
            container: &got[0],
            launch: &launch,
        };
        let node = master.node(&got[0].node);
        let error = fails(node.start(&[order])).await;
        assert!(error.to_string().contains("before the answer"), "{error}");
        let outcome = node.statuses(&[got[0].id]).await.unwrap();
        assert_eq!(outcome.succeeded.len(), 1, "{outcome:?}");
        let status = FinalApplicationStatus::Failed;
        master.client.finish(status, "", "").await.unwrap();
        mini.stop().await;
    }
}
