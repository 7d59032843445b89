//! What a launcher does between hello and leave: one loop over everything that can happen.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use job::Seat;
use job::exit::Exit;
use job::wire::launcher_event::Event;
use job::wire::launcher_order::Order;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{
    Abort, Fence, KeyValue, LauncherEvent, LauncherHello, LauncherOrder, PmiSeen, RankBroke,
    RankUsages, RanksStarted, Refusal, Share, Stop,
};
use nix::sys::signal::Signal;
use pmi::{Effect, Job, NodeServer, Stage};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::dial::{self, DialError};
use crate::errand::{Done, Errands};
use crate::gpus::{self, Devices};
use crate::nursery::Nursery;
use crate::pmi_socket::Heard;
use crate::ranks::{self, Ranks};
use crate::samples::{self, Look, Sent};
use crate::seat::Place;
use crate::warden::Warden;
use crate::{node_facts, program};

/// The AM answers hello at once.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
/// PMI lines of all ranks that wait for an answer.
const HEARD: usize = 64;
/// Events handed to the connection; those that wait before it are bounded by the ranks: a fence, an
/// abort and an end of each.
const SENDING: usize = 8;

/// Why a launcher leaves without having been told to.
#[derive(Debug, Error)]
pub(crate) enum LifeError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("cannot watch signals: {source}")]
    Signals { source: std::io::Error },
    #[error("the ApplicationMaster at {address} refuses this launcher: {cause}")]
    Refused { address: String, cause: String },
    #[error("the ApplicationMaster at {address} is lost ({cause}); its ranks here are killed")]
    Lost { address: String, cause: String },
    #[error("the ApplicationMaster at {address} sent an order that makes no sense: {what}")]
    Confused { address: String, what: &'static str },
    #[error("ended by a signal; the ranks here are killed")]
    Terminated,
}

impl LifeError {
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Dial(_) => Exit::Unavailable,
            Self::Terminated => Exit::Killed,
            _ => Exit::Lost,
        }
    }
}

/// Signals that end a launcher; YARN sends the first and 250 ms later SIGKILL.
struct Endings {
    term: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Endings {
    fn watch() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Lives until the AM says leave; the answer is the exit code. The caller kills what still runs.
pub(crate) async fn live(
    place: Place,
    nursery: &Nursery,
    warden: &Warden,
) -> Result<u8, LifeError> {
    let signals = |source| LifeError::Signals { source };
    let mut endings = Endings::watch().map_err(signals)?;
    let mut children = signal(SignalKind::child()).map_err(signals)?;
    let joined = tokio::select! {
        joined = join(&place) => joined?,
        () = endings.next() => return Err(LifeError::Terminated),
    };
    let Joined {
        client,
        events,
        mut orders,
    } = joined;
    let (heard_by, heard) = mpsc::channel(HEARD);
    let mut life = Life {
        seat: place.seat,
        nursery,
        warden,
        client,
        heard_by,
        heard,
        outbox: VecDeque::new(),
        share: None,
        groups: BTreeMap::new(),
        stop_at: None,
        stopping: false,
        sampling: Sampling::Idle,
        sent: Sent::default(),
        errands: Errands::new(),
        tasks: JoinSet::new(),
    };
    loop {
        let due = life.groups.values().filter_map(|r| r.ranks.next_report());
        let report_at = due.min();
        tokio::select! {
            () = endings.next() => return Err(LifeError::Terminated),
            order = orders.message() => match order {
                Ok(Some(LauncherOrder { order: Some(Order::Leave(_)) })) => {
                    return Ok(Exit::Success.code());
                }
                Ok(Some(LauncherOrder { order: Some(order) })) => life.on_order(order).await?,
                // An order of no kind that this build knows cannot come from the same build.
                Ok(Some(LauncherOrder { order: None })) => {
                    return Err(life.confused("it is empty"));
                }
                Ok(None) => return Err(life.lost("it closed the link")),
                Err(status) => return Err(life.lost(&words(&status))),
            },
            _ = children.recv() => {
                let ended = nursery.reap().await;
                life.on_ended(ended).await;
            }
            Some((rank, heard)) = life.heard.recv() => life.on_heard(rank, heard).await,
            permit = events.reserve(), if !life.outbox.is_empty() => match permit {
                Ok(permit) => {
                    let event = life.outbox.pop_front();
                    permit.send(LauncherEvent { event });
                }
                Err(_) => return Err(life.lost("it does not listen any more")),
            },
            () = until(life.stop_at) => life.sweep().await,
            () = until(report_at) => life.report(),
            look = life.sampling.next() => life.sample(look),
            done = life.errands.next() => life.on_errand(done).await,
            Some(_) = life.tasks.join_next(), if !life.tasks.is_empty() => {}
        }
    }
}

struct Joined {
    client: LaunchersClient<Channel>,
    events: mpsc::Sender<LauncherEvent>,
    orders: Streaming<LauncherOrder>,
}

/// Dials and says hello.
async fn join(place: &Place) -> Result<Joined, LifeError> {
    let mut client = dial::dial(place).await?;
    let refused = |cause| LifeError::Refused {
        address: place.seat.appmaster.clone(),
        cause,
    };
    let (events, sending) = mpsc::channel(SENDING);
    let hello = LauncherHello {
        build: job::BUILD.to_owned(),
        container: place.seat.container.clone(),
        ticket: place.seat.ticket.clone(),
        node: Some(node_facts::read()),
    };
    let hello = LauncherEvent {
        event: Some(Event::Hello(hello)),
    };
    // The queue is new and has room.
    drop(events.try_send(hello));
    let join = client.join(ReceiverStream::new(sending));
    let orders = match tokio::time::timeout(HELLO_TIMEOUT, join).await {
        Ok(Ok(answer)) => answer.into_inner(),
        Ok(Err(status)) => return Err(refused(words(&status))),
        Err(_) => {
            let seconds = HELLO_TIMEOUT.as_secs();
            return Err(refused(format!("no answer to hello in {seconds} s")));
        }
    };
    Ok(Joined {
        client,
        events,
        orders,
    })
}

/// Ranks of this container that have one `MPI_COMM_WORLD`. Everything else calls them by their
/// number in the job, `node` alone by their rank.
pub(crate) struct Running {
    pub(crate) group: u32,
    /// Number of the group's rank 0.
    pub(crate) first: u32,
    pub(crate) node: NodeServer,
    pub(crate) ranks: Ranks,
    /// The ApplicationMaster has been told that ranks are in MPI_Init.
    pub(crate) pmi_seen: bool,
    /// Pieces of what all ranks have put, until the last one is there.
    pub(crate) pieces: Vec<pmi::Pair>,
}

pub(crate) struct Life<'a> {
    pub(crate) seat: Seat,
    pub(crate) nursery: &'a Nursery,
    pub(crate) warden: &'a Warden,
    pub(crate) client: LaunchersClient<Channel>,
    pub(crate) heard_by: mpsc::Sender<(u32, Heard)>,
    heard: mpsc::Receiver<(u32, Heard)>,
    pub(crate) outbox: VecDeque<Event>,
    /// What the job's own ranks were started with.
    pub(crate) share: Option<Share>,
    /// Those ranks, from the share on, as group 0; and those that were spawned.
    pub(crate) groups: BTreeMap<u32, Running>,
    /// When patience with the ranks ends.
    stop_at: Option<Instant>,
    stopping: bool,
    sampling: Sampling,
    sent: Sent,
    errands: Errands,
    pub(crate) tasks: JoinSet<()>,
}

/// Where the sampling of the ranks is.
enum Sampling {
    /// There are no ranks.
    Idle,
    /// The next look is due then.
    Due(Instant),
    /// The ranks are being looked at.
    Looking(oneshot::Receiver<Look>),
}

impl Sampling {
    /// Until a look is due (`None`) or there. May be dropped and called again.
    async fn next(&mut self) -> Option<Look> {
        match self {
            Self::Idle => std::future::pending().await,
            Self::Due(at) => {
                tokio::time::sleep_until(*at).await;
                None
            }
            Self::Looking(answer) => answer.await.ok(),
        }
    }
}

impl Life<'_> {
    fn lost(&self, cause: &str) -> LifeError {
        LifeError::Lost {
            address: self.seat.appmaster.clone(),
            cause: cause.to_owned(),
        }
    }

    fn confused(&self, what: &'static str) -> LifeError {
        LifeError::Confused {
            address: self.seat.appmaster.clone(),
            what,
        }
    }

    async fn on_order(&mut self, order: Order) -> Result<(), LifeError> {
        match order {
            Order::Share(share) => {
                if !self.all_ended() || self.errands.is_restoring() {
                    return Err(self.confused("a share while ranks run"));
                }
                if self.share.is_some() {
                    // Neither should be left what the run before has started.
                    self.sweep().await;
                    self.forget();
                }
                match share.checkpoint_folder.is_empty() {
                    true => self.begin_with(share).await,
                    false => self.errands.restore(Box::new(share)),
                }
            }
            Order::Find(find) => self.errands.find(find),
            Order::Move(order) => self.errands.carry(order),
            Order::Checkpoint(checkpoint) => {
                let pids = self.nursery.pids().await;
                self.errands.checkpoint(checkpoint, pids);
            }
            Order::FenceDone(done) => {
                let Some(puts) = done.values() else {
                    return Err(self.confused("values that cannot be read"));
                };
                if let Some(running) = self.groups.get_mut(&done.group) {
                    running.pieces.extend(puts);
                    if !done.more {
                        let puts = std::mem::take(&mut running.pieces);
                        let effects = running.node.fence_done(puts);
                        self.on_effects(done.group, effects).await;
                    }
                }
            }
            Order::Name(answer) => self.on_name_answer(answer).await,
            Order::Spawned(answer) => self.on_spawn_answer(answer).await,
            Order::Group(group) => self.start_group(group).await,
            Order::EndGroup(end) => self.end_group(end.group).await,
            Order::Signal(forwarded) => {
                // A number that Linux does not have means nothing to a rank.
                if let Ok(signal) = Signal::try_from(forwarded.signal) {
                    self.nursery.signal(None, signal).await;
                }
            }
            Order::WindowSize(size) => {
                if let Some(running) = self.groups.get(&0) {
                    running.ranks.resize(size);
                }
            }
            Order::Stop(Stop { grace_ms }) => {
                let at = Instant::now() + Duration::from_millis(u64::from(grace_ms));
                self.stop_at = Some(self.stop_at.map_or(at, |earlier| earlier.min(at)));
                self.stopping = true;
                self.outbox.extend(self.errands.stop());
                self.nursery.signal(None, Signal::SIGTERM).await;
                self.sweep_if_over().await;
            }
            // The loop itself leaves.
            Order::Leave(_) => {}
        }
        Ok(())
    }

    /// Nothing of the run before is of account any more, nor what is still heard of it.
    fn forget(&mut self) {
        self.share = None;
        self.groups.clear();
        self.sent = Sent::default();
        (self.heard_by, self.heard) = mpsc::channel(HEARD);
    }

    /// Attends to ranks that have been started.
    pub(crate) fn begin(&mut self, running: Running) {
        self.outbox.push_back(Event::Started(RanksStarted {
            at_us: microseconds_now(),
            group: running.group,
        }));
        self.groups.insert(running.group, running);
        if matches!(self.sampling, Sampling::Idle) {
            self.sampling = Sampling::Due(Instant::now() + samples::INTERVAL);
        }
    }

    /// Starts the ranks of a share, whose files are there.
    async fn begin_with(&mut self, share: Share) {
        match self.start(share).await {
            Ok(running) => self.begin(running),
            Err(refusal) => {
                // Those that were forked before the one that failed.
                self.nursery.sweep().await;
                self.outbox.push_back(Event::Refusal(refusal));
            }
        }
    }

    async fn on_errand(&mut self, done: Done) {
        match done {
            Done::Say(event) => self.outbox.push_back(event),
            Done::Start(share) => self.begin_with(*share).await,
            Done::Ask(checkpoint) => {
                let ranks = self.errands.asked(checkpoint.id);
                if let Ok(signal) = Signal::try_from(checkpoint.signal) {
                    self.nursery.nudge(ranks, signal).await;
                }
            }
        }
    }

    async fn start(&mut self, share: Share) -> Result<Running, Refusal> {
        let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        program::check(&share, &folder)?;
        let programs = program::of(&share);
        let appnums = programs
            .iter()
            .flat_map(|run| run.ranks.iter().map(|&rank| (rank, run.appnum)));
        let node = NodeServer::new(Job {
            size: share.size,
            ranks: share.ranks.clone(),
            kvs_name: share.kvs_name.clone(),
            process_mapping: share.process_mapping.clone(),
            appnums: appnums.collect(),
            universe: Some(share.universe_size).filter(|&size| size > 0),
            ..Job::default()
        })
        .map_err(|error| Refusal {
            sentence: format!("{}: {error}", node_facts::hostname()),
            exit_code: i32::from(Exit::Lost.code()),
            group: 0,
        })?;
        self.warden.note_space(&share.kvs_name);
        let ranks = self.fork(&share, &programs, &folder, 0).await?;
        self.share = Some(share);
        Ok(Running {
            group: 0,
            first: 0,
            node,
            ranks,
            pmi_seen: false,
            pieces: Vec::new(),
        })
    }

    /// Starts ranks, and the tasks that serve them.
    pub(crate) async fn fork(
        &mut self,
        share: &Share,
        programs: &[program::Run<'_>],
        folder: &Path,
        first: u32,
    ) -> Result<Ranks, Refusal> {
        let names: Vec<&str> = (programs.iter())
            .map(|run| run.program.file.as_str())
            .collect();
        // What is spawned finds the devices dealt to the job's own ranks.
        let gpus = match first {
            0 => gpus_of(share)?,
            _ => Vec::new(),
        };
        ranks::fork(
            share,
            programs,
            &self.seat.container,
            folder,
            self.nursery,
            first,
            gpus,
        )
        .await
        .and_then(|forked| forked.attend(&self.client, &self.heard_by, &mut self.tasks))
        .map_err(|error| program::not_started(&names.join(" or "), &error))
    }

    async fn on_heard(&mut self, rank: u32, heard: Heard) {
        let Some(running) = self.of(rank) else {
            return;
        };
        match heard {
            Heard::Line(line) => {
                let group = running.group;
                let own = rank.saturating_sub(running.first);
                let effects = running.node.on_line(own, &line);
                self.on_effects(group, effects).await;
            }
            Heard::TooLong => self.on_broken(rank, &pmi::LineTooLong.to_string()).await,
            Heard::Closed => {
                running.ranks.closed(rank);
                self.report();
            }
        }
    }

    /// The group that a rank is of.
    pub(crate) fn of(&mut self, rank: u32) -> Option<&mut Running> {
        let mut groups = self.groups.values_mut();
        groups.find(|running| running.ranks.has(rank))
    }

    pub(crate) async fn on_effects(&mut self, group: u32, effects: Vec<Effect>) {
        for effect in effects {
            let Some(running) = self.groups.get_mut(&group) else {
                return;
            };
            let first = running.first;
            match effect {
                Effect::Reply { rank, line } => {
                    let rank = first.saturating_add(rank);
                    if !running.ranks.reply(rank, line) {
                        self.on_broken(rank, "it does not read the answers to its requests")
                            .await;
                    }
                }
                Effect::Fence { puts } => {
                    let puts = puts.into_iter().map(|(key, value)| KeyValue { key, value });
                    self.outbox.push_back(Event::Fence(Fence {
                        puts: puts.collect(),
                        group,
                    }));
                }
                Effect::Abort {
                    rank,
                    exit_code,
                    message,
                } => {
                    let rank = first.saturating_add(rank);
                    if running.ranks.abort(rank) {
                        self.outbox.push_back(Event::Abort(Abort {
                            rank,
                            exit_code,
                            message,
                        }));
                    }
                }
                Effect::Stage { stage, .. } => {
                    // Each rank's stage is asked for when its end is reported.
                    if stage == Stage::Initialized && !running.pmi_seen {
                        running.pmi_seen = true;
                        self.outbox.push_back(Event::PmiSeen(PmiSeen { group }));
                    }
                }
                Effect::Name { rank, request } => {
                    self.ask_name(first.saturating_add(rank), request);
                }
                Effect::Spawn { rank, request } => {
                    self.ask_spawn(first.saturating_add(rank), request);
                }
                Effect::Broken { rank, sentence } => {
                    self.on_broken(first.saturating_add(rank), &sentence).await;
                }
            }
        }
    }

    /// Ends a rank that breaks the protocol. The others go on until the AM stops them.
    async fn on_broken(&mut self, rank: u32, sentence: &str) {
        let Some(running) = self.of(rank) else {
            return;
        };
        if running.ranks.abort(rank) {
            self.outbox.push_back(Event::Broke(RankBroke {
                rank,
                sentence: sentence.to_owned(),
            }));
        }
        self.nursery.signal(Some(rank), Signal::SIGKILL).await;
    }

    /// Sends what has changed, or looks again.
    fn sample(&mut self, look: Option<Look>) {
        let over = self.all_ended();
        self.sampling = match look {
            _ if over => Sampling::Idle,
            Some(look) => {
                let is_usages = |event: &Event| matches!(event, Event::Usages(_));
                // A link that is behind is not given more.
                if !self.outbox.iter().any(is_usages) {
                    let usages = self.sent.news(look.usages);
                    if !usages.is_empty() {
                        self.outbox.push_back(Event::Usages(RankUsages { usages }));
                    }
                }
                Sampling::Due(look.next.into())
            }
            None => self.nursery.look().map_or(
                // It is busy with something else.
                Sampling::Due(Instant::now() + samples::INTERVAL),
                Sampling::Looking,
            ),
        };
    }

    async fn on_ended(&mut self, ended: Vec<crate::nursery::Ended>) {
        if !ended.is_empty() {
            self.errands.rank_ended();
        }
        for running in self.groups.values_mut() {
            running.ranks.ended(&ended, self.stopping);
        }
        self.report();
        self.sweep_if_over().await;
    }

    fn report(&mut self) {
        for running in self.groups.values_mut() {
            let reports = running.ranks.reports(&running.node);
            self.outbox.extend(reports);
        }
        // Of spawned ranks whose ends are told nothing is left to do.
        self.groups
            .retain(|&group, running| group == 0 || !running.ranks.all_reported());
    }

    fn all_ended(&self) -> bool {
        self.groups
            .values()
            .all(|running| running.ranks.all_ended())
    }

    /// The job is to end and no rank is left: neither should be what they started.
    async fn sweep_if_over(&mut self) {
        if self.stopping && self.all_ended() {
            self.sweep().await;
        }
    }

    async fn sweep(&mut self) {
        self.stop_at = None;
        self.stopping = false;
        let ended = self.nursery.sweep().await;
        for running in self.groups.values_mut() {
            running.ranks.ended(&ended, true);
        }
        self.report();
    }
}

/// The variable that names each rank's graphics processors, where it is to have such.
fn gpus_of(share: &Share) -> Result<Vec<Option<(String, String)>>, Refusal> {
    let Some(each) = share.gpus_per_process else {
        return Ok(Vec::new());
    };
    let devices = Devices::here(&|name| std::env::var(name).ok());
    gpus::deal(devices.as_ref(), share.ranks.len(), each).map_err(|sentence| Refusal {
        sentence: format!("{}: {sentence}", node_facts::hostname()),
        exit_code: i32::from(Exit::Impossible.code()),
        group: 0,
    })
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What a status says, or the transport's error beneath it.
fn words(status: &Status) -> String {
    let said = match std::error::Error::source(status) {
        Some(source) => format!("{}: {}", status.message(), dial::chain(source)),
        None => status.message().to_owned(),
    };
    // What TLS calls a process that died; its own words are a lecture.
    match said.contains("close_notify") {
        true => "the connection ended without a farewell".to_owned(),
        false => said,
    }
}

fn microseconds_now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_micros()).ok())
        .unwrap_or(0)
}
