//! What a launcher does between hello and leave: one loop over everything that can happen.
//!
//! It joins ([`mod@join`]), keeps in touch with the ApplicationMaster ([`link`]), and is given shares of jobs
//! ([`crate::share`]), which start processes, serve them and report their ends by means of what the
//! container has ([`OwnContainer`]).

mod crowded;
mod ended;
mod fetching;
mod folder;
mod join;
mod link;
mod orders;
mod peers;
mod samples;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use job::JobId;
use job::exit::Exit;
use job::tls::TlsError;
use job::wire::launcher_order::Order;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::Instant;

use ended::EndedJobs;
use fetching::Fetching;
pub(crate) use join::{is_final, words};
use link::Link;
pub(crate) use link::{MasterCalls, Outbox, RankOutbox};
use peers::PeerTries;

use crate::container::OwnContainer;
use crate::crowding::Crowding;
use crate::devices;
use crate::dial::DialError;
use crate::disks::Disks;
use crate::elements::Watch;
use crate::lane::ClientKeys;
use crate::launcher_context::LauncherKeys;
use crate::mpi::topology::Topology;
use crate::nursery::{Nursery, ReapedProcess};
use crate::porters::Porters;
use crate::sampling::Sampling;
use crate::share::{Happened, Share};
use crate::shuffle::Exchange;
use crate::surroundings::Surroundings;
use crate::tasks::Storages;
use crate::warden::Warden;

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
    #[error(
        "the container's folder {folder} is gone, as a NodeManager removes it that was started again and recovers nothing; \
         what runs here is killed"
    )]
    FolderGone { folder: String },
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
    place: LauncherKeys,
    around: &Surroundings,
    nursery: &Nursery,
    warden: &Warden,
    topology: Option<Topology>,
    carriers: &Handle,
    porters: &Porters,
) -> Result<u8, LifeError> {
    let signals = |source| LifeError::Signals { source };
    let mut endings = Endings::watch().map_err(signals)?;
    let mut children = signal(SignalKind::child()).map_err(signals)?;
    // Before the hello tells of the same: what changes from then on is told.
    let elements = Watch::new(place.context.scan.clone(), around);
    let place = Arc::new(place);
    let mut joining = JoinSet::new();
    joining.spawn_on(link::begin(Arc::clone(&place), around.clone()), carriers);
    let (link, keeping) = tokio::select! {
        Some(Ok(begun)) = joining.join_next() => begun?,
        () = endings.next() => return Err(LifeError::Terminated),
    };
    let Link {
        outbox,
        mut orders,
        calls,
    } = link;
    let keys = ClientKeys::new(&place)?;
    let mut tasks = JoinSet::new();
    tasks.spawn_on(keeping, carriers);
    let container = OwnContainer {
        context: place.context.clone(),
        around,
        nursery,
        warden,
        topology,
        carriers,
        porters,
        calls,
        keys,
        outbox,
        elements,
        disks: Disks::of(around, &place.context.container),
        exchange: Exchange::new(place),
        storages: Storages::default(),
        gpus: devices::Pool::default(),
        sampling: Sampling::Idle,
        crowding: Crowding::Idle,
        reaped: Vec::new(),
        tasks,
    };
    let withheld = container.outbox.clone();
    let mut life = Life {
        container,
        jobs: BTreeMap::new(),
        last: JobId::OF_APPLICATION,
        ended: EndedJobs::default(),
        fetching: Fetching::default(),
        peers: PeerTries::default(),
        leaving: JoinSet::new(),
        sample_at: None,
        container_kib: 0,
        killed_for_memory: None,
        shared_pages_at: None,
    };
    loop {
        tokio::select! {
            () = endings.next() => return Err(LifeError::Terminated),
            () = withheld.has_no_folder() => {
                let folder = around.folder.display().to_string();
                return Err(LifeError::FolderGone { folder });
            }
            order = orders.recv() => match order {
                Some(Ok(Order::Leave(_))) => return Ok(Exit::Success.code()),
                Some(Ok(order)) => life.on_order(order).await?,
                Some(Err(error)) => return Err(error),
                None => return Err(life.lost("nobody keeps the link to it")),
            },
            _ = children.recv() => {
                let ended = nursery.reap().await;
                life.on_ended(ended).await;
            }
            elements = life.container.elements.next() => life.container.tell_elements(elements),
            look = life.container.sampling.next() => life.sample(look).await,
            look = life.container.crowding.next() => life.look_at_disks(look).await,
            Some(_) = life.container.tasks.join_next(), if !life.container.tasks.is_empty() => {}
            fetched = life.fetching.next() => life.on_fetched(fetched),
            tried = life.peers.next() => life.peers_tried(tried),
            Some(left) = life.leaving.join_next() => life.on_left(left),
            (job, happened) = next(&mut life.jobs, life.last) => life.on_happened(job, happened).await,
        }
    }
}

struct Life<'a> {
    container: OwnContainer<'a>,
    /// What the container runs, by job.
    jobs: BTreeMap<JobId, Share>,
    /// Whose turn it was last to say what happened: the next one's it is first.
    last: JobId,
    /// Those that are over.
    ended: EndedJobs,
    fetching: Fetching,
    peers: PeerTries,
    /// What removes the folders of jobs that are over.
    leaving: JoinSet<JobId>,
    /// When what processes use is told next, at the earliest.
    sample_at: Option<Instant>,
    /// What the container had resident when it was last looked at, KiB.
    container_kib: u64,
    /// When a process was last killed for having too much memory.
    killed_for_memory: Option<Instant>,
    /// When pages that processes share were found to be what is too much.
    shared_pages_at: Option<Instant>,
}

impl Life<'_> {
    fn lost(&self, cause: &str) -> LifeError {
        LifeError::Lost {
            address: self.container.context.appmaster.clone(),
            cause: cause.to_owned(),
        }
    }

    fn confused(&self, what: &'static str) -> LifeError {
        LifeError::Confused {
            address: self.container.context.appmaster.clone(),
            what,
        }
    }

    async fn on_happened(&mut self, job: JobId, happened: Happened) {
        self.last = job;
        if let Some(share) = self.jobs.get_mut(&job) {
            share.on(happened, &mut self.container).await;
        }
        self.tell_reaped().await;
    }

    /// Processes were reaped.
    async fn on_ended(&mut self, ended: Vec<ReapedProcess>) {
        self.container.reaped.extend(ended);
        loop {
            let all = std::mem::take(&mut self.container.reaped);
            for (&job, share) in &mut self.jobs {
                let own = all.iter().filter(|end| end.id.job == job);
                let own: Vec<ReapedProcess> = own.copied().collect();
                share.on_ended(&own, &mut self.container).await;
            }
            // What one of them ended may have been another's.
            if self.container.reaped.is_empty() {
                return;
            }
        }
    }

    /// Tells jobs of those that were reaped while another job was dealt with.
    async fn tell_reaped(&mut self) {
        if !self.container.reaped.is_empty() {
            self.on_ended(Vec::new()).await;
        }
    }
}

/// Until something is to be done for one of the jobs. May be dropped and called again.
async fn next(jobs: &mut BTreeMap<JobId, Share>, last: JobId) -> (JobId, Happened) {
    let mut waiting: Vec<_> = (jobs.iter_mut())
        .map(|(&job, share)| (job, Box::pin(share.next())))
        .collect();
    // However much one job has to say, the others come to word.
    let turn = waiting.partition_point(|(job, _)| *job <= last);
    waiting.rotate_left(turn);
    poll_fn(|context| {
        for (job, next) in &mut waiting {
            if let Poll::Ready(happened) = next.as_mut().poll(context) {
                return Poll::Ready((*job, happened));
            }
        }
        Poll::Pending
    })
    .await
}
