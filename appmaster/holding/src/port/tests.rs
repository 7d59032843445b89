//! The port as others in the cluster see it: the test is the owner's loop on one side, and everybody
//! who may knock on the other.

mod admission;
mod bounds;
mod conversation;

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
        Some(Box::new(BroughtOutput {
            incoming: Incoming::default(),
            to: self.brought.clone(),
        }))
    }

    fn take_input(&self, _job: u32) -> Option<mpsc::Receiver<wire::InputChunk>> {
        self.fetched.lock().unwrap().take()
    }
}

#[derive(Debug)]
struct BroughtOutput {
    incoming: Incoming,
    to: mpsc::Sender<wire::OutputChunk>,
}

#[tonic::async_trait]
impl Bringing for BroughtOutput {
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
        Self::with_room(64).await
    }

    /// The loop takes so many events before it comes to hear them.
    async fn with_room(places: usize) -> Self {
        let keys = JobKeys::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, inbox) = mpsc::channel(places);
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
