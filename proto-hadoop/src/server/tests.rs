//! Peers that break the rules, against a real port.

use std::sync::Arc;
use std::time::Duration;

use credentials::Token;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::time::timeout;

use super::*;
use crate::rpc::message::{self, Response};
use crate::yarn::{
    AllocateRequest, AllocateResponse, Counted, FinalApplicationStatus, Registration, Resource,
};
use crate::{AppAttemptId, ApplicationId, ApplicationMasterClient, Timing};

const SOON: Duration = Duration::from_secs(5);

/// A scheduler that grants nothing, to whoever has a token of its key.
struct Scheduler(MasterKey);

impl Keyring for Scheduler {
    fn password(&self, identifier: &[u8]) -> Result<Vec<u8>, Refusal> {
        let read = AmRmIdentifier::read(identifier);
        let token = read.map_err(|error| Refusal::invalid_token(error.to_string()))?;
        match token.key == self.0.id {
            true => Ok(self.0.sign(identifier)),
            false => Err(Refusal::invalid_token(format!("no key {}", token.key))),
        }
    }
}

impl ApplicationMasterService for Scheduler {
    fn register(&self, _token: &[u8], call: RegisterCall) -> Result<Registration, Refusal> {
        Ok(Registration {
            maximum: Resource::new(1024, 1),
            queue: call.host,
            counted: Counted::MemoryAndCpu,
            resource_types: Vec::new(),
            previous_containers: Vec::new(),
            nm_tokens: Vec::new(),
        })
    }

    fn allocate(&self, _token: &[u8], call: AllocateCall) -> Result<AllocateAnswer, Refusal> {
        Ok(AllocateAnswer {
            response_id: call.response_id + 1,
            response: AllocateResponse::default(),
            token: None,
        })
    }

    fn finish(&self, _token: &[u8], call: FinishCall) -> Result<bool, Refusal> {
        Ok(call.status == FinalApplicationStatus::Succeeded)
    }
}

fn attempt() -> AppAttemptId {
    AppAttemptId {
        application: ApplicationId {
            cluster_timestamp: 1,
            id: 1,
        },
        attempt: 1,
    }
}

async fn scheduler(door: impl FnOnce(Arc<Scheduler>) -> Door) -> (Server, Token) {
    let key = MasterKey::generate(1);
    let token = AmRmIdentifier::token(attempt(), &key);
    let service = Arc::new(Scheduler(key));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let protocol = Protocol::application_master(Arc::clone(&service));
    let server = Server::start(listener, protocol, door(service), Faults::default()).unwrap();
    (server, token)
}

async fn behind_tokens() -> (Server, Token) {
    scheduler(|keyring| Door::Token(keyring)).await
}

/// Sends these bytes and returns all that comes until the server closes.
async fn talk(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let closed = timeout(SOON, stream.read_to_end(&mut answer))
        .await
        .unwrap();
    // A server that closes with bytes unread resets the connection.
    let _reset = closed.is_err();
    answer
}

/// Class and words of a refusal of the whole connection.
fn refusal(answer: &[u8]) -> (i32, String, String) {
    let body = bytes::Bytes::copy_from_slice(&answer[4..]);
    let response = Response::decode(body).unwrap();
    let (class, words, _) = response.words();
    (response.call(), class, words)
}

#[tokio::test]
async fn a_client_that_has_a_token_is_served_in_plain_types() {
    let (server, token) = behind_tokens().await;
    let address = server.address().to_string();
    let client = ApplicationMasterClient::new(vec![address], token);
    let registration = client.register("here", None, "").await.unwrap();
    assert_eq!(
        (registration.queue.as_str(), registration.counted),
        ("here", Counted::MemoryAndCpu)
    );
    client.allocate(AllocateRequest::default()).await.unwrap();
    let status = FinalApplicationStatus::Succeeded;
    client.finish(status, "", "").await.unwrap();
    assert_eq!(client.protection().await, Some("authentication"));
    server.stop().await;
}

#[tokio::test]
async fn a_token_of_another_key_is_refused_in_the_keyrings_words() {
    let (server, _) = behind_tokens().await;
    let token = AmRmIdentifier::token(attempt(), &MasterKey::generate(9));
    let address = server.address().to_string();
    let client = ApplicationMasterClient::new(vec![address], token);
    let error = client.register("here", None, "").await.unwrap_err();
    assert!(error.to_string().contains("no key 9"), "{error}");
}

#[tokio::test]
async fn a_name_does_not_open_a_door_for_tokens() {
    let (server, _) = behind_tokens().await;
    let (call, class, words) = refusal(&talk(&server, b"hrpc\x09\x00\x00").await);
    assert_eq!(call, -1);
    assert!(class.ends_with("AccessControlException"), "{class}");
    assert_eq!(
        words,
        "SIMPLE authentication is not enabled.  Available:[TOKEN]"
    );
}

#[tokio::test]
async fn other_versions_and_other_protocols_are_not_served() {
    let (server, _) = scheduler(|_| Door::User).await;
    let (_, class, words) = refusal(&talk(&server, b"hrpc\x08\x00\x00").await);
    assert!(class.ends_with("VersionMismatch"), "{class}");
    assert!(words.contains("client version 8"), "{words}");
    assert_eq!(talk(&server, b"GET / HTTP/1.1\r\n\r\n").await, b"");
    let (_, _, words) = refusal(&talk(&server, b"hrpc\x09\x00\x42").await);
    assert!(words.contains("0x42"), "{words}");
}

#[tokio::test]
async fn a_process_of_another_user_is_shown_out() {
    let (server, _) = scheduler(|_| Door::User).await;
    let hello = "printf 'hrpc\\x09\\x00\\x00' >&3; cat <&3";
    let address = server.address();
    let script = format!(
        "exec 3<>/dev/tcp/{}/{}; {hello}",
        address.ip(),
        address.port()
    );
    let ask = |user: Option<u32>| {
        let mut command = Command::new("bash");
        command.args(["-c", &script]).kill_on_drop(true);
        if let Some(user) = user {
            command.uid(user);
        }
        command
    };
    // One of ours is waited for: it is to go on.
    let waited = timeout(Duration::from_millis(500), ask(None).output()).await;
    assert!(waited.is_err(), "{waited:?}");
    let output = timeout(SOON, ask(Some(65534)).output()).await.unwrap();
    let output = match output {
        // Only root can speak as somebody else.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return,
        output => output.unwrap(),
    };
    let (_, class, words) = refusal(&output.stdout);
    assert!(class.ends_with("AccessControlException"), "{class}");
    assert!(words.contains("no others"), "{words}");
}

#[tokio::test]
async fn lengths_that_lie_and_bytes_that_mean_nothing_end_the_connection_alone() {
    let (server, token) = behind_tokens().await;
    for nonsense in [
        &b"hrpc\x09\x00\xdf\xff\xff\xff\xff"[..],
        b"hrpc\x09\x00\xdf\x00\x00\x00\x02\xff\xff",
        b"hrpc\x09\x00\xdf\x00\x00\x00\x00",
    ] {
        assert_eq!(talk(&server, nonsense).await, b"");
    }
    // A call before the log-in.
    let mut early = b"hrpc\x09\x00\xdf".to_vec();
    let request = message::Request {
        client: message::ClientId([7; 16]),
        protocol: "p",
        method: "m",
        parameter: &[],
    };
    early.extend(request.frame(0));
    let (_, _, words) = refusal(&talk(&server, &early).await);
    assert!(words.contains("not established"), "{words}");
    let address = server.address().to_string();
    let client = ApplicationMasterClient::new(vec![address], token);
    client.register("still", None, "").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_does_not_log_in_is_shown_out() {
    let (server, _) = behind_tokens().await;
    for begin in [&b""[..], b"hrpc", b"hrpc\x09\x00\xdf\x00\x00"] {
        let began = tokio::time::Instant::now();
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(begin).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"");
        let took = began.elapsed();
        assert!(took <= LOG_IN + Duration::from_secs(1), "{took:?}");
    }
}

#[tokio::test]
async fn a_stopped_server_ends_its_connections() {
    let (server, token) = behind_tokens().await;
    let address = server.address().to_string();
    let client = ApplicationMasterClient::new(vec![address], token).with_timing(Timing {
        call: Duration::from_secs(2),
        ..Timing::default()
    });
    client.register("here", None, "").await.unwrap();
    timeout(SOON, server.stop()).await.unwrap();
    let error = client
        .allocate(AllocateRequest::default())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("nothing listens there"),
        "{error}"
    );
}
