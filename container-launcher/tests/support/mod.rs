//! An ApplicationMaster that does what a test says, and real launchers that dial it.

#![allow(dead_code, reason = "each test file uses its part of this")]

pub mod door;
pub mod tasks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use credentials::Credentials;
use job::element::Scan;
use job::pass::Pass;
use job::resumable::Resumable;
use job::sequence::Bounds;
use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::launchers_server::{Launchers, LaunchersServer};
use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::{
    EndJob, InputChunk, InputRequest, KeyValue, LauncherEvent, LauncherHello, LauncherOrder, Leave,
    MpiEvent, MpiOrder, OutputChunk, OutputTaken, Program, RankEnded, RankUsage, Share, Stop,
};
use job::{LauncherContext, Role, secrets, transport};
use policy::MiB;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

/// Longer than anything takes that works, keepalive aside.
pub const PATIENCE: Duration = Duration::from_secs(60);

struct Keys {
    authority: String,
    appmaster: (String, String),
    launcher: (String, String),
    client: (String, String),
}

impl Keys {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let signed = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new([name.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            (certificate.pem(), key.serialize_pem())
        };
        Self {
            appmaster: signed(secrets::APPMASTER_NAME),
            launcher: signed("launcher.gerbil"),
            client: signed(secrets::CLIENT_NAME),
            authority: authority.pem(),
        }
    }
}

/// What was printed, by job, rank and stream number.
pub type Printed = BTreeMap<(u32, u32, i32), Vec<u8>>;

/// Streams of output that ranks have begun, and how many of them have ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Streams {
    pub begun: u32,
    pub ended: u32,
    /// Calls that have brought any.
    pub calls: u32,
}

/// A chunk without data that is not an end alone, and how many bytes of its stream came before it.
pub type Mark = (usize, OutputChunk);

/// What serves calls that have been answered.
type Tasks = Mutex<JoinSet<()>>;

/// What the scripted ApplicationMaster keeps for a launcher.
const BOUNDS: Bounds = Bounds {
    count: 4096,
    bytes: usize::MAX,
};

/// The conversation with one launcher, over one link after another.
struct Talk {
    said: Resumable<Said>,
    events: mpsc::Sender<Told>,
}

impl Talk {
    /// Carries it over a fresh link.
    fn begin(
        self: Arc<Self>,
        taken: u64,
        mut events: Streaming<LauncherEvent>,
        orders: mpsc::Sender<Result<LauncherOrder, Status>>,
        tasks: &Tasks,
    ) {
        let mut tasks = tasks.lock().unwrap();
        let mut messages = self.said.open(true);
        self.said.resume(taken).unwrap();
        tasks.spawn(async move {
            while let Some(message) = messages.next().await {
                let order = LauncherOrder {
                    number: message.number,
                    taken: message.taken,
                    clock: message.clock,
                    order: message.what,
                };
                if orders.send(Ok(order)).await.is_err() {
                    break;
                }
            }
        });
        tasks.spawn(async move {
            while let Ok(Some(said)) = events.message().await {
                self.said.acknowledge(said.taken).unwrap();
                if let Some(event) = said.event
                    && self.said.is_new(said.number).unwrap()
                {
                    self.events.send(event).await.ok();
                    self.said.took(said.number, 0);
                }
                if said.clock > 0 {
                    self.said.remind(said.clock);
                }
            }
            // So that a test sees the end of a launcher.
            self.said.close();
        });
    }
}

struct Service {
    links: mpsc::Sender<Link>,
    lives: Mutex<BTreeMap<Vec<u8>, Arc<Talk>>>,
    /// By container and job, the last chunk of output that was taken.
    taken: Mutex<BTreeMap<(String, u32), Arc<AtomicU64>>>,
    /// Jobs whose output nobody reads.
    standing: watch::Receiver<BTreeSet<u32>>,
    printed: Arc<Mutex<Printed>>,
    ended: Arc<Mutex<BTreeSet<(u32, u32, i32)>>>,
    marks: Arc<Mutex<Vec<Mark>>>,
    largest: Arc<Mutex<usize>>,
    reading: watch::Receiver<bool>,
    streams: Arc<watch::Sender<Streams>>,
    /// By job.
    inputs: Inputs,
    tasks: Tasks,
}

/// The input of each job.
type Inputs = Arc<Mutex<BTreeMap<u32, Resumable<InputChunk>>>>;

fn input_of(inputs: &Inputs, job: u32) -> Resumable<InputChunk> {
    let new = || {
        Resumable::new(Bounds {
            count: 8,
            bytes: usize::MAX,
        })
    };
    let mut inputs = inputs.lock().unwrap();
    inputs.entry(job).or_insert_with(new).clone()
}

#[tonic::async_trait]
impl Launchers for Service {
    type JoinStream = ReceiverStream<Result<LauncherOrder, Status>>;
    type OutputStream = ReceiverStream<Result<OutputTaken, Status>>;
    type InputStream = ReceiverStream<Result<InputChunk, Status>>;

    async fn join(
        &self,
        request: Request<Streaming<LauncherEvent>>,
    ) -> Result<Response<Self::JoinStream>, Status> {
        let mut events = request.into_inner();
        let first = events.message().await?.unwrap_or_default();
        let taken = first.taken;
        let Some(Told::Hello(hello)) = first.event else {
            return Err(Status::invalid_argument("hello comes first"));
        };
        if hello.build == "refused" || hello.ticket != b"ticket" {
            return Err(Status::permission_denied("wrong ticket"));
        }
        let (orders, stream) = mpsc::channel(64);
        let was_there = {
            let mut lives = self.lives.lock().unwrap();
            let was_there = lives.get(&hello.life).cloned();
            was_there.unwrap_or_else(|| {
                let (events, heard) = mpsc::channel(1024);
                let talk = Arc::new(Talk {
                    said: Resumable::new(BOUNDS),
                    events,
                });
                lives.insert(hello.life.clone(), Arc::clone(&talk));
                let link = Link {
                    hello,
                    heard,
                    aside: VecDeque::new(),
                    talk: Arc::clone(&talk),
                    streams: Arc::clone(&self.streams),
                };
                // The test may have as many launchers as the queue has places.
                self.links.try_send(link).ok().unwrap();
                talk
            })
        };
        was_there.begin(taken, events, orders, &self.tasks);
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn output(
        &self,
        request: Request<Streaming<OutputChunk>>,
    ) -> Result<Response<Self::OutputStream>, Status> {
        let pass = Pass::shown(request.metadata());
        let pass = pass.ok_or_else(|| Status::permission_denied("who are you?"))?;
        assert_eq!(pass.ticket, b"ticket");
        let mut chunks = request.into_inner();
        let (mut reading, mut standing) = (self.reading.clone(), self.standing.clone());
        let job = pass.job;
        self.streams.send_modify(|streams| streams.calls += 1);
        let (acknowledge, acknowledged) = mpsc::channel(1);
        let taken = {
            let mut taken = self.taken.lock().unwrap();
            Arc::clone(taken.entry((pass.container, job)).or_default())
        };
        let already = taken.load(Ordering::SeqCst);
        acknowledge
            .try_send(Ok(OutputTaken { taken: already }))
            .unwrap();
        let (streams, largest) = (Arc::clone(&self.streams), Arc::clone(&self.largest));
        let (printed, marks) = (Arc::clone(&self.printed), Arc::clone(&self.marks));
        let ended = Arc::clone(&self.ended);
        self.tasks.lock().unwrap().spawn(async move {
            loop {
                reading.wait_for(|&reading| reading).await.unwrap();
                let reads = |standing: &BTreeSet<u32>| !standing.contains(&job);
                standing.wait_for(reads).await.unwrap();
                let Ok(Some(chunk)) = chunks.message().await else {
                    break;
                };
                let number = chunk.number;
                if taken.fetch_max(number, Ordering::SeqCst) >= number {
                    continue;
                }
                {
                    let mut largest = largest.lock().unwrap();
                    *largest = chunk.data.len().max(*largest);
                    let mut printed = printed.lock().unwrap();
                    let place = printed.entry((job, chunk.rank, chunk.stream)).or_default();
                    place.extend(&chunk.data);
                    if chunk.end {
                        streams.send_modify(|streams| streams.ended += 1);
                        ended
                            .lock()
                            .unwrap()
                            .insert((job, chunk.rank, chunk.stream));
                    } else if chunk.data.is_empty() {
                        marks.lock().unwrap().push((place.len(), chunk));
                    }
                }
                // A call that is gone is not told any more.
                let said = OutputTaken { taken: number };
                if acknowledge.send(Ok(said)).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(acknowledged)))
    }

    async fn input(
        &self,
        requests: Request<Streaming<InputRequest>>,
    ) -> Result<Response<Self::InputStream>, Status> {
        let pass = Pass::shown(requests.metadata());
        let pass = pass.ok_or_else(|| Status::permission_denied("who are you?"))?;
        let input = input_of(&self.inputs, pass.job);
        let mut requests = requests.into_inner();
        let first = requests.message().await?.unwrap_or_default();
        let mut messages = input.open(false);
        input.resume(first.taken).unwrap();
        let (chunks, stream) = mpsc::channel(1);
        self.tasks.lock().unwrap().spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                input.acknowledge(request.taken).unwrap();
                if request.closed {
                    input.finish();
                }
            }
        });
        self.tasks.lock().unwrap().spawn(async move {
            while let Some(message) = messages.next().await {
                let chunk = InputChunk {
                    number: message.number,
                    ..message.what.unwrap_or_default()
                };
                if chunks.send(Ok(chunk)).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// The scripted ApplicationMaster. It listens behind a relay that can be frozen or cut.
pub struct Appmaster {
    /// The folder of the application on its only node, with those of its containers.
    pub application: TempDir,
    address: String,
    keys: Keys,
    links: mpsc::Receiver<Link>,
    pub printed: Arc<Mutex<Printed>>,
    /// Streams whose last chunk has come: job, rank and stream number.
    pub ended: Arc<Mutex<BTreeSet<(u32, u32, i32)>>>,
    pub marks: Arc<Mutex<Vec<Mark>>>,
    pub largest: Arc<Mutex<usize>>,
    pub reading: watch::Sender<bool>,
    /// Jobs whose output nobody reads.
    pub standing: watch::Sender<BTreeSet<u32>>,
    pub streams: watch::Receiver<Streams>,
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
        let (streams_to, streams) = watch::channel(Streams::default());
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

    /// Starts a launcher with these files in its working directory.
    pub fn launcher(&self, files: &[(&str, &str)]) -> Launcher {
        self.launcher_with_ticket(files, b"ticket")
    }

    pub fn launcher_with_ticket(&self, files: &[(&str, &str)], ticket: &[u8]) -> Launcher {
        self.launcher_by(Command::new(binary()), files, ticket)
    }

    /// One that may have so many files open, unless it raises that.
    pub fn launcher_with_open_files(&self, most: u32, files: &[(&str, &str)]) -> Launcher {
        let mut shell = Command::new("sh");
        let limited = format!("ulimit -Sn {most}; exec \"$0\" \"$@\"");
        shell.arg("-c").arg(limited).arg(binary());
        self.launcher_by(shell, files, b"ticket")
    }

    /// A container with these files, as YARN would leave it to a launcher.
    pub fn container(&self, files: &[(&str, &str)], ticket: &[u8]) -> Container {
        self.container_with(files, ticket, None, MiB(0))
    }

    fn container_with(
        &self,
        files: &[(&str, &str)],
        ticket: &[u8],
        scan: Option<Scan>,
        memory: MiB,
    ) -> Container {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = format!("container_{}_0001_01_{number:06}", std::process::id());
        let folder = tempfile::tempdir_in(self.application.path()).unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        let context = LauncherContext {
            build: job::BUILD.to_owned(),
            appmaster: self.address.clone(),
            container: id.clone(),
            ticket: ticket.to_vec(),
            links: Vec::new(),
            memory,
            ports: None,
            interface: None,
            scan,
        };
        let mut credentials = Credentials::default();
        for (alias, value) in [
            (secrets::CONTEXT, serde_json::to_string(&context).unwrap()),
            (secrets::AUTHORITY, self.keys.authority.clone()),
            (secrets::CERTIFICATE, self.keys.launcher.0.clone()),
            (secrets::KEY, self.keys.launcher.1.clone()),
        ] {
            credentials.secrets.insert(alias.to_owned(), value.into());
        }
        let tokens = folder.path().join("container_tokens");
        std::fs::write(&tokens, credentials.write()).unwrap();
        Container { id, folder }
    }

    /// Starts a launcher that looks for elements so.
    pub fn launcher_that_scans(&self, scan: Option<Scan>) -> Launcher {
        let container = self.container_with(&[], b"ticket", scan, MiB(0));
        Self::launcher_in(Command::new(binary()), container)
    }

    /// Starts a launcher in a container of so much memory.
    pub fn launcher_with_memory(&self, memory: MiB) -> Launcher {
        let container = self.container_with(&[], b"ticket", None, memory);
        Self::launcher_in(Command::new(binary()), container)
    }

    fn launcher_by(&self, command: Command, files: &[(&str, &str)], ticket: &[u8]) -> Launcher {
        Self::launcher_in(command, self.container(files, ticket))
    }

    fn launcher_in(mut command: Command, container: Container) -> Launcher {
        let Container { id, folder } = container;
        let child = command
            .arg(Role::ContainerLauncher.argument())
            .current_dir(folder.path())
            .env("CONTAINER_ID", &id)
            .env(
                "HADOOP_TOKEN_FILE_LOCATION",
                folder.path().join("container_tokens"),
            )
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("stderr")).unwrap())
            .spawn()
            .unwrap();
        Launcher {
            child,
            container: id,
            folder,
        }
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
        let all = |streams: &Streams| streams.ended == streams.begun;
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

/// The control link of one launcher.
pub struct Link {
    pub hello: LauncherHello,
    heard: mpsc::Receiver<Told>,
    /// Heard while something else was waited for.
    aside: VecDeque<Told>,
    talk: Arc<Talk>,
    streams: Arc<watch::Sender<Streams>>,
}

impl Link {
    /// Orders something of the job that the application was started for.
    pub async fn order(&self, order: Order) {
        self.order_of(0, order).await;
    }

    /// Orders something of a job.
    pub async fn order_of(&self, job: u32, order: Order) {
        let order = MpiOrder {
            job,
            order: Some(order),
        };
        self.say(Said::Mpi(order)).await;
    }

    pub async fn say(&self, order: Said) {
        let bytes = order.encoded_len();
        self.talk.said.push(order, bytes);
    }

    /// Ends the present link; the launcher may come by another.
    pub fn hang_up(&self) {
        self.talk.said.close();
    }

    /// What is ordered from now on waits until the launcher has come by another link.
    pub fn has_link(&self) -> bool {
        self.talk.said.is_open()
    }

    /// The next of ranks that is neither a sample nor a remark.
    pub async fn event(&mut self) -> Event {
        match self.told().await {
            Told::Mpi(MpiEvent {
                job: 0,
                event: Some(event),
            }) => event,
            other => panic!("{other:?}"),
        }
    }

    /// The next of the ranks of a job that is neither a sample nor a remark; what else is heard meanwhile
    /// comes later.
    pub async fn event_of(&mut self, job: u32) -> Event {
        let is_of = |told: &Told| matches!(told, Told::Mpi(of) if of.job == job);
        match self.told_that(is_of).await {
            Told::Mpi(MpiEvent {
                event: Some(event), ..
            }) => event,
            other => panic!("{other:?}"),
        }
    }

    /// The next like this that is neither a sample nor a remark; what else is heard meanwhile comes later.
    pub async fn told_that(&mut self, is_it: impl Fn(&Told) -> bool) -> Told {
        let mut others = VecDeque::new();
        loop {
            let told = self.told().await;
            if is_it(&told) {
                others.append(&mut self.aside);
                self.aside = others;
                return told;
            }
            others.push_back(told);
        }
    }

    /// The next that is neither a sample nor a remark.
    pub async fn told(&mut self) -> Told {
        if let Some(told) = self.aside.pop_front() {
            return told;
        }
        loop {
            let told = within(self.heard.recv()).await.unwrap();
            let of_ranks = match &told {
                Told::Mpi(told) => told.event.as_ref(),
                _ => None,
            };
            match of_ranks {
                Some(Event::Usages(_) | Event::Seen(_)) => {}
                Some(Event::Started(started)) => {
                    let begun = started.streams;
                    self.streams.send_modify(|streams| streams.begun += begun);
                    return told;
                }
                _ => return told,
            }
        }
    }

    /// The next sample of the ranks.
    pub async fn usages(&mut self) -> Vec<RankUsage> {
        loop {
            let told = within(self.heard.recv()).await.unwrap();
            if let Told::Mpi(MpiEvent { event, .. }) = told
                && let Some(Event::Usages(sampled)) = event
            {
                return sampled.usages;
            }
        }
    }

    /// Orders the share and waits until it runs.
    pub async fn run(&mut self, share: Share) {
        self.order(Order::Share(share)).await;
        match self.event().await {
            Event::Started(started) => assert!(started.at_us > 0),
            other => panic!("{other:?}"),
        }
    }

    /// The same for a job.
    pub async fn run_of(&mut self, job: u32, share: Share) {
        self.order_of(job, Order::Share(share)).await;
        match self.event_of(job).await {
            Event::Started(started) => assert!(started.at_us > 0),
            other => panic!("{other:?}"),
        }
    }

    /// Ends a job and waits until it is over.
    pub async fn end_job(&mut self, job: u32) {
        self.say(Said::EndJob(EndJob { job })).await;
        let left = |told: &Told| matches!(told, Told::JobLeft(left) if left.job == job);
        self.told_that(left).await;
    }

    /// The next event, which is the end of a rank.
    pub async fn ended(&mut self) -> RankEnded {
        match self.event().await {
            Event::Ended(ended) => ended,
            other => panic!("{other:?}"),
        }
    }

    pub async fn stop(&self, grace_ms: u32) {
        self.order(Order::Stop(Stop { grace_ms })).await;
    }

    /// The end of the next rank of a job to end.
    pub async fn ended_of(&mut self, job: u32) -> RankEnded {
        match self.event_of(job).await {
            Event::Ended(ended) => ended,
            other => panic!("{other:?}"),
        }
    }

    pub async fn leave(&self) {
        self.say(Said::Leave(Leave {})).await;
    }
}

/// What YARN makes for a launcher.
pub struct Container {
    pub id: String,
    /// With the file of credentials, `container_tokens`.
    pub folder: TempDir,
}

/// A launcher process; killed when dropped.
pub struct Launcher {
    pub child: Child,
    pub container: String,
    pub folder: TempDir,
}

impl Launcher {
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub async fn exit(&mut self) -> ExitStatus {
        within(async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    /// Waits until a file appears in the working directory and returns what is in it.
    pub async fn file(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        within(async {
            loop {
                match std::fs::read_to_string(&path) {
                    Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        })
        .await
    }

    /// Waits until no process of the container is left, the launcher aside.
    pub async fn nothing_left(&self) {
        within(async {
            while !self.processes().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// Waits until no process of the container is left but those that the launcher itself has started.
    pub async fn only_its_own(&self) {
        within(async {
            while self.processes().len() > 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// Live processes that carry the container's mark, the launcher aside.
    pub fn processes(&self) -> Vec<i32> {
        let mark = format!("CONTAINER_ID={}", self.container);
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|&pid: &i32| pid != self.pid())
            .filter(|pid| {
                let environment = std::fs::read(format!("/proc/{pid}/environ"));
                environment
                    .unwrap_or_default()
                    .split(|&byte| byte == 0)
                    .any(|entry| entry == mark.as_bytes())
            })
            .collect()
    }

    /// A line of /proc/PID/status, KiB.
    pub fn status_kib(&self, line: &str) -> u64 {
        status_kib(self.pid(), line)
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub fn status_kib(pid: i32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|found| found.strip_prefix(line));
    let number = line.unwrap().trim_matches(|c: char| !c.is_ascii_digit());
    number.parse().unwrap()
}

/// Alive, and no zombie.
pub fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

/// A share of `ranks` of a job of `size`, running `program`.
pub fn share(size: u32, ranks: &[u32], program: &str) -> Share {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    Share {
        size,
        ranks: ranks.to_vec(),
        programs: vec![Program {
            processes: size,
            file: program.to_owned(),
            ..Program::default()
        }],
        process_mapping: pmi::process_mapping(&[size]),
        kvs_name: format!(
            "kvs_{}_{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        ),
        ..Share::default()
    }
}

/// The same with arguments and further environment.
pub fn with(mut share: Share, args: &[&str], environment: &[(&str, &str)]) -> Share {
    for program in &mut share.programs {
        program.args = args.iter().map(|&arg| arg.to_owned()).collect();
        let pairs = environment.iter().map(|&(key, value)| KeyValue {
            key: key.to_owned(),
            value: value.to_owned(),
        });
        program.environment = pairs.collect();
    }
    share
}

pub async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("nothing happened for too long")
}

/// The launcher.
pub fn binary() -> PathBuf {
    example("launcher")
}

/// Cargo builds examples beside the tests.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples").join(name)
}
