//! A session's ApplicationMaster that does what its jobs' first argument says: `echo`, `exit`, `hold`, `deaf`,
//! `wait`, `lost` (the link alone) or `gone` (nothing is answered from then on). A MapReduce job says it in the setting `fake.does`; without it, it ends well, with an output of
//! one line. Who watches a detached job sees one that is over, or, where it is to `hold`, runs for ever.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use follow::keys::JobKeys;
use job::wire::client_order::Order;
use job::wire::clients_server::{Clients, ClientsServer};
use job::wire::job_event::Event;
use job::wire::{self, phase::Kind};
use job::{MapReduceJob, MpiJob, TasksReport};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

/// What clients have said, in words and in order.
pub type Transcript = Arc<Mutex<Vec<String>>>;

/// What everything that others name and say is called in its answers; empty: as usual.
pub type Words = Arc<Mutex<String>>;

type Chunk = Result<wire::OutputChunk, Status>;

struct FakeJob {
    does: String,
    detached: bool,
    output: Option<mpsc::Sender<Chunk>>,
    taker: Option<mpsc::Receiver<Chunk>>,
    input: Option<oneshot::Sender<Vec<u8>>>,
    read: Option<oneshot::Receiver<Vec<u8>>>,
}

/// The service.
#[derive(Default)]
pub struct Fake {
    pub heard: Transcript,
    pub submissions: Arc<Mutex<Vec<wire::Submission>>>,
    pub words: Words,
    jobs: Arc<Mutex<BTreeMap<u32, FakeJob>>>,
    running: Mutex<JoinSet<()>>,
    is_gone: AtomicBool,
}

/// One that serves.
pub struct Serving {
    pub keys: JobKeys,
    pub port: u16,
    pub heard: Transcript,
    pub submissions: Arc<Mutex<Vec<wire::Submission>>>,
    pub words: Words,
    _server: JoinSet<()>,
}

pub async fn serve() -> Serving {
    let keys = JobKeys::generate().unwrap();
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(
            &keys.appmaster.certificate,
            &keys.appmaster.key,
        ))
        .client_ca_root(Certificate::from_pem(&keys.authority));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let fake = Fake::default();
    let (heard, submissions) = (Arc::clone(&fake.heard), Arc::clone(&fake.submissions));
    let words = Arc::clone(&fake.words);
    let serving = Server::builder()
        .tls_config(tls)
        .unwrap()
        .add_service(ClientsServer::new(fake))
        .serve_with_incoming(TcpIncoming::from(listener));
    let mut server = JoinSet::new();
    server.spawn(async move { serving.await.unwrap() });
    Serving {
        keys,
        port,
        heard,
        submissions,
        words,
        _server: server,
    }
}

fn event(event: Event) -> Result<wire::JobEvent, Status> {
    Ok(wire::JobEvent { event: Some(event) })
}

fn verdict(
    exit_code: i32,
    state: wire::FinalState,
    sentence: &str,
) -> Result<wire::JobEvent, Status> {
    event(Event::Verdict(wire::Verdict {
        exit_code,
        state: state.into(),
        sentence: sentence.into(),
        ..wire::Verdict::default()
    }))
}

/// Of a MapReduce job.
fn counted(exit_code: i32, sentence: &str) -> Result<wire::JobEvent, Status> {
    let report = TasksReport {
        counters: BTreeMap::from([(
            "Map-Reduce Framework".to_owned(),
            BTreeMap::from([("Map input records".to_owned(), 3)]),
        )]),
        maps: 2,
        tasks_ms: 1230,
        ..TasksReport::default()
    };
    event(Event::Verdict(wire::Verdict {
        exit_code,
        state: match exit_code {
            0 => wire::FinalState::Succeeded.into(),
            _ => wire::FinalState::Failed.into(),
        },
        sentence: sentence.into(),
        tasks: serde_json::to_string(&report).unwrap(),
        ..wire::Verdict::default()
    }))
}

/// Makes an output folder, whose parent is to be there.
fn output_of_tasks(path: &str) -> std::io::Result<()> {
    std::fs::create_dir(path)?;
    std::fs::write(format!("{path}/part-r-00000"), "a\t2\n")?;
    std::fs::write(format!("{path}/_SUCCESS"), "")
}

fn phase(kind: Kind, note: &str) -> Result<wire::JobEvent, Status> {
    event(Event::Phase(wire::Phase {
        kind: kind.into(),
        note: note.into(),
        ..wire::Phase::default()
    }))
}

fn printed(data: &[u8], stream: wire::Stream) -> Chunk {
    Ok(wire::OutputChunk {
        data: data.to_vec().into(),
        stream: stream.into(),
        host: "n1".into(),
        run: 1,
        ..wire::OutputChunk::default()
    })
}

type Events = mpsc::Sender<Result<wire::JobEvent, Status>>;

/// Until an order to end the job; whether one came before the client left.
async fn killed(orders: &mut Streaming<wire::ClientOrder>, heard: &Transcript, job: u32) -> bool {
    while let Ok(Some(order)) = orders.message().await {
        if let Some(Order::Kill(kill)) = order.order {
            heard
                .lock()
                .unwrap()
                .push(format!("kill {job} {:?}", kill.reason()));
            return true;
        }
    }
    heard.lock().unwrap().push(format!("left {job}"));
    false
}

/// One job from its first client to its verdict.
async fn run(
    number: u32,
    does: String,
    outgoing: mpsc::Sender<Chunk>,
    read: oneshot::Receiver<Vec<u8>>,
    mut orders: Streaming<wire::ClientOrder>,
    events: Events,
    heard: Transcript,
) {
    let _told = events
        .send(phase(Kind::WaitingForRoom, "waits for 2 slots: 1 free"))
        .await;
    if does == "wait" {
        killed(&mut orders, &heard, number).await;
        drop(outgoing);
        let end = verdict(143, wire::FinalState::Killed, "ended before it ran");
        let _told = events.send(end).await;
        return;
    }
    let _told = events.send(phase(Kind::Running, "")).await;
    if let Some(output) = does.strip_prefix("tasks:") {
        drop(output_of_tasks(output));
        let half = wire::TasksPhase {
            maps: 2,
            maps_done: 1,
            ..wire::TasksPhase::default()
        };
        let _told = events.send(event(Event::Tasks(half))).await;
        drop(outgoing);
        let _told = events.send(counted(0, "")).await;
        killed(&mut orders, &heard, number).await;
        return;
    }
    let output = outgoing;
    let up = printed(b"up\n", wire::Stream::Stdout);
    let end = match does.as_str() {
        "echo" => {
            let input = read.await.unwrap_or_default();
            let _printed = output.send(printed(&input, wire::Stream::Stdout)).await;
            verdict(0, wire::FinalState::Succeeded, "")
        }
        "fail" => counted(1, "map 1 failed: line 3 is no number"),
        "exit" => {
            let _printed = output.send(up).await;
            let _printed = output.send(printed(b"oh no\n", wire::Stream::Stderr)).await;
            verdict(
                3,
                wire::FinalState::Failed,
                "rank 0 on n1 exited with code 3",
            )
        }
        "hold" => {
            let _printed = output.send(up).await;
            killed(&mut orders, &heard, number).await;
            verdict(137, wire::FinalState::Killed, "the job was interrupted")
        }
        "deaf" => {
            let _printed = output.send(up).await;
            while killed(&mut orders, &heard, number).await {}
            return;
        }
        _ => {
            let _printed = output.send(up).await;
            let gone = Status::unavailable("the connection was reset");
            let _told = output.send(Err(gone.clone())).await;
            let _told = events.send(Err(gone)).await;
            return;
        }
    };
    drop(output);
    let _told = events.send(end).await;
    // In a session nothing is unregistered, and the link is the client's to close.
    killed(&mut orders, &heard, number).await;
}

/// What there is to read of a job of tasks.
fn listed(host: &str, failed: &str) -> wire::TaskLog {
    let attempt = |reduce, task, attempt, state: &str, host: &str| wire::LoggedAttempt {
        reduce,
        task,
        attempt,
        host: host.into(),
        state: state.into(),
    };
    wire::TaskLog {
        attempts: vec![
            attempt(false, 0, 1, "running", host),
            attempt(true, 2, 0, failed, "n2"),
        ],
        left_out: 7,
        ..wire::TaskLog::default()
    }
}

/// What a detached job has printed: something of each of two ranks, with a gap between.
fn kept(request: &wire::OutputRequest, does: &str) -> Pin<Box<dyn Stream<Item = Chunk> + Send>> {
    let mut end = printed(b"end\n", wire::Stream::Stdout).unwrap();
    end.rank = 1;
    let gap = wire::OutputChunk {
        left_out: 7,
        ..wire::OutputChunk::default()
    };
    let begin = printed(b"up\n", wire::Stream::Stdout);
    if let Some(rank) = request.rank {
        let of_rank = [begin, Ok(end)].into_iter();
        let of_rank = of_rank.filter(move |chunk| chunk.as_ref().unwrap().rank == rank);
        return Box::pin(tokio_stream::iter(of_rank));
    }
    match does == "hold" && !request.so_far {
        true => Box::pin(tokio_stream::once(begin).chain(tokio_stream::pending())),
        false => Box::pin(tokio_stream::iter([begin, Ok(gap), Ok(end)])),
    }
}

impl Fake {
    /// What is usually said, or the words of the test.
    fn or(&self, usual: &str) -> String {
        let words = self.words.lock().unwrap();
        match words.is_empty() {
            true => usual.to_owned(),
            false => words.clone(),
        }
    }

    /// The words of the test, if there are any.
    fn said(&self) -> Option<String> {
        Some(self.or("")).filter(|words| !words.is_empty())
    }

    async fn watch(
        &self,
        hello: &wire::ClientHello,
        mut orders: Streaming<wire::ClientOrder>,
    ) -> Result<Response<ReceiverStream<Result<wire::JobEvent, Status>>>, Status> {
        let job = hello.job;
        let does = {
            let jobs = self.jobs.lock().unwrap();
            let job = jobs.get(&job).filter(|job| job.detached);
            let none = || Status::not_found("there is no such job");
            job.ok_or_else(none)?.does.clone()
        };
        if hello.input && does != "echo" {
            return Err(Status::failed_precondition("its standard input is empty"));
        }
        let (events, outgoing) = mpsc::channel(8);
        let _told = events.send(phase(Kind::Running, "")).await;
        let heard = Arc::clone(&self.heard);
        let failed = self.or("rank 0 on n1 exited with code 3");
        self.running.lock().unwrap().spawn(async move {
            if does != "hold" {
                let end = verdict(3, wire::FinalState::Failed, &failed);
                let _told = events.send(end).await;
            }
            killed(&mut orders, &heard, job).await;
        });
        Ok(Response::new(ReceiverStream::new(outgoing)))
    }
}

#[tonic::async_trait]
impl Clients for Fake {
    type AttachStream = ReceiverStream<Result<wire::JobEvent, Status>>;
    type OutputStream = Pin<Box<dyn Stream<Item = Chunk> + Send>>;

    async fn attach(
        &self,
        request: Request<Streaming<wire::ClientOrder>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let mut orders = request.into_inner();
        let Some(Order::Hello(hello)) = orders.message().await?.and_then(|order| order.order)
        else {
            return Err(Status::invalid_argument(
                "the first message must be a hello",
            ));
        };
        assert_eq!(hello.build, job::BUILD);
        self.heard
            .lock()
            .unwrap()
            .push(format!("attach {}", hello.job));
        if hello.watches {
            return self.watch(&hello, orders).await;
        }
        let (events, outgoing) = mpsc::channel(8);
        let mut jobs = self.jobs.lock().unwrap();
        let Some(job) = jobs.get_mut(&hello.job) else {
            return Err(Status::not_found("there is no such job"));
        };
        let (output, read) = (job.output.take().unwrap(), job.read.take().unwrap());
        let (does, heard) = (job.does.clone(), Arc::clone(&self.heard));
        if does == "gone" {
            self.is_gone.store(true, Ordering::Release);
        }
        let running = run(hello.job, does, output, read, orders, events, heard);
        self.running.lock().unwrap().spawn(running);
        Ok(Response::new(ReceiverStream::new(outgoing)))
    }

    async fn output(
        &self,
        request: Request<wire::OutputRequest>,
    ) -> Result<Response<Self::OutputStream>, Status> {
        let request = request.into_inner();
        let number = request.job;
        let mut jobs = self.jobs.lock().unwrap();
        if let Some(job) = jobs.get(&number).filter(|job| job.detached) {
            return Ok(Response::new(kept(&request, &job.does)));
        }
        if request.so_far {
            return Err(Status::failed_precondition("nothing is kept of this job"));
        }
        let taken = jobs.get_mut(&number).and_then(|job| job.taker.take());
        let taken = taken.ok_or_else(|| Status::not_found("there is no such job"))?;
        Ok(Response::new(Box::pin(ReceiverStream::new(taken))))
    }

    async fn input(
        &self,
        request: Request<Streaming<wire::InputChunk>>,
    ) -> Result<Response<wire::InputTaken>, Status> {
        let number = job::pass::job_shown(request.metadata());
        let number = number.ok_or_else(|| Status::invalid_argument("whose input is this?"))?;
        let input = {
            let mut jobs = self.jobs.lock().unwrap();
            jobs.get_mut(&number).and_then(|job| job.input.take())
        };
        let input = input.ok_or_else(|| Status::not_found("there is no such job"))?;
        let mut chunks = request.into_inner();
        let mut all = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            all.extend_from_slice(&chunk.data);
            if chunk.last {
                let _read = input.send(all).is_ok();
                return Ok(Response::new(wire::InputTaken {}));
            }
        }
        Err(Status::aborted("the input has broken off"))
    }

    async fn submit(
        &self,
        request: Request<wire::Submission>,
    ) -> Result<Response<wire::Submitted>, Status> {
        let submission = request.into_inner();
        let does = match &submission.kind {
            Some(wire::submission::Kind::Mpi(mpi)) => {
                let mpi: MpiJob = serde_json::from_slice(mpi).unwrap();
                let does = mpi.programs[0].args.first().cloned().unwrap_or_default();
                if does == "large" {
                    return Err(Status::failed_precondition(format!(
                        "{} slots are wanted, and the session has 2",
                        mpi.processes()
                    )));
                }
                does
            }
            Some(wire::submission::Kind::Mapreduce(job)) => {
                let job: MapReduceJob = serde_json::from_slice(job).unwrap();
                let does = job.settings.get("fake.does").map_or("", String::as_str);
                if does == "large" {
                    return Err(Status::failed_precondition("a task does not fit"));
                }
                match does {
                    "" => format!("tasks:{}", job.output.path),
                    does => does.to_owned(),
                }
            }
            None => return Err(Status::unimplemented("another kind of job")),
        };
        let (output, taker) = mpsc::channel(8);
        let (input, read) = oneshot::channel();
        let mut jobs = self.jobs.lock().unwrap();
        let detached = submission.detached;
        // Numbers that no other thing has by chance.
        let job = 7 + u32::try_from(jobs.len()).unwrap();
        self.submissions.lock().unwrap().push(submission);
        jobs.insert(
            job,
            FakeJob {
                does,
                detached,
                output: Some(output),
                taker: Some(taker),
                input: Some(input),
                read: Some(read),
            },
        );
        Ok(Response::new(wire::Submitted { job }))
    }

    async fn nodes(
        &self,
        _request: Request<wire::NodesRequest>,
    ) -> Result<Response<wire::SessionNodes>, Status> {
        let node = wire::SessionNode {
            container: "container_1700000000000_0042_01_000002".into(),
            host: self.or("n2"),
            slots: 2,
            differences: self.said().into_iter().collect(),
            ..wire::SessionNode::default()
        };
        Ok(Response::new(wire::SessionNodes { nodes: vec![node] }))
    }

    async fn timeline(
        &self,
        _request: Request<wire::TimelineRequest>,
    ) -> Result<Response<wire::SessionTimeline>, Status> {
        let span = wire::SessionSpan {
            job: 7,
            name: "cpi".into(),
            host: "n1".into(),
            slots: 2,
            began_ms: 1000,
            ended_ms: 3000,
            how: wire::session_span::How::Done.into(),
            ..wire::SessionSpan::default()
        };
        Ok(Response::new(wire::SessionTimeline {
            spans: vec![span],
            now_ms: 9000,
            left_out: 4,
        }))
    }

    async fn read_task_log(
        &self,
        request: Request<wire::TaskLogRequest>,
    ) -> Result<Response<wire::TaskLog>, Status> {
        let request = request.into_inner();
        let Some(task) = request.task else {
            return match request.job {
                5 => Ok(Response::new(listed(&self.or("n1"), &self.or("failed")))),
                _ => Err(Status::failed_precondition("it has ranks")),
            };
        };
        if task > 3 {
            return Err(Status::not_found("the job has no such task"));
        }
        let stream = |text: String, left_out| wire::PrintedStream {
            head: text.into(),
            left_out,
            tail: Vec::new(),
        };
        Ok(Response::new(wire::TaskLog {
            attempt: request.attempt.unwrap_or(2),
            host: "n1".into(),
            stdout: Some(stream(format!("{task} of {}\n", request.job), 5)),
            stderr: Some(stream(format!("reduce {}\n", request.reduce), 0)),
            ..wire::TaskLog::default()
        }))
    }

    async fn kill_job(
        &self,
        request: Request<wire::JobKill>,
    ) -> Result<Response<wire::JobKilled>, Status> {
        let job = request.into_inner().job;
        self.heard.lock().unwrap().push(format!("kill {job}"));
        match self.jobs.lock().unwrap().contains_key(&job) {
            true => Ok(Response::new(wire::JobKilled {})),
            false => Err(Status::not_found("there is no such job")),
        }
    }

    async fn status(
        &self,
        _request: Request<wire::StatusRequest>,
    ) -> Result<Response<wire::SessionStatus>, Status> {
        if self.is_gone.load(Ordering::Acquire) {
            return Err(Status::unavailable("it is gone"));
        }
        let held = wire::SessionContainer {
            container: "container_1_0001_01_000002".into(),
            host: self.or("n1"),
            slots: 2,
            lent: 1,
            leaves: self.or(""),
        };
        let named = self.or("");
        let job = |number| wire::SessionJob {
            job: number,
            name: named.clone(),
            user: named.clone(),
            queue: named.clone(),
            waits: named.clone(),
            ..wire::SessionJob::default()
        };
        let kept = wire::EndedJob {
            job: 3,
            name: named.clone(),
            exit_code: 9,
            sentence: named.clone(),
            has_tasks: false,
        };
        let is_usual = named.is_empty();
        let jobs = (4..6).filter(|_| !is_usual).map(job).collect();
        let kept = std::iter::once(kept).filter(|_| !is_usual).collect();
        let unreached = std::iter::once(named.clone())
            .filter(|_| !is_usual)
            .collect();
        Ok(Response::new(wire::SessionStatus {
            name: "night".into(),
            policy: "fifo".into(),
            containers: vec![held],
            ended: 3,
            jobs,
            kept,
            unreached,
            asking: named,
            ..wire::SessionStatus::default()
        }))
    }

    async fn stop_session(
        &self,
        request: Request<wire::SessionStop>,
    ) -> Result<Response<wire::SessionStopping>, Status> {
        let now = request.into_inner().now;
        self.heard.lock().unwrap().push(format!("stop now={now}"));
        Ok(Response::new(wire::SessionStopping { jobs: 0 }))
    }
}
