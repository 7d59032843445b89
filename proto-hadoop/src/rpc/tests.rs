//! Connections and channels against scripted servers.

mod channels;
mod opening;
mod retries;

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

use super::calls::CallFailure;
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
    let parameter = prost::Message::encode_to_vec(&text(method));
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
            Miss::Failed(CallFailure::End(Disconnect::Fatal { class, message })) => {
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
        Miss::Failed(CallFailure::End(Disconnect::Io(error))) => {
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
