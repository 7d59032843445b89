//! What launchers call: links that outlive their connections, output, input.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use job::pass::Pass;
use job::resumable::Resumable;
use job::sequence::Bounds;
use job::wire::launcher_event::Event as Told;
use job::wire::launcher_order::Order as Said;
use job::wire::launchers_server::Launchers;
use job::wire::{InputChunk, InputRequest, LauncherEvent, LauncherOrder, OutputChunk, OutputTaken};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::Link;

/// What was printed, by job, rank and stream number.
pub type Printed = BTreeMap<(u32, u32, i32), Vec<u8>>;

/// Streams of output that ranks have begun, and how many of them have ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountedStreams {
    pub begun: u32,
    pub ended: u32,
    /// Calls that have brought any.
    pub calls: u32,
}

/// A chunk without data that is not an end alone, and how many bytes of its stream came before it.
pub type Mark = (usize, OutputChunk);

/// What serves calls that have been answered.
pub type Tasks = Mutex<JoinSet<()>>;

/// What the scripted ApplicationMaster keeps for a launcher.
const BOUNDS: Bounds = Bounds {
    count: 4096,
    bytes: usize::MAX,
};

/// The conversation with one launcher, over one link after another.
pub struct Talk {
    pub said: Resumable<Said>,
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

/// What the ApplicationMaster serves.
pub struct Service {
    pub links: mpsc::Sender<Link>,
    pub lives: Mutex<BTreeMap<Vec<u8>, Arc<Talk>>>,
    /// By container and job, the last chunk of output that was taken.
    pub taken: Mutex<BTreeMap<(String, u32), Arc<AtomicU64>>>,
    /// Jobs whose output nobody reads.
    pub standing: watch::Receiver<BTreeSet<u32>>,
    pub printed: Arc<Mutex<Printed>>,
    pub ended: Arc<Mutex<BTreeSet<(u32, u32, i32)>>>,
    pub marks: Arc<Mutex<Vec<Mark>>>,
    pub largest: Arc<Mutex<usize>>,
    pub reading: watch::Receiver<bool>,
    pub streams: Arc<watch::Sender<CountedStreams>>,
    /// By job.
    pub inputs: Inputs,
    pub tasks: Tasks,
}

/// The input of each job.
pub type Inputs = Arc<Mutex<BTreeMap<u32, Resumable<InputChunk>>>>;

pub fn input_of(inputs: &Inputs, job: u32) -> Resumable<InputChunk> {
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
