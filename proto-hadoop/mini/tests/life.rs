//! Applications and containers from their first to their last word, over the wire.

mod support;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use mini::ResourceManager;
    use mini::resource_manager::ResourceManagerOptions;
    use proto_hadoop::yarn::{
        AllocateRequest, ContainerLaunch, ContainerStart, ContainerState, FinalApplicationStatus,
        LocalResource, LocalResourceKind, Resource, ResourceUrl, Visibility, YarnApplicationState,
        exit_status,
    };
    use proto_hadoop::{ApplicationClient, ApplicationMasterClient, ContainerClient, NodeId};
    use tokio::time::{Instant, sleep};

    use crate::support::{Mini, SOON, anywhere, hasty, strict};

    #[tokio::test(flavor = "multi_thread")]
    async fn containers_run_where_they_were_asked_for_and_their_ends_are_told() {
        let mini = Mini::start(2).await;
        let mut master = mini.master().await;
        master.register().await;
        mini.until_running(master.id).await;
        let mut asks = strict("127.0.0.1", 1024, 2, 1);
        asks.extend(strict("127.0.0.2", 1000, 1, 2));
        let got = master.get(asks, 3).await;
        let mut hosts: Vec<_> = got.iter().map(|one| one.node.host.as_str()).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, ["127.0.0.1", "127.0.0.1", "127.0.0.2"]);
        // Rounded up to the cluster's step; cores are not counted.
        assert!(got.iter().all(|one| one.resource == Resource::new(1024, 1)));

        let commands = ["exit 0", "echo oh no >&2; exit 3", "kill -TERM $$"];
        for (container, command) in got.iter().zip(commands) {
            master.start(container, command).await;
        }
        assert_eq!(master.end_of(&got[0]).await.exit_status, 0);
        let failed = master.end_of(&got[1]).await;
        assert_eq!(failed.exit_status, 3);
        assert_eq!(failed.state, ContainerState::Complete);
        assert!(
            failed.diagnostics.contains("non-zero exit code 3"),
            "{failed:?}"
        );
        assert!(failed.diagnostics.contains("oh no"), "{failed:?}");
        assert_eq!(master.end_of(&got[2]).await.exit_status, 128 + 15);

        let status = FinalApplicationStatus::Succeeded;
        master.client.finish(status, "done", "").await.unwrap();
        let report = mini.until_over(master.id).await;
        assert_eq!(report.state, YarnApplicationState::Finished);
        assert_eq!(report.final_status, FinalApplicationStatus::Succeeded);
        assert_eq!(report.diagnostics, "done");
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn clusters_that_start_together_have_ids_of_their_own() {
        let mut managers = Vec::new();
        for _ in 0..32 {
            let manager = ResourceManager::start(ResourceManagerOptions::default());
            managers.push(manager.await.unwrap());
        }
        let mut ids = BTreeSet::new();
        for manager in &managers {
            let client = ApplicationClient::new(vec![manager.client_address()], "tester");
            ids.insert(client.new_application().await.unwrap().id);
        }
        assert_eq!(ids.len(), managers.len());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_master_that_fails_fails_its_application_in_its_own_words() {
        let mini = Mini::start(1).await;
        let id = mini
            .submit("echo cannot go on 2>&1 1><LOG_DIR>/stderr; exit 7")
            .await;
        let report = mini.until_over(id).await;
        assert_eq!(report.state, YarnApplicationState::Failed);
        for words in ["exitCode: 7", "cannot go on"] {
            assert!(report.diagnostics.contains(words), "{}", report.diagnostics);
        }
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_master_finds_what_yarn_promises_it() {
        let mini = Mini::start(1).await;
        let id = mini
            .submit(
                "test -n '$CONTAINER_ID' && test '$NM_HOST' = 127.0.0.1 && test -d '$LOG_DIRS' && \
                 test '$PWD' -ef . && test -z '$HADOOP_CONF_DIR' && \
                 grep -q YARN_AM_RM_TOKEN '$HADOOP_TOKEN_FILE_LOCATION' && exit 9; exit 5",
            )
            .await;
        let report = mini.until_over(id).await;
        assert!(
            report.diagnostics.contains("exitCode: 9"),
            "{}",
            report.diagnostics
        );
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_does_not_fit_waits_and_a_release_makes_room() {
        let mini = Mini::start(2).await;
        let mut master = mini.master().await;
        master.register().await;
        let first = master.get(strict("127.0.0.1", 3072, 1, 1), 1).await;
        // Strict: not on the other node, which is free.
        let none = master
            .beat(AllocateRequest {
                asks: strict("127.0.0.1", 2048, 1, 2),
                ..AllocateRequest::default()
            })
            .await;
        assert_eq!(none, []);
        sleep(Duration::from_millis(300)).await;
        assert_eq!(master.beat(AllocateRequest::default()).await, []);
        // A relaxed one goes where there is room.
        let elsewhere = master.get(anywhere(4096, 1, 3), 1).await;
        assert_eq!(elsewhere[0].node.host, "127.0.0.2");
        let granted = master
            .beat(AllocateRequest {
                releases: vec![first[0].id],
                ..AllocateRequest::default()
            })
            .await;
        assert_eq!(granted.len(), 1, "{granted:?}");
        assert_eq!(granted[0].node.host, "127.0.0.1");
        let released = master.end_of(&first[0]).await;
        assert_eq!(released.exit_status, exit_status::ABORTED);

        let request = AllocateRequest {
            asks: anywhere(8192, 1, 4),
            ..AllocateRequest::default()
        };
        let error = master.client.allocate(request).await.unwrap_err();
        assert!(error.is("InvalidResourceRequestException"), "{error}");
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tokens_that_nobody_signed_open_nothing() {
        let mini = Mini::start(2).await;
        let mut master = mini.master().await;
        master.register().await;
        let got = master.get(strict("127.0.0.1", 1024, 1, 1), 1).await;
        let container = &got[0];
        let token = master.tokens.of(&container.node).unwrap().clone();

        let mut forged = token.clone();
        forged.password[0] ^= 1;
        let client = ContainerClient::new(&container.node, forged).with_timing(hasty());
        let error = client.statuses(&[container.id]).await.unwrap_err();
        assert!(error.to_string().contains("Mismatched response"), "{error}");

        // A token is for one node.
        let other = mini.cluster.nodes()[1].id().clone();
        let client = ContainerClient::new(&other, token).with_timing(hasty());
        let error = client.statuses(&[container.id]).await.unwrap_err();
        assert!(error.to_string().contains("shown to"), "{error}");

        // A grant that was tampered with starts nothing; neither does one used twice.
        let mut grown = container.clone();
        grown.token.as_mut().unwrap().password[3] ^= 1;
        let launch = ContainerLaunch {
            commands: vec!["true".to_owned()],
            ..ContainerLaunch::default()
        };
        let order = ContainerStart {
            container: &grown,
            launch: &launch,
        };
        let outcome = master.node(&container.node).start(&[order]).await.unwrap();
        assert!(
            outcome.failed[0].class.ends_with("InvalidToken"),
            "{outcome:?}"
        );
        master.launch(container, &launch).await;
        let again = ContainerStart {
            container,
            launch: &launch,
        };
        let outcome = master.node(&container.node).start(&[again]).await.unwrap();
        assert!(outcome.failed[0].message.contains("already"), "{outcome:?}");

        // The scheduler's door is shut to a token of nobody's application.
        let scheduler = mini.cluster.resource_manager().scheduler_address();
        let mut stranger = master.client.token().unwrap();
        stranger.password.fill(0);
        let client = ApplicationMasterClient::new(vec![scheduler], stranger).with_timing(hasty());
        let error = client.register("x", None, "").await.unwrap_err();
        assert!(error.to_string().contains("Mismatched response"), "{error}");
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn files_are_checked_linked_and_unpacked() {
        let mini = Mini::start(1).await;
        let mut master = mini.master().await;
        master.register().await;
        let staged = tempfile::tempdir().unwrap();
        let plain = staged.path().join("plain");
        std::fs::write(&plain, "abc").unwrap();
        let packed = staged.path().join("packed.tar");
        let mut tar = tar::Builder::new(std::fs::File::create(&packed).unwrap());
        tar.append_path_with_name(&plain, "below/inside").unwrap();
        tar.finish().unwrap();
        let resource = |path: &std::path::Path, kind| {
            let metadata = std::fs::metadata(path).unwrap();
            let age = metadata.modified().unwrap();
            let age = age.duration_since(std::time::UNIX_EPOCH).unwrap();
            LocalResource {
                url: ResourceUrl {
                    scheme: "file".into(),
                    host: None,
                    port: None,
                    path: path.to_str().unwrap().into(),
                },
                size: metadata.len(),
                timestamp_ms: age.as_millis().try_into().unwrap(),
                kind,
                visibility: Visibility::Private,
            }
        };
        let file = resource(&plain, LocalResourceKind::File);
        let archive = resource(&packed, LocalResourceKind::Archive);
        let launch = |resources: Vec<(&str, LocalResource)>| ContainerLaunch {
            resources: resources
                .into_iter()
                .map(|(name, resource)| (name.to_owned(), resource))
                .collect(),
            commands: vec!["cmp a lib/below/inside".to_owned()],
            ..ContainerLaunch::default()
        };
        let got = master.get(anywhere(1024, 3, 1), 3).await;
        let whole = launch(vec![("a", file.clone()), ("lib", archive.clone())]);
        master.launch(&got[0], &whole).await;
        let status = master.end_of(&got[0]).await;
        assert_eq!(status.exit_status, 0, "{status:?}");

        let older = LocalResource {
            timestamp_ms: file.timestamp_ms - 1000,
            ..file.clone()
        };
        master.launch(&got[1], &launch(vec![("a", older)])).await;
        let status = master.end_of(&got[1]).await;
        assert_eq!(status.exit_status, exit_status::INVALID);
        assert!(
            status.diagnostics.contains("changed on src filesystem"),
            "{status:?}"
        );

        let remote = LocalResource {
            url: "hdfs://nn:8020/a".parse().unwrap(),
            ..file
        };
        master.launch(&got[2], &launch(vec![("a", remote)])).await;
        let status = master.end_of(&got[2]).await;
        assert!(
            status.diagnostics.contains("reads file: alone"),
            "{status:?}"
        );
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_order_to_stop_is_polite_first_and_firm_soon() {
        let mini = Mini::start(1).await;
        let mut master = mini.master().await;
        master.register().await;
        let got = master.get(anywhere(1024, 2, 1), 2).await;
        master
            .start(&got[0], "trap 'exit 0' TERM; sleep 60 & wait")
            .await;
        master
            .start(&got[1], "trap '' TERM; sleep 60; sleep 60")
            .await;
        sleep(Duration::from_millis(200)).await;
        let began = Instant::now();
        let ids = [got[0].id, got[1].id];
        let outcome = master.node(&got[0].node).stop(&ids).await.unwrap();
        assert_eq!(outcome.succeeded, ids);
        for container in &got {
            let status = master.end_of(container).await;
            assert_eq!(
                status.exit_status,
                exit_status::KILLED_BY_APPLICATION_MASTER
            );
        }
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
        mini.stop().await;
    }

    /// An argument of `sleep` that no other process on this machine has.
    fn mark(number: u32) -> String {
        format!("41.{}{number}", std::process::id())
    }

    /// Whether any process has this among its arguments.
    fn lives(mark: &str) -> bool {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes.into_iter().any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let own = entry.file_name().to_str() == Some(&std::process::id().to_string());
            !own && String::from_utf8_lossy(&line).contains(mark)
        })
    }

    async fn until_gone(mark: &str) {
        let began = Instant::now();
        while lives(mark) {
            assert!(began.elapsed() < SOON, "{mark} still runs");
            sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_stays_of_a_killed_application() {
        let mini = Mini::start(1).await;
        let mark = &mark(1);
        let id = mini.submit(&format!("sleep {mark}; true")).await;
        mini.until(id, |_| lives(mark)).await;
        assert!(mini.client.kill(&id, Some("enough")).await.unwrap());
        let report = mini.until_over(id).await;
        assert_eq!(report.state, YarnApplicationState::Killed);
        assert!(
            report.diagnostics.starts_with("enough "),
            "{}",
            report.diagnostics
        );
        until_gone(mark).await;
        let report = mini.until(id, |report| report.usage.containers == 0).await;
        assert_eq!(report.usage.used, Resource::default());
        mini.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_stays_of_a_cluster_that_is_stopped_or_dropped() {
        let mini = Mini::start(2).await;
        let first = &mark(2);
        let id = mini.submit(&format!("sleep {first}; true")).await;
        mini.until(id, |_| lives(first)).await;
        mini.stop().await;
        assert!(!lives(first), "stop returns when all is gone");

        let mini = Mini::start(1).await;
        let second = &mark(3);
        let id = mini.submit(&format!("sleep {second}; true")).await;
        mini.until(id, |_| lives(second)).await;
        let folder = mini.folder.path().to_owned();
        drop(mini);
        until_gone(second).await;
        assert!(!folder.exists());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_queue_or_application_that_does_not_exist_is_named() {
        let mini = Mini::start(1).await;
        assert_eq!(mini.client.queue_info("nope").await.unwrap(), None);
        let root = mini.client.queue_info("root").await.unwrap().unwrap();
        assert_eq!(root.children[0].name, "default");
        let id = proto_hadoop::ApplicationId {
            cluster_timestamp: 1,
            id: 2,
        };
        let error = mini.client.report(&id).await.unwrap_err();
        assert!(error.is("ApplicationNotFoundException"), "{error}");
        let error = mini.client.node_labels().await.unwrap_err();
        assert!(error.is("RpcNoSuchMethodException"), "{error}");
        let node = NodeId {
            host: "127.0.0.1".into(),
            port: mini.cluster.nodes()[0].id().port,
        };
        let nodes = mini.client.nodes(&[]).await.unwrap();
        assert_eq!(nodes[0].id, node);
        assert_eq!(nodes[0].capability, Resource::new(4096, 4));
        mini.stop().await;
    }
}
