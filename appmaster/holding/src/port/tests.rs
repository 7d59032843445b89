//! The port as others in the cluster see it: the test is the owner's loop on one side, and everybody
//! who may knock on the other.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::Duration;

use job::pass::Pass;
use job::sequence::Incoming;
use job::wire::launcher_event::Event as Said;
use job::wire::launcher_order::Order;
use job::wire::launchers_client::LaunchersClient;
use job::{secrets, wire};
use policy::ContainerId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status, Streaming};

use super::*;
use crate::container_event::ContainerEvent;
use crate::streams::Bringing;
use crate::test_keys::JobKeys;

/// Whatever is waited for comes within this time, or the test fails.
const SOON: Duration = Duration::from_secs(8);

/// What launchers bring and fetch, with the test at the other end.
#[derive(Debug)]
struct StreamEnds {
    brought: mpsc::Sender<wire::OutputChunk>,
    output: Mutex<Option<mpsc::Receiver<wire::OutputChunk>>>,
    input: Mutex<Option<mpsc::Sender<wire::InputChunk>>>,
    fetched: Mutex<Option<mpsc::Receiver<wire::InputChunk>>>,
}

impl StreamEnds {
    fn new() -> Self {
        let (brought, output) = mpsc::channel(16);
        let (input, fetched) = mpsc::channel(4);
        Self {
            brought,
            output: Mutex::new(Some(output)),
            input: Mutex::new(Some(input)),
            fetched: Mutex::new(Some(fetched)),
        }
    }
}

impl Streams for StreamEnds {
    fn open(self: Arc<Self>, _container: ContainerId, _job: u32) -> Option<Box<dyn Bringing>> {
        Some(Box::new(Brought {
            incoming: Incoming::default(),
            to: self.brought.clone(),
        }))
    }

    fn take_input(&self, _job: u32) -> Option<mpsc::Receiver<wire::InputChunk>> {
        self.fetched.lock().unwrap().take()
    }
}

#[derive(Debug)]
struct Brought {
    incoming: Incoming,
    to: mpsc::Sender<wire::OutputChunk>,
}

#[tonic::async_trait]
impl Bringing for Brought {
    fn taken(&self) -> u64 {
        self.incoming.taken()
    }

    fn is_new(&self, number: u64) -> bool {
        self.incoming.is_new(number) == Ok(true)
    }

    async fn take(&mut self, number: u64, chunk: wire::OutputChunk) {
        self.incoming.took(number);
        self.to.send(chunk).await.unwrap();
    }
}

struct PortBed {
    keys: JobKeys,
    address: SocketAddr,
    inbox: mpsc::Receiver<ContainerEvent>,
    port: Port,
    streams: Arc<StreamEnds>,
    leaving: CancellationToken,
}

impl PortBed {
    async fn open() -> Self {
        let keys = JobKeys::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, inbox) = mpsc::channel(64);
        let streams = Arc::new(StreamEnds::new());
        let leaving = CancellationToken::new();
        let doors = Doors {
            heard: ContainerEventSender::new(heard),
            streams: Arc::clone(&streams) as _,
            others: Routes::default(),
            tasks: TaskTracker::new(),
            leaving: leaving.clone(),
        };
        let place = BoundPort {
            listener,
            host: address.ip().to_string(),
            port: address.port(),
        };
        Self {
            port: Port::open(place, &keys.appmaster, doors, 4).unwrap(),
            keys,
            address,
            inbox,
            streams,
            leaving,
        }
    }

    /// A connection by TLS, with that certificate.
    async fn dial(
        &self,
        identity: Option<&(String, String)>,
    ) -> Result<Channel, tonic::transport::Error> {
        let mut tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.keys.appmaster.authority))
            .domain_name(secrets::APPMASTER_NAME);
        if let Some((certificate, key)) = identity {
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        let endpoint = Endpoint::from_shared(format!("https://{}", self.address))?;
        endpoint.tls_config(tls)?.connect().await
    }

    async fn launcher(&self) -> LaunchersClient<Channel> {
        LaunchersClient::new(self.dial(Some(&self.keys.launcher)).await.unwrap())
    }

    /// Who comes with that ticket becomes the launcher of that container.
    fn expect(&self, container: &str, ticket: &[u8]) {
        self.port
            .tickets
            .issue(ContainerId(container.into()), ticket.to_vec());
    }

    async fn heard(&mut self) -> ContainerEvent {
        timeout(SOON, self.inbox.recv()).await.unwrap().unwrap()
    }

    fn heard_nothing(&mut self) {
        assert!(self.inbox.try_recv().is_err());
    }

    /// A launcher that does everything right.
    async fn admits_a_launcher(&mut self) {
        self.expect("container_honest", b"honest");
        let (_said, orders) = join(&mut self.launcher().await, "container_honest", b"honest").await;
        assert!(orders.is_ok());
        match self.heard().await {
            ContainerEvent::Joined { container, .. } => {
                assert_eq!(container.0, "container_honest")
            }
            _ => panic!("something else was heard"),
        }
    }

    /// A connection that speaks TLS as a launcher, and then whatever the test wants.
    async fn raw(&self) -> TlsStream<TcpStream> {
        let certificate = |pem: &[u8]| CertificateDer::from_pem_slice(pem).unwrap();
        let mut roots = RootCertStore::empty();
        roots
            .add(certificate(&self.keys.appmaster.authority))
            .unwrap();
        let (own, key) = &self.keys.launcher;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate(own.as_bytes())], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = secrets::APPMASTER_NAME.try_into().unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await.unwrap()
    }
}

impl Drop for PortBed {
    fn drop(&mut self) {
        self.leaving.cancel();
    }
}

type Joined = Result<tonic::Response<Streaming<wire::LauncherOrder>>, Status>;

/// Says hello; what is kept open so that more can be said, and the answer.
async fn join(
    client: &mut LaunchersClient<Channel>,
    container: &str,
    ticket: &[u8],
) -> (mpsc::Sender<wire::LauncherEvent>, Joined) {
    join_as(client, container, ticket, &rand::random::<[u8; 16]>()).await
}

/// The same, as the launcher that is known by `life`.
async fn join_as(
    client: &mut LaunchersClient<Channel>,
    container: &str,
    ticket: &[u8],
    life: &[u8],
) -> (mpsc::Sender<wire::LauncherEvent>, Joined) {
    let (said, saying) = mpsc::channel(4);
    let hello = Said::Hello(wire::LauncherHello {
        build: job::BUILD.into(),
        container: container.into(),
        ticket: ticket.to_vec(),
        node: None,
        life: life.to_vec(),
    });
    let hello = wire::LauncherEvent {
        event: Some(hello),
        ..wire::LauncherEvent::default()
    };
    said.send(hello).await.unwrap();
    let answer = timeout(SOON, client.join(ReceiverStream::new(saying))).await;
    (said, answer.unwrap())
}

#[tokio::test]
async fn only_certificates_of_this_job_open_anything() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"ticket");
    let others = JobKeys::new();
    for identity in [None, Some(&others.launcher), Some(&others.client)] {
        // With TLS 1.3 a client hears of its refusal when it wants to say something.
        if let Ok(channel) = port.dial(identity).await {
            let mut client = LaunchersClient::new(channel);
            let (_said, answer) = join(&mut client, "container_1", b"ticket").await;
            assert!(answer.is_err(), "{identity:?}");
        }
    }
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn no_other_role_is_a_launcher() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"ticket");
    let mut wrong = LaunchersClient::new(port.dial(Some(&port.keys.client)).await.unwrap());
    let (_said, answer) = join(&mut wrong, "container_1", b"ticket").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn garbage_is_answered_by_a_closed_door() {
    let mut port = PortBed::open().await;
    let noise: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(),
        b"SSH-2.0-Elsewhere\r\n",
        b"\x16\x03\x01\xff\xff",
        &noise,
    ] {
        let mut stream = TcpStream::connect(port.address).await.unwrap();
        // It may close before all of it is said.
        let _said = stream.write_all(bytes).await.is_ok();
        stream.shutdown().await.ok();
        let mut rest = Vec::new();
        let _reset = timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
        assert!(rest.len() < 100, "an alert at most: {rest:?}");
    }
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn a_ticket_is_good_for_one_launcher_of_its_own_container() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    port.expect("container_2", b"two");
    let mut launcher = port.launcher().await;
    for (container, ticket) in [
        ("container_1", b"two".as_slice()),
        ("container_1", b""),
        ("container_3", b"one"),
    ] {
        let (_said, answer) = join(&mut launcher, container, ticket).await;
        let status = answer.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied);
        assert!(status.message().contains(container), "{status}");
    }
    port.heard_nothing();
    let (_said, answer) = join(&mut launcher, "container_1", b"one").await;
    assert!(answer.is_ok());
    assert!(matches!(port.heard().await, ContainerEvent::Joined { .. }));
    // Neither on its own link nor on another one.
    for mut second in [launcher, port.launcher().await] {
        let (_said, answer) = join(&mut second, "container_1", b"one").await;
        assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    }
    port.heard_nothing();
}

/// A call with what its caller shows of itself.
fn shown<T>(call: T, pass: Option<(&str, &[u8])>) -> Request<T> {
    let mut request = Request::new(call);
    if let Some((container, ticket)) = pass {
        Pass {
            container: container.into(),
            ticket: ticket.into(),
            job: 0,
        }
        .show(&mut request);
    }
    request
}

#[tokio::test]
async fn a_launcher_may_dial_again_and_nobody_else_in_its_name() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"life").await;
    let mut first = answer.unwrap().into_inner();
    let ContainerEvent::Joined { orders, .. } = port.heard().await else {
        panic!("something else was heard");
    };
    let (_said, answer) = join(&mut port.launcher().await, "container_1", b"one").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
    orders.say(Order::EndJob(wire::EndJob { job: 1 }));
    let greeting = first.message().await.unwrap().unwrap();
    let order = match greeting.order {
        None => first.message().await.unwrap().unwrap(),
        Some(_) => greeting,
    };
    assert_eq!(order.number, 1);
    // It was not acknowledged, so it comes again.
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"life").await;
    let again = answer.unwrap().into_inner().message().await;
    assert_eq!(again.unwrap().unwrap().order, order.order);
    orders.end();
    let (_said, answer) = join_as(&mut port.launcher().await, "container_1", b"one", b"life").await;
    assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test]
async fn orders_for_a_peer_that_reads_nothing_cost_the_loop_no_time_and_none_is_dropped() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    // It says hello and never reads the answer: behind its window everything stands still.
    let (_said, answer) = join(&mut port.launcher().await, "container_1", b"one").await;
    let _unread = answer.unwrap();
    let ContainerEvent::Joined { orders, .. } = port.heard().await else {
        panic!("something else was heard");
    };
    let piece = wire::FenceDone {
        puts: vec![0; 256 * 1024].into(),
        ..wire::FenceDone::default()
    };
    let piece = wire::MpiOrder {
        job: 0,
        order: Some(wire::mpi_order::Order::FenceDone(piece)),
    };
    let began = std::time::Instant::now();
    for _ in 0..1000 {
        orders.say(Order::Mpi(piece.clone()));
    }
    assert!(began.elapsed() < Duration::from_secs(1));
    match port.heard().await {
        ContainerEvent::Misbehaved { what, .. } => {
            assert!(what.starts_with("does not take its orders"), "{what}");
        }
        _ => panic!("something else was heard"),
    }
}

#[tokio::test]
async fn output_and_input_are_for_the_launcher_that_has_joined() {
    let mut port = PortBed::open().await;
    port.expect("container_1", b"one");
    port.expect("container_2", b"two");
    let mut launcher = port.launcher().await;
    let (_said, answer) = join(&mut launcher, "container_1", b"one").await;
    assert!(answer.is_ok());
    assert!(matches!(port.heard().await, ContainerEvent::Joined { .. }));
    let chunk = |number: u64, data: &'static [u8]| wire::OutputChunk {
        data: data.into(),
        number,
        ..wire::OutputChunk::default()
    };
    let words = || tokio_stream::iter([chunk(1, b"forged")]);
    let request = || tokio_stream::iter([wire::InputRequest::default()]);
    // Nobody; one that has not come yet; a guess; a name without its ticket.
    for pass in [
        None,
        Some(("container_2", b"two".as_slice())),
        Some(("container_1", b"two")),
        Some(("container_1", b"")),
    ] {
        let refused = launcher.output(shown(words(), pass)).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{pass:?}");
        let input = shown(request(), pass);
        let refused = launcher.input(input).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{pass:?}");
    }
    let own = Some(("container_1", b"one".as_slice()));
    let input = launcher.input(shown(request(), own)).await;
    assert!(input.is_ok());
    let mut taken = port.streams.output.lock().unwrap().take().unwrap();
    // One call breaks off, and the next brings again what it is not known to have brought.
    for said in [
        vec![chunk(1, b"one"), chunk(2, b"two")],
        vec![chunk(1, b"one"), chunk(2, b"two"), chunk(3, b"three")],
    ] {
        let call = shown(tokio_stream::iter(said), own);
        let mut answer = launcher.output(call).await.unwrap().into_inner();
        while timeout(SOON, answer.message())
            .await
            .unwrap()
            .unwrap()
            .is_some()
        {}
    }
    for expected in [b"one".as_slice(), b"two", b"three"] {
        assert_eq!(&taken.recv().await.unwrap().data[..], expected);
    }
    assert!(taken.try_recv().is_err());
    // What was not taken is given again, and nothing else.
    let to_rank = port.streams.input.lock().unwrap().take().unwrap();
    let given = |data: &'static [u8]| wire::InputChunk {
        data: data.into(),
        ..wire::InputChunk::default()
    };
    to_rank.send(given(b"1")).await.unwrap();
    to_rank.send(given(b"2")).await.unwrap();
    drop(to_rank);
    for (had, expected) in [(0, vec![1, 2]), (1, vec![2]), (1, vec![2])] {
        let request = wire::InputRequest {
            taken: had,
            ..wire::InputRequest::default()
        };
        let call = shown(tokio_stream::iter([request]), own);
        let mut input = launcher.input(call).await.unwrap().into_inner();
        let mut numbers = Vec::new();
        while let Some(chunk) = timeout(SOON, input.message()).await.unwrap().unwrap() {
            numbers.push(chunk.number);
        }
        assert_eq!(numbers, expected);
    }
}

/// One HTTP/2 frame. `length` may be a lie.
fn frame(length: u32, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// An honest frame.
fn whole(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(
        u32::try_from(payload.len()).unwrap(),
        kind,
        flags,
        stream,
        payload,
    )
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_HEADERS: u8 = 4;

/// The first bytes of a connection, and a call of `Join` on stream 1 up to its body.
fn call() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(whole(SETTINGS, 0, 0, &[]));
    // HPACK: names by their place in the static table or in full, values in full.
    let mut block = vec![0x83, 0x87];
    let mut text = |name: &[u8], value: &str| {
        block.extend(name);
        block.push(u8::try_from(value.len()).unwrap());
        block.extend(value.as_bytes());
    };
    text(&[0x04], "/gerbil.Launchers/Join");
    text(&[0x01], secrets::APPMASTER_NAME);
    text(&[0x0f, 0x10], "application/grpc");
    text(b"\x00\x02te", "trailers");
    bytes.extend(whole(HEADERS, END_HEADERS, 1, &block));
    bytes
}

/// Sends `bytes` and reads frames until one is of `kinds`; false: the connection ended without one.
async fn answered(port: &PortBed, bytes: &[u8], kinds: &[u8]) -> bool {
    let mut stream = port.raw().await;
    let _said = stream.write_all(bytes).await.is_ok();
    timeout(SOON, async {
        let mut head = [0; 9];
        while stream.read_exact(&mut head).await.is_ok() {
            if kinds.contains(&head[3]) {
                return true;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut rest = vec![0; usize::try_from(length).unwrap()];
            if stream.read_exact(&mut rest).await.is_err() {
                break;
            }
        }
        false
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_there() {
    let mut port = PortBed::open().await;
    // A message of 2 GiB, of which ten bytes come: refused by its announcement.
    let mut announced = call();
    let mut body = vec![0, 0x80, 0, 0, 0];
    body.extend([1; 10]);
    announced.extend(whole(DATA, 0, 1, &body));
    assert!(answered(&port, &announced, &[HEADERS, RESET]).await);
    // A frame of 16 MiB, where 16 KiB are the most.
    let mut frame_too_large = call();
    frame_too_large.extend(frame(0x00ff_ffff, DATA, 0, 1, &[0; 1000]));
    assert!(answered(&port, &frame_too_large, &[GOAWAY]).await);
    // Headers without an end.
    let mut headers = call();
    let endless = whole(9, 0, 3, &[0; 16_000]);
    headers.extend(whole(HEADERS, 0, 3, &[]));
    for _ in 0..100 {
        headers.extend(&endless);
    }
    assert!(answered(&port, &headers, &[GOAWAY, RESET]).await);
    // No HTTP/2 at all, inside TLS.
    let _closed = answered(&port, &[0xff; 100_000], &[GOAWAY]).await;
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn ten_megabytes_of_hello_are_no_hello() {
    let mut port = PortBed::open().await;
    let mut launcher = port.launcher().await;
    let long = "x".repeat(10_000_000);
    let (_said, answer) = join(&mut launcher, &long, b"ticket").await;
    let status = answer.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn a_peer_that_never_says_hello_is_not_waited_for() {
    let mut port = PortBed::open().await;
    let (_said, saying) = mpsc::channel::<wire::LauncherEvent>(1);
    let mut launcher = port.launcher().await;
    let waited = timeout(
        Duration::from_secs(30),
        launcher.join(ReceiverStream::new(saying)),
    );
    let status = waited.await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    port.admits_a_launcher().await;
}
