//! What a launcher does between hello and leave: one loop over everything that can happen.
//!
//! It joins ([`mod@join`]), is given a share and starts its ranks ([`start`]), serves them
//! ([`process_management`]), looks at them now and then ([`sampling`], [`silent`]), and reports their
//! ends.

mod join;
mod process_management;
mod sampling;
mod silent;
mod start;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use job::Seat;
use job::exit::Exit;
use job::pass::Pass;
use job::tls::TlsError;
use job::wire::launcher_event::Event;
use job::wire::launcher_order::Order;
use job::wire::launchers_client::LaunchersClient;
use job::wire::{LauncherEvent, LauncherOrder, OutputChunk, RanksSeen, Share, Stop};
use nix::sys::signal::Signal;
use pmi::NodeServer;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::transport::Channel;

use join::{Joined, join, words};
use sampling::Sampling;
use silent::Silent;

use crate::binding;
use crate::devices;
use crate::dial::DialError;
use crate::errand::{Done, Errands};
use crate::lane::{DoorSender, Lanes};
use crate::left_files::Before;
use crate::nursery::Nursery;
use crate::output;
use crate::pmi_socket::Heard;
use crate::ranks::Ranks;
use crate::samples::Sent;
use crate::seat::Place;
use crate::surroundings::Surroundings;
use crate::topology::Topology;
use crate::warden::Warden;

/// PMI lines of all ranks that wait for an answer.
const HEARD: usize = 64;

/// Why a launcher leaves without having been told to.
#[derive(Debug, Error)]
pub(crate) enum LifeError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("cannot watch signals: {source}")]
    Signals { source: std::io::Error },
    #[error(transparent)]
    Keys(#[from] TlsError),
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
    around: &Surroundings,
    nursery: &Nursery,
    warden: &Warden,
    topology: Option<Topology>,
    carriers: &Handle,
) -> Result<u8, LifeError> {
    let signals = |source| LifeError::Signals { source };
    let mut endings = Endings::watch().map_err(signals)?;
    let mut children = signal(SignalKind::child()).map_err(signals)?;
    let place = Arc::new(place);
    let mut joining = JoinSet::new();
    joining.spawn_on(join(Arc::clone(&place)), carriers);
    let joined = tokio::select! {
        Some(Ok(joined)) = joining.join_next() => joined?,
        () = endings.next() => return Err(LifeError::Terminated),
    };
    let Joined {
        client,
        events,
        mut orders,
    } = joined;
    let (lanes, door) = Lanes::new(&place)?;
    let pass = Pass {
        container: place.seat.container.clone(),
        ticket: place.seat.ticket.clone(),
    };
    let (chunks, queued) = mpsc::channel(output::QUEUE);
    let mut tasks = JoinSet::new();
    tasks.spawn_on(
        output::carry(client.clone(), pass.clone(), queued),
        carriers,
    );
    let (heard_by, heard) = mpsc::channel(HEARD);
    let mut life = Life {
        seat: place.seat.clone(),
        around,
        nursery,
        warden,
        topology,
        carriers,
        client,
        pass,
        chunks,
        lanes,
        door,
        heard_by,
        heard,
        outbox: VecDeque::new(),
        share: None,
        groups: BTreeMap::new(),
        stop_at: None,
        stopping: false,
        sampling: Sampling::Idle,
        silent: Silent::default(),
        before: Before::default(),
        sent: Sent::default(),
        errands: Errands::new(around.folder.clone()),
        gpus: devices::Pool::default(),
        processors: binding::Sets::default(),
        tasks,
    };
    loop {
        let due = life.groups.values();
        let due = due.filter_map(|running| running.ranks.processes.next_report());
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
            due = life.silent.next() => life.on_silent(due).await,
            done = life.errands.next() => life.on_errand(done).await,
            Some(_) = life.tasks.join_next(), if !life.tasks.is_empty() => {}
        }
    }
}

/// Ranks of this container that have one `MPI_COMM_WORLD`. Everything else calls them by their
/// number in the job, `node` alone by their rank.
pub(crate) struct Running {
    pub(crate) group: u32,
    /// Number of the group's rank 0.
    pub(crate) first: u32,
    /// Name of their key-value space.
    pub(crate) kvs_name: String,
    pub(crate) node: NodeServer,
    pub(crate) ranks: Ranks,
    /// The ApplicationMaster has been told that ranks are in MPI_Init.
    pub(crate) pmi_seen: bool,
    /// Pieces of what all ranks have put, until the last one is there.
    pub(crate) pieces: Vec<pmi::Pair>,
}

pub(crate) struct Life<'a> {
    pub(crate) seat: Seat,
    pub(crate) around: &'a Surroundings,
    pub(crate) nursery: &'a Nursery,
    pub(crate) warden: &'a Warden,
    /// None: ranks find out by themselves what their node is made of.
    topology: Option<Topology>,
    /// Where what goes to and comes from the AM is carried.
    carriers: &'a Handle,
    pub(crate) client: LaunchersClient<Channel>,
    pass: Pass,
    /// What all ranks print, on its way to the ApplicationMaster.
    chunks: mpsc::Sender<OutputChunk>,
    lanes: Lanes,
    /// Where lanes lead to, when the client takes any.
    door: DoorSender,
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
    silent: Silent,
    /// What the working directory had before the ranks of the share began.
    before: Before,
    sent: Sent,
    errands: Errands,
    /// The graphics processors of this container.
    gpus: devices::Pool,
    /// Its processors, where ranks are bound to some.
    processors: binding::Sets,
    pub(crate) tasks: JoinSet<()>,
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
                let pids = self.groups.values();
                let pids = pids.flat_map(|running| running.ranks.processes.alive());
                self.errands.checkpoint(checkpoint, pids.collect());
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
            Order::Door(door) => drop(self.door.send_replace(Some(door))),
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
        for running in std::mem::take(&mut self.groups).into_values() {
            self.warden.forget_space(&running.kvs_name);
        }
        self.sent = Sent::default();
        (self.heard_by, self.heard) = mpsc::channel(HEARD);
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

    async fn on_ended(&mut self, ended: Vec<crate::nursery::Ended>) {
        if !ended.is_empty() {
            self.errands.rank_ended();
        }
        for running in self.groups.values_mut() {
            running.ranks.processes.ended(&ended, self.stopping);
        }
        self.report();
        self.sweep_if_over().await;
    }

    fn report(&mut self) {
        for running in self.groups.values_mut() {
            let reports = running.ranks.reports(&running.node);
            let over = running.ranks.processes.all_reported();
            if running.group == 0 && !reports.is_empty() && over {
                let seen = RanksSeen {
                    mpi_library: self.silent.library().to_owned(),
                    left_files: self.before.since(&self.around.folder),
                };
                let worth = seen != RanksSeen::default();
                self.outbox.extend(worth.then_some(Event::Seen(seen)));
            }
            self.outbox.extend(reports);
        }
        // Of spawned ranks whose ends are told nothing is left to do.
        let warden = self.warden;
        self.groups.retain(|&group, running| {
            let is_over = group > 0 && running.ranks.processes.all_reported();
            if is_over {
                warden.forget_space(&running.kvs_name);
            }
            !is_over
        });
    }

    fn all_ended(&self) -> bool {
        self.groups
            .values()
            .all(|running| running.ranks.processes.all_ended())
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
            running.ranks.processes.ended(&ended, true);
        }
        self.report();
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
