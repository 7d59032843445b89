//! Channels to one server of several, which come and go.

use super::*;

#[tokio::test]
async fn a_connection_that_ended_between_calls_is_opened_again() {
    let (listener, address) = listen().await;
    let channel = channel(vec![address]);
    for round in ["1", "2"] {
        let (said, ()) = tokio::join!(simple_call(&channel), async {
            let mut peer = accept(&listener).await;
            let received = peer.first_call().await;
            peer.answer(received.id, &text(round)).await;
        });
        assert_eq!(said.unwrap(), round);
    }
}

#[tokio::test]
async fn a_call_that_may_have_run_is_repeated_only_if_that_does_no_harm() {
    let (listener, address) = listen().await;
    let channel = channel(vec![address]);
    let (said, ()) = tokio::join!(simple_call(&channel), async {
        accept(&listener).await.first_call().await;
        let mut peer = accept(&listener).await;
        let received = peer.first_call().await;
        peer.answer(received.id, &text("second")).await;
    });
    assert_eq!(said.unwrap(), "second");

    let parameter = text("q");
    let careful = channel.call("m", AtMostOnce, &parameter, |_: TokenProto| Ok(()));
    let (outcome, ()) = tokio::join!(careful, async {
        accept(&listener).await.first_call().await;
    });
    let error = outcome.unwrap_err();
    assert!(
        matches!(&error, CallError::Lost { sent: true, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("before the answer"), "{error}");
}

/// An address where nothing listens.
async fn deserted() -> String {
    listen().await.1
}

#[tokio::test]
async fn the_active_one_of_several_is_found_and_kept() {
    let (listener, address) = listen().await;
    let (standby, standby_address) = listen().await;
    let channel = channel(vec![deserted().await, standby_address, address]);
    let serve = async {
        let mut peer = accept(&standby).await;
        let received = peer.first_call().await;
        peer.error(
            received.id,
            "org.apache.hadoop.ipc.StandbyException",
            "not me",
        )
        .await;
        let mut peer = accept(&listener).await;
        let mut received = peer.first_call().await;
        peer.answer(received.id, &text("one")).await;
        received = peer.call().await.unwrap();
        peer.answer(received.id, &text("two")).await;
    };
    let calls = async {
        let first = simple_call(&channel).await.unwrap();
        (first, simple_call(&channel).await.unwrap())
    };
    assert_eq!(tokio::join!(calls, serve).0, ("one".into(), "two".into()));
}

#[tokio::test]
async fn all_addresses_are_named_when_none_answers() {
    let (one, two) = (deserted().await, deserted().await);
    let error = simple_call(&channel(vec![one.clone(), two.clone()]))
        .await
        .unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, CallError::NoneAnswered { .. }), "{said}");
    for words in [&one, &two, "nothing listens there"] {
        assert!(said.contains(words), "{said} lacks {words}");
    }
    let single = simple_call(&channel(vec![one.clone()])).await.unwrap_err();
    assert!(matches!(&single, CallError::Connect { .. }), "{single}");
    assert!(matches!(
        simple_call(&channel(vec![])).await,
        Err(CallError::NoAddress { method: "m" })
    ));
}

#[tokio::test]
async fn patience_waits_for_a_server_that_comes_back() {
    let (listener, address) = listen().await;
    drop(listener);
    let timing = Timing {
        absence: Duration::from_secs(20),
        ..brisk()
    };
    let channel = Channel::new(PROTOCOL, vec![address.clone()], user()).with_timing(timing);
    let (said, ()) = tokio::join!(simple_call(&channel), async {
        sleep(Duration::from_millis(100)).await;
        let listener = tokio::net::TcpListener::bind(&address).await.unwrap();
        let mut peer = accept(&listener).await;
        let received = peer.first_call().await;
        peer.answer(received.id, &text("back")).await;
    });
    assert_eq!(said.unwrap(), "back");
}

#[tokio::test]
async fn other_servers_are_named() {
    for (bytes, words) in [
        (
            &b"HTTP/1.1 404 Not Found\r\n\r\n"[..],
            "is not a Hadoop IPC port: it answered HTTP",
        ),
        (
            b"\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x03abc",
            "another IPC version",
        ),
        (b"\x00\x00\x00\x05\x09\x09\x09\x09\x09", "cannot be read"),
        (b"", "the server closed the connection"),
    ] {
        let (listener, address) = listen().await;
        let channel = channel(vec![address.clone()]);
        let (outcome, ()) = tokio::join!(simple_call(&channel), async {
            // A second time where the first looks like a lost connection.
            for _ in 0..if bytes.is_empty() { 2 } else { 1 } {
                let mut peer = accept(&listener).await;
                peer.first_call().await;
                peer.raw(bytes).await;
            }
        });
        let said = outcome.unwrap_err().to_string();
        assert!(
            said.contains(words) && said.contains(&address),
            "{said} lacks {words}"
        );
    }
}

#[tokio::test]
async fn a_request_beyond_the_servers_limit_is_not_sent() {
    let channel = channel(vec!["127.0.0.1:1".into()]);
    let long = text(&"x".repeat(64 << 20));
    let outcome = channel
        .call("m", Idempotent, &long, |_: TokenProto| Ok(()))
        .await;
    assert!(matches!(outcome, Err(CallError::TooLong { .. })));
}

#[tokio::test]
async fn an_exception_is_the_answer_of_one_call_alone() {
    let (listener, address) = listen().await;
    let channel = channel(vec![address]);
    let calls = async {
        let error = simple_call(&channel).await.unwrap_err();
        (error, simple_call(&channel).await.unwrap())
    };
    let ((error, said), ()) = tokio::join!(calls, async {
        let mut peer = accept(&listener).await;
        let received = peer.first_call().await;
        peer.error(received.id, "org.example.No", "not now\n\tat A\n\tat B")
            .await;
        let received = peer.call().await.unwrap();
        peer.answer(received.id, &text("now")).await;
    });
    match error {
        CallError::Remote {
            class,
            message,
            stack,
            ..
        } => {
            assert_eq!(
                (class.as_str(), message.as_str()),
                ("org.example.No", "not now")
            );
            assert_eq!(stack, "\tat A\n\tat B");
        }
        other => panic!("{other}"),
    }
    assert_eq!(said, "now");
}

#[tokio::test]
async fn callers_who_wait_for_one_that_connects_share_what_it_finds() {
    // Takes the connection and never logs anybody in.
    let (listener, address) = listen().await;
    let timing = Timing {
        connect: Duration::from_millis(200),
        ..brisk()
    };
    let login = Login::Token(token());
    let channel = Arc::new(Channel::new(PROTOCOL, vec![address], login).with_timing(timing));
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let channel = Arc::clone(&channel);
        callers.spawn(async move { simple_call(&channel).await });
    }
    while let Some(outcome) = callers.join_next().await {
        let error = outcome.unwrap().unwrap_err();
        assert!(matches!(error, CallError::Connect { .. }), "{error}");
    }
    let took = began.elapsed();
    assert!(took < Duration::from_millis(600), "{took:?}");
    drop(listener);
}

/// Two servers; the first takes connections and answers nothing.
async fn first_is_silent(both: bool) -> (Result<String, CallError>, Duration) {
    let (silent, first) = listen().await;
    let (listener, second) = listen().await;
    let timing = Timing {
        first: Duration::from_millis(100),
        call: Duration::from_millis(600),
        ..brisk()
    };
    let channel = Channel::new(PROTOCOL, vec![first, second], user()).with_timing(timing);
    let began = std::time::Instant::now();
    let answering = async {
        if both {
            return std::future::pending().await;
        }
        let mut peer = accept(&listener).await;
        let received = peer.first_call().await;
        peer.answer(received.id, &text("here")).await;
        std::future::pending::<()>().await;
    };
    let said = tokio::select! {
        said = simple_call(&channel) => said,
        () = answering => unreachable!(),
    };
    drop(silent);
    (said, began.elapsed())
}

#[tokio::test]
async fn a_silent_server_is_left_soon_for_one_that_answers() {
    let (said, after) = first_is_silent(false).await;
    assert_eq!(said.unwrap(), "here");
    assert!(after < Duration::from_millis(600), "{after:?}");
}

/// The second freezes while it is active, and the first, which was refusing, takes over.
#[tokio::test]
async fn one_that_becomes_active_while_another_is_silent_is_asked_again() {
    let first = deserted().await;
    let (silent, second) = listen().await;
    let timing = Timing {
        first: Duration::from_millis(100),
        call: Duration::from_secs(20),
        ..brisk()
    };
    let addresses = vec![first.clone(), second];
    let channel = Channel::new(PROTOCOL, addresses, user()).with_timing(timing);
    let began = std::time::Instant::now();
    let takes_over = async {
        sleep(Duration::from_millis(250)).await;
        let listener = tokio::net::TcpListener::bind(&first).await.unwrap();
        let mut peer = accept(&listener).await;
        let received = peer.first_call().await;
        peer.answer(received.id, &text("here")).await;
        std::future::pending::<()>().await;
    };
    let said = tokio::select! {
        said = simple_call(&channel) => said,
        () = takes_over => unreachable!(),
    };
    drop(silent);
    assert_eq!(said.unwrap(), "here");
    let after = began.elapsed();
    assert!(after < Duration::from_secs(10), "{after:?}");
}

#[tokio::test]
async fn each_of_several_silent_servers_has_its_whole_time_in_the_end() {
    let (said, after) = first_is_silent(true).await;
    let said = said.unwrap_err();
    assert!(matches!(said, CallError::NoneAnswered { .. }), "{said}");
    assert!(after >= Duration::from_millis(2 * 700), "{after:?}");
}
