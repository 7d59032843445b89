//! Connections and channels against scripted servers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use credentials::Token;
use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::auth::SaslError;
use crate::wire::common::TokenProto;
use crate::wire::common::rpc_sasl_proto::SaslAuth;

use super::calls::Failure;
use super::channel::{Channel, Login};
use super::connection::{Connection, Disconnect, Miss};
use super::error::CallError;
use super::message::{ClientId, Request};
use super::peers::{Peer, accept, listen, success, token_login};
use super::retry::Idempotence::{AtMostOnce, Idempotent};
use super::{Timing, handshake};

const PROTOCOL: &str = "org.example.ProtocolPB";
const CLIENT: ClientId = ClientId([7; 16]);

/// A message with text, for parameters and results.
fn text(text: &str) -> TokenProto {
    TokenProto {
        kind: text.to_owned(),
        ..TokenProto::default()
    }
}

fn token() -> Token {
    let (identifier, password) = (b"who".to_vec(), b"secret".to_vec());
    Token {
        identifier,
        password,
        kind: "YARN_AM_RM_TOKEN".into(),
        service: String::new(),
    }
}

fn user() -> Login {
    Login::User("alice".into())
}

/// Short deadlines, for tests on real sockets.
fn brisk() -> Timing {
    Timing {
        connect: Duration::from_secs(5),
        call: Duration::from_secs(5),
        pause: Duration::from_millis(10),
        ..Timing::default()
    }
}

async fn connected(timing: Timing, login: Login) -> (Connection, Peer<DuplexStream>) {
    let (ours, theirs) = duplex(1 << 20);
    let session = handshake::login(ours, PROTOCOL, &login, CLIENT)
        .await
        .unwrap();
    (
        Connection::start(session, CLIENT, timing),
        Peer::new(theirs),
    )
}

async fn call(connection: &Connection, method: &str, wait: Duration) -> Result<Bytes, Miss> {
    let parameter = text(method);
    let request = Request {
        client: CLIENT,
        protocol: PROTOCOL,
        method,
        parameter: &parameter,
    };
    connection.call(&request, Instant::now() + wait).await
}

fn kind(bytes: &Bytes) -> String {
    <TokenProto as prost::Message>::decode(bytes.clone())
        .unwrap()
        .kind
}

const LONG: Duration = Duration::from_secs(1000);

#[tokio::test(start_paused = true)]
async fn answers_find_their_callers_in_any_order_and_repeated() {
    let (connection, mut peer) = connected(Timing::default(), user()).await;
    let connection = Arc::new(connection);
    let mut callers = JoinSet::new();
    for name in ["a", "b", "c"] {
        let connection = Arc::clone(&connection);
        callers.spawn(async move { (name, call(&connection, name, LONG).await.unwrap()) });
    }
    let mut calls = vec![peer.first_call().await];
    calls.push(peer.call().await.unwrap());
    calls.push(peer.call().await.unwrap());
    calls.reverse();
    for received in &calls {
        for _ in 0..2 {
            peer.answer(received.id, &text(&received.method)).await;
        }
        // Nobody has this id.
        peer.answer(received.id + 1000, &text("stray")).await;
    }
    while let Some(done) = callers.join_next().await {
        let (name, bytes) = done.unwrap();
        assert_eq!(kind(&bytes), name);
    }
    assert!(connection.is_usable());
}

#[tokio::test(start_paused = true)]
async fn a_fatal_reply_reaches_every_waiting_and_every_later_caller() {
    let (connection, mut peer) = connected(Timing::default(), user()).await;
    let connection = Arc::new(connection);
    let mut callers = JoinSet::new();
    for _ in 0..3 {
        let connection = Arc::clone(&connection);
        callers.spawn(async move { call(&connection, "m", LONG).await.unwrap_err() });
    }
    peer.first_call().await;
    peer.call().await.unwrap();
    peer.call().await.unwrap();
    peer.fatal("org.example.Bad", "go away\n\tat Server").await;
    while let Some(miss) = callers.join_next().await {
        match miss.unwrap() {
            Miss::Failed(Failure::End(Disconnect::Fatal { class, message })) => {
                assert_eq!(
                    (class.as_str(), message.as_str()),
                    ("org.example.Bad", "go away")
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(!connection.is_usable());
    match call(&connection, "m", LONG).await.unwrap_err() {
        Miss::NotSent(Disconnect::Fatal { message, .. }) => assert_eq!(message, "go away"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_truncated_answer_ends_the_wait() {
    let (connection, mut peer) = connected(Timing::default(), user()).await;
    let caller = async { call(&connection, "m", LONG).await.unwrap_err() };
    let server = async {
        let received = peer.first_call().await;
        let bytes = success(received.id, &text("half"));
        peer.raw(&bytes[..bytes.len() - 2]).await;
        drop(peer);
    };
    match tokio::join!(caller, server).0 {
        Miss::Failed(Failure::End(Disconnect::Io(error))) => {
            assert!(error.to_string().contains("inside a message"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_thrown_away_and_the_connection_stays() {
    let (connection, mut peer) = connected(Timing::default(), user()).await;
    let wait = Duration::from_secs(5);
    let (first, received) = tokio::join!(call(&connection, "slow", wait), async {
        let received = peer.first_call().await;
        sleep(Duration::from_secs(1)).await;
        // Another answer shows that the server lives.
        peer.answer(999, &text("other")).await;
        received
    });
    assert!(matches!(first, Err(Miss::Late)));
    assert!(connection.is_usable());
    peer.answer(received.id, &text("late")).await;
    let (second, ()) = tokio::join!(call(&connection, "next", wait), async {
        let received = peer.call().await.unwrap();
        peer.answer(received.id, &text("next")).await;
    });
    assert_eq!(kind(&second.unwrap()), "next");
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_pinged_and_then_left() {
    let timing = Timing {
        ping: Duration::from_secs(2),
        ..Timing::default()
    };
    let (connection, mut peer) = connected(timing, user()).await;
    let start = Instant::now();
    let (outcome, pings) = tokio::join!(call(&connection, "m", Duration::from_secs(9)), async {
        peer.first_call().await;
        let mut pings = 0;
        while let Ok(Some((header, rest))) = timeout(Duration::from_secs(3), peer.frame()).await {
            assert_eq!((header.call_id, rest.len()), (-4, 0));
            pings += 1;
        }
        pings
    });
    assert!(matches!(outcome, Err(Miss::Late)));
    assert_eq!(start.elapsed().as_secs(), 11);
    // At 2, 4, 6 and 8 s while the call waited, and none after it.
    assert_eq!(pings, 4);
    assert!(!connection.is_usable());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_does_not_hold_a_caller() {
    let (ours, _theirs) = duplex(64);
    let session = handshake::login(ours, PROTOCOL, &user(), CLIENT)
        .await
        .unwrap();
    let connection = Connection::start(session, CLIENT, Timing::default());
    let outcome = call(&connection, "m", Duration::from_secs(3)).await;
    assert!(matches!(outcome, Err(Miss::Late)));
    assert!(!connection.is_usable());
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_call_leaves_no_trace() {
    let (connection, mut peer) = connected(Timing::default(), user()).await;
    let cancelled = timeout(Duration::from_secs(1), call(&connection, "m", LONG)).await;
    assert!(cancelled.is_err());
    let received = peer.first_call().await;
    peer.answer(received.id, &text("nobody waits")).await;
    let (second, ()) = tokio::join!(call(&connection, "n", LONG), async {
        let received = peer.call().await.unwrap();
        peer.answer(received.id, &text("n")).await;
    });
    assert_eq!(kind(&second.unwrap()), "n");
}

#[tokio::test(start_paused = true)]
async fn protected_frames_may_span_and_share_blobs() {
    for qop in ["auth", "auth-int", "auth-conf", "auth-conf,auth"] {
        let (ours, theirs) = duplex(1 << 20);
        let mut peer = Peer::new(theirs);
        let secret = token();
        let login = Login::Token(secret.clone());
        let (session, ()) = tokio::join!(
            handshake::login(ours, PROTOCOL, &login, CLIENT),
            peer.log_in(&secret, qop)
        );
        let connection = Connection::start(session.unwrap(), CLIENT, Timing::default());
        let agreed = connection.qop.map(crate::auth::Qop::name);
        assert_eq!(agreed, qop.split(',').next());
        for step in [7, 1000] {
            let (one, two, ()) = tokio::join!(
                call(&connection, "one", LONG),
                call(&connection, "two", LONG),
                async {
                    if step == 7 {
                        let context = peer.context().await;
                        assert_eq!(context.protocol(), PROTOCOL);
                        assert_eq!(context.user_info.unwrap().effective_user, None);
                    }
                    let (one, two) = (peer.call().await.unwrap(), peer.call().await.unwrap());
                    let answers =
                        [success(two.id, &text("two")), success(one.id, &text("one"))].concat();
                    peer.send(&answers, step).await;
                }
            );
            assert_eq!(
                (kind(&one.unwrap()), kind(&two.unwrap())),
                ("one".into(), "two".into())
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unprotected_frame_on_a_protected_connection_is_refused() {
    let (ours, theirs) = duplex(1 << 20);
    let mut peer = Peer::new(theirs);
    let secret = token();
    let login = Login::Token(secret.clone());
    let (session, ()) = tokio::join!(
        handshake::login(ours, PROTOCOL, &login, CLIENT),
        peer.log_in(&secret, "auth-int")
    );
    let connection = Connection::start(session.unwrap(), CLIENT, Timing::default());
    let (outcome, ()) = tokio::join!(call(&connection, "m", LONG), async {
        peer.context().await;
        let received = peer.call().await.unwrap();
        peer.raw(&success(received.id, &text("forged"))).await;
    });
    match outcome {
        Err(Miss::Failed(Failure::End(Disconnect::Garbled { .. }))) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn offers_without_a_way_in_are_explained() {
    let kerberos = |method: &str| SaslAuth {
        method: method.into(),
        mechanism: "GSSAPI".into(),
        ..SaslAuth::default()
    };
    let scram = SaslAuth {
        mechanism: "SCRAM-SHA-256".into(),
        ..token_login("")
    };
    let cases = [
        (vec![kerberos("KERBEROS")], "Kerberos"),
        (vec![kerberos("SIMPLE")], "NoTokenLogin"),
        (vec![scram], "SCRAM-SHA-256"),
        (vec![token_login("qop=\"auth\"")], "md5-sess"),
    ];
    for (offer, words) in cases {
        let (ours, theirs) = duplex(1 << 20);
        let mut peer = Peer::new(theirs);
        let login = Login::Token(token());
        let (outcome, ()) = tokio::join!(
            handshake::login(ours, PROTOCOL, &login, CLIENT),
            async move {
                peer.offer(offer).await;
            }
        );
        let said = format!("{:?}", outcome.unwrap_err());
        assert!(said.contains(words), "{said} lacks {words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_know_the_token_is_not_trusted() {
    let (ours, theirs) = duplex(1 << 20);
    let mut peer = Peer::new(theirs);
    let login = Login::Token(token());
    let challenge = "realm=\"default\",nonce=\"n\",qop=\"auth\",algorithm=md5-sess";
    let (outcome, ()) = tokio::join!(handshake::login(ours, PROTOCOL, &login, CLIENT), async {
        peer.offer(vec![token_login(challenge)]).await;
        let success = super::peers::sasl_frame(&crate::wire::common::RpcSaslProto {
            token: Some(Bytes::from_static(
                b"rspauth=00000000000000000000000000000000",
            )),
            ..Default::default()
        });
        peer.raw(&success).await;
        // Stays open: the client ends it.
        assert!(peer.frame().await.is_none());
    });
    assert!(matches!(
        outcome.map(drop),
        Err(Disconnect::Sasl(SaslError::ServerProof))
    ));
}

async fn simple_call(channel: &Channel) -> Result<String, CallError> {
    channel
        .call("m", Idempotent, &text("q"), |answer: TokenProto| {
            Ok(answer.kind)
        })
        .await
}

fn channel(addresses: Vec<String>) -> Channel {
    Channel::new(PROTOCOL, addresses, user()).with_timing(brisk())
}

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
async fn a_cluster_with_kerberos_is_named_for_it() {
    let (listener, address) = listen().await;
    let channel = channel(vec![address]);
    let (outcome, ()) = tokio::join!(simple_call(&channel), async {
        let mut peer = accept(&listener).await;
        peer.first_call().await;
        let words = "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]";
        peer.fatal("org.apache.hadoop.security.AccessControlException", words)
            .await;
    });
    let said = outcome.unwrap_err().to_string();
    assert!(
        said.contains("wants Kerberos (it offers TOKEN, KERBEROS)"),
        "{said}"
    );
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
async fn opening_context_and_first_call_share_one_write() {
    let (listener, address) = listen().await;
    let channel = channel(vec![address]);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 4096];
        let length = stream.read(&mut bytes).await.unwrap();
        bytes.truncate(length);
        bytes
    };
    let bytes = tokio::select! {
        bytes = server => bytes,
        outcome = simple_call(&channel) => panic!("{outcome:?}"),
    };
    assert!(bytes.starts_with(b"hrpc\x09\x00\x00"));
    assert!(bytes.windows(5).any(|window| window == b"alice"));
    // The parameter ends the call.
    assert!(
        bytes.ends_with(&[0x1a, 1, b'q', 0x22, 0]),
        "{}",
        bytes.escape_ascii()
    );
}

/// What a scripted server does with one call.
#[derive(Clone, Copy, Debug)]
enum Act {
    Answer,
    /// An exception in place of an answer.
    Error(&'static str),
    /// An exception in place of the connection.
    Fatal(&'static str),
    Close,
    Silent,
}

/// Serves calls by the script, whichever connections they come on, and answers what comes after it.
/// Returns how many calls came once `over`.
async fn serve(
    listener: &tokio::net::TcpListener,
    script: &[Act],
    over: tokio::sync::oneshot::Receiver<()>,
) -> usize {
    let mut calls = 0;
    let mut held = Vec::new();
    let serving = async {
        loop {
            let mut peer = accept(listener).await;
            let mut received = Some(peer.first_call().await);
            while let Some(call) = received {
                calls += 1;
                match script.get(calls - 1).copied().unwrap_or(Act::Answer) {
                    Act::Answer => peer.answer(call.id, &text("done")).await,
                    Act::Error(class) => peer.error(call.id, class, "not now").await,
                    Act::Fatal(class) => {
                        peer.fatal(class, "not now").await;
                        break;
                    }
                    Act::Close => break,
                    Act::Silent => {
                        held.push(peer);
                        break;
                    }
                }
                received = peer.call().await;
            }
        }
    };
    tokio::select! {
        () = serving => {}
        _ = over => {}
    }
    calls
}

/// Each row of the table in `retry`, seen from a caller that has patience: how many calls the server
/// gets, and whether the last is answered.
#[tokio::test]
async fn every_row_of_the_table_through_the_channel() {
    const BUSY: &str = "org.apache.hadoop.ipc.RetriableException";
    const STANDBY: &str = "org.apache.hadoop.ipc.StandbyException";
    const NOT_READY: &str = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException";
    const NO: &str = "org.apache.hadoop.yarn.exceptions.YarnException";
    /// How many calls, and whether the last is answered.
    type Seen = (usize, bool);
    // (script, seen when idempotent, seen when at most once)
    let table: [(&[Act], Seen, Seen); 8] = [
        (&[Act::Error(BUSY), Act::Error(BUSY)], (3, true), (3, true)),
        (&[Act::Fatal(BUSY)], (2, true), (2, true)),
        (&[Act::Error(NOT_READY)], (2, true), (2, true)),
        (&[Act::Error(STANDBY)], (2, true), (2, true)),
        (&[Act::Error(NO)], (1, false), (1, false)),
        (&[Act::Close], (2, true), (1, false)),
        (&[Act::Close, Act::Close, Act::Close], (4, true), (1, false)),
        (&[Act::Silent], (2, true), (1, false)),
    ];
    for (script, idempotent, at_most_once) in table {
        for (idempotence, expected) in [(Idempotent, idempotent), (AtMostOnce, at_most_once)] {
            let (listener, address) = listen().await;
            let timing = Timing {
                patience: Duration::from_secs(5),
                call: Duration::from_millis(400),
                ..brisk()
            };
            let channel = Channel::new(PROTOCOL, vec![address], user()).with_timing(timing);
            let (over, stop) = tokio::sync::oneshot::channel();
            let parameter = text("q");
            let call = async {
                let called = channel.call("m", idempotence, &parameter, |_: TokenProto| Ok(()));
                let outcome = called.await;
                over.send(()).unwrap();
                outcome
            };
            let (outcome, calls) = tokio::join!(call, serve(&listener, script, stop));
            assert_eq!(
                (calls, outcome.is_ok()),
                expected,
                "{script:?} {idempotence:?}: {outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_stays_too_busy_is_given_up_in_its_own_words() {
    let (listener, address) = listen().await;
    let timing = Timing {
        patience: Duration::from_millis(300),
        ..brisk()
    };
    let channel = Channel::new(PROTOCOL, vec![address], user()).with_timing(timing);
    let (over, stop) = tokio::sync::oneshot::channel();
    let began = Instant::now();
    let call = async {
        let outcome = simple_call(&channel).await;
        over.send(()).unwrap();
        outcome
    };
    let script = [Act::Error("org.apache.hadoop.ipc.RetriableException"); 64];
    let (outcome, calls) = tokio::join!(call, serve(&listener, &script, stop));
    let error = outcome.unwrap_err();
    assert!(error.is("RetriableException"), "{error}");
    assert!(began.elapsed() < Duration::from_millis(600));
    // The pauses grow: 10, 20, 40, 80, 80 ms at most.
    assert!((4..=14).contains(&calls), "{calls} calls");
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
