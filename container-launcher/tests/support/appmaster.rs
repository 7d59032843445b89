//! The scripted ApplicationMaster.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use job::resumable::Resumable;
use job::transport;
use job::wire::InputChunk;
use job::wire::launchers_server::LaunchersServer;
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tonic::Status;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use super::keys::Keys;
use super::service::{CountedStreams, Inputs, Mark, Printed, Service, Tasks, input_of};
use super::{Link, within};

/// The scripted ApplicationMaster. It listens behind a relay that can be frozen or cut.
pub struct Appmaster {
    /// The folder of the application on its only node, with those of its containers.
    pub application: TempDir,
    pub(super) address: String,
    pub(super) keys: Keys,
    links: mpsc::Receiver<Link>,
    pub printed: Arc<Mutex<Printed>>,
    /// Streams whose last chunk has come: job, rank and stream number.
    pub ended: Arc<Mutex<BTreeSet<(u32, u32, i32)>>>,
    pub marks: Arc<Mutex<Vec<Mark>>>,
    pub largest: Arc<Mutex<usize>>,
    pub reading: watch::Sender<bool>,
    /// Jobs whose output nobody reads.
    pub standing: watch::Sender<BTreeSet<u32>>,
    pub streams: watch::Receiver<CountedStreams>,
    /// Of job 0.
    pub input: mpsc::Sender<Result<InputChunk, Status>>,
    inputs: Inputs,
    relay: watch::Sender<Relay>,
    tasks: JoinSet<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Relay {
    Open,
    /// The other side is silent, but the connection stands.
    Frozen,
    /// The same of those that there are; what is made from now on is open.
    Stale,
    /// Connections are broken as soon as they are made.
    Cut,
    /// The same, and nobody listens any more.
    Gone,
}

impl Appmaster {
    pub async fn start() -> Self {
        let keys = Keys::new();
        let (links_to, links) = mpsc::channel(16);
        let (streams_to, streams) = watch::channel(CountedStreams::default());
        let (reading, is_reading) = watch::channel(true);
        let (input, mut input_from) = mpsc::channel(4);
        let inputs = Inputs::default();
        let input_kept = input_of(&inputs, 0);
        let (standing, stands) = watch::channel(BTreeSet::new());
        let ended = Arc::default();
        let (relay, state) = watch::channel(Relay::Open);
        let printed = Arc::<Mutex<Printed>>::default();
        let (largest, marks) = (Arc::default(), Arc::default());
        let service = Service {
            links: links_to,
            lives: Mutex::default(),
            taken: Mutex::default(),
            printed: Arc::clone(&printed),
            ended: Arc::clone(&ended),
            standing: stands,
            marks: Arc::clone(&marks),
            largest: Arc::clone(&largest),
            reading: is_reading,
            streams: Arc::new(streams_to),
            inputs: Arc::clone(&inputs),
            tasks: Tasks::default(),
        };
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(&keys.appmaster.0, &keys.appmaster.1))
            .client_ca_root(Certificate::from_pem(&keys.authority));
        let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let inner_address = inner.local_addr().unwrap();
        let outer = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = outer.local_addr().unwrap().to_string();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(chunk) = input_from.recv().await {
                input_kept.room().await;
                let chunk: Result<InputChunk, Status> = chunk;
                input_kept.push(chunk.unwrap(), 1);
            }
            input_kept.finish();
        });
        tasks.spawn(async move {
            Server::builder()
                .tls_config(tls)
                .unwrap()
                .initial_stream_window_size(transport::STREAM_WINDOW)
                .initial_connection_window_size(transport::connection_window(
                    transport::STREAM_WINDOW,
                ))
                .serve_with_incoming(
                    LaunchersServer::new(service).max_decoding_message_size(transport::MESSAGE_MAX),
                    TcpIncoming::from(inner).with_nodelay(Some(true)),
                )
                .await
                .unwrap();
        });
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            let mut listens = state.clone();
            loop {
                let accepted = tokio::select! {
                    accepted = outer.accept() => accepted,
                    _ = listens.wait_for(|&state| state == Relay::Gone) => return,
                };
                let (mut from, _) = accepted.unwrap();
                from.set_nodelay(true).unwrap();
                let mut state = state.clone();
                let begun = *state.borrow();
                connections.spawn(async move {
                    let mut to = TcpStream::connect(inner_address).await.unwrap();
                    to.set_nodelay(true).unwrap();
                    let is_open = |state: Relay| match state {
                        Relay::Open => true,
                        Relay::Stale => begun == Relay::Stale,
                        Relay::Frozen | Relay::Cut | Relay::Gone => false,
                    };
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                        _ = state.wait_for(|&state| !is_open(state)) => {}
                    }
                    let stands = |state: &Relay| matches!(state, Relay::Frozen | Relay::Stale);
                    state.wait_for(|state| !stands(state)).await.ok();
                });
            }
        });
        Self {
            application: tempfile::tempdir().unwrap(),
            address,
            keys,
            links,
            printed,
            ended,
            marks,
            largest,
            reading,
            standing,
            streams,
            input,
            inputs,
            relay,
            tasks,
        }
    }

    pub fn relay(&self, state: Relay) {
        self.relay.send(state).unwrap();
    }

    /// The next launcher that says hello.
    pub async fn link(&mut self) -> Link {
        within(self.links.recv()).await.unwrap()
    }

    /// What a rank printed on standard output, once all output is there.
    pub async fn stdout(&mut self, rank: u32) -> String {
        self.all_output().await;
        self.so_far(rank, 0)
    }

    pub async fn all_output(&mut self) {
        let all = |streams: &CountedStreams| streams.ended == streams.begun;
        within(self.streams.wait_for(all)).await.unwrap();
    }

    pub fn so_far(&self, rank: u32, stream: i32) -> String {
        self.so_far_of(0, rank, stream)
    }

    /// The same of a rank of any job.
    pub fn so_far_of(&self, job: u32, rank: u32, stream: i32) -> String {
        let printed = self.printed.lock().unwrap();
        let bytes = printed.get(&(job, rank, stream)).cloned();
        String::from_utf8(bytes.unwrap_or_default()).unwrap()
    }

    /// What a rank of a job printed on standard output, once all of that is there.
    pub async fn stdout_of(&self, job: u32, rank: u32) -> String {
        within(async {
            while !self.ended.lock().unwrap().contains(&(job, rank, 0)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        self.so_far_of(job, rank, 0)
    }

    /// The input of a job: what is pushed, until it is finished.
    pub fn input_of(&self, job: u32) -> Resumable<InputChunk> {
        input_of(&self.inputs, job)
    }
}
