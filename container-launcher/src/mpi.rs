//! A container's share of an MPI job: its ranks, and those that they spawn.
//!
//! Ranks are started ([`start`], [`spawn`]) and served as their process manager ([`process_management`]), by PMI
//! or by PMIx ([`process_manager`]),
//! one that says nothing is looked at ([`silent`]), and each end is reported. All ranks with one
//! `MPI_COMM_WORLD` are a [`CommWorld`]; beyond it a rank has a number in the job.

mod checkpoint;
mod compare;
mod crowd;
mod disk;
mod environment;
mod library;
mod orders;
mod peer;
pub(crate) mod pmix;
mod process_management;
mod process_manager;
mod ranks;
pub(crate) mod shared_memory;
mod silent;
mod socket;
mod spawn;
mod spawned_program;
mod start;
pub(crate) mod topology;
mod traffic;
mod transfers;
pub(crate) mod yielding;

use std::collections::BTreeMap;
use std::path::PathBuf;

use job::JobId;
use job::wire::mpi_event::Event;
use job::wire::{self, RankUsage, RankUsages, RanksSeen, RanksStuck};
use nix::sys::signal::Signal;
use pmi::PmiStage;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::pmix::{PmixServer, Served};
use self::process_manager::ProcessManager;
use self::ranks::Ranks;
use self::silent::{Due, Silent};
use self::socket::RankMessage;
use self::traffic::Traffic;
use self::transfers::{TransferDone, Transfers};
use crate::binding;
use crate::container::OwnContainer;
use crate::job_files;
use crate::lane::Lanes;
use crate::left_files::Before;
use crate::life::RankOutbox;
use crate::nursery::ReapedProcess;
use crate::samples::Sent;

/// PMI lines of all ranks that wait for an answer.
const HEARD: usize = 64;
/// Calls of PMIx that wait to be answered.
const SERVED: usize = 64;

/// Ranks of this container that have one `MPI_COMM_WORLD`. Everything else calls them by their
/// number in the job, `manager` alone by their rank.
struct CommWorld {
    /// 0: the job's own ranks. Else the number of the group that was spawned.
    group: u32,
    /// Number of the group's rank 0.
    first: u32,
    /// Name of their key-value space.
    kvs_name: String,
    manager: ProcessManager,
    ranks: Ranks,
    /// The ApplicationMaster has been told that ranks are in MPI_Init.
    pmi_seen: bool,
    /// The ApplicationMaster has been told that they wait for one that is gone.
    stuck_is_told: bool,
    /// Pieces of what all ranks have put, until the last one is there.
    pieces: Vec<pmi::Pair>,
}

impl CommWorld {
    /// How far the rank of this number in the job got; `server` is the job's.
    fn stage(&self, server: Option<&PmixServer>, number: u32) -> PmiStage {
        let own = number.saturating_sub(self.first);
        self.manager.stage(server, self.group, own)
    }

    /// That its ranks here wait for one that is gone, once.
    fn stuck(&mut self) -> Option<Event> {
        let news = !self.stuck_is_told && self.manager.is_stuck();
        self.stuck_is_told |= news;
        let group = self.group;
        news.then_some(Event::Stuck(RanksStuck { group }))
    }
}

/// What the container runs of the job.
pub(crate) struct Mpi {
    job: JobId,
    outbox: RankOutbox,
    /// What its ranks print and read, and what serves them.
    traffic: Traffic,
    /// The way to its client.
    lanes: Lanes,
    /// Where the job's files are, and its ranks start.
    folder: PathBuf,
    heard_by: mpsc::Sender<(u32, RankMessage)>,
    heard: mpsc::Receiver<(u32, RankMessage)>,
    served_by: mpsc::Sender<(u32, Served)>,
    served: mpsc::Receiver<(u32, Served)>,
    /// What the job's own ranks were started with.
    share: Option<wire::Share>,
    /// Those ranks, from the share on, as group 0; and those that were spawned.
    worlds: BTreeMap<u32, CommWorld>,
    /// The server of all their ranks that speak PMIx.
    pmix: Option<Box<PmixServer>>,
    /// Spawned groups that wait to be served by it.
    unserved: BTreeMap<u32, wire::Group>,
    /// When patience with the ranks ends.
    stop_at: Option<Instant>,
    stopping: bool,
    silent: Silent,
    /// What the working directory had before the ranks of the share began.
    before: Before,
    sent: Sent,
    transfers: Transfers,
    /// The sets of processors that ranks are bound to.
    processors: binding::Sets,
    /// What the user says to hwloc: the file of the node's topology would keep it from being heard.
    hwloc_is_told: bool,
    /// Its ranks have filled a disk, and were ended for it.
    has_filled_disk: bool,
}

/// What an [`Mpi`] waited for.
pub(crate) enum Happened {
    /// A rank said something to its process manager.
    Heard(u32, RankMessage),
    /// The PMIx server of a group told something.
    Served(u32, Served),
    /// Those that were to stop have had their time.
    Overdue,
    /// An end is to be reported without last words.
    Report,
    Silent(Due),
    Transfer(TransferDone),
}

impl Mpi {
    /// One without ranks.
    pub(crate) fn new(job: JobId, container: &OwnContainer<'_>) -> Self {
        let folder = job_files::folder(&container.around.folder, job);
        let (heard_by, heard) = mpsc::channel(HEARD);
        let (served_by, served) = mpsc::channel(SERVED);
        Self {
            job,
            outbox: container.outbox.of_ranks(job),
            heard_by,
            heard,
            served_by,
            served,
            share: None,
            worlds: BTreeMap::new(),
            pmix: None,
            unserved: BTreeMap::new(),
            stop_at: None,
            stopping: false,
            silent: Silent::default(),
            before: Before::default(),
            sent: Sent::default(),
            transfers: Transfers::new(folder.clone()),
            folder,
            traffic: Traffic::new(job, container),
            lanes: Lanes::new(&container.keys),
            processors: binding::Sets::default(),
            hwloc_is_told: false,
            has_filled_disk: false,
        }
    }

    /// Until something is to be done. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Happened {
        let worlds = self.worlds.values();
        let due = worlds.filter_map(|world| world.ranks.processes.next_report());
        let report_at = due.min();
        let stop_at = self.stop_at;
        let Self {
            heard,
            served,
            silent,
            transfers,
            traffic,
            ..
        } = self;
        tokio::select! {
            // Both queues have a sender here.
            Some((rank, heard)) = heard.recv() => Happened::Heard(rank, heard),
            Some((group, served)) = served.recv() => Happened::Served(group, served),
            () = until(stop_at) => Happened::Overdue,
            () = until(report_at) => Happened::Report,
            due = silent.next() => Happened::Silent(due),
            done = transfers.next() => Happened::Transfer(done),
            never = traffic.go_on() => match never {},
        }
    }

    pub(crate) async fn on(&mut self, happened: Happened, container: &mut OwnContainer<'_>) {
        match happened {
            Happened::Heard(rank, heard) => self.on_heard(rank, heard, container).await,
            Happened::Served(group, served) => self.on_served(group, served, container).await,
            Happened::Overdue => self.sweep(container).await,
            Happened::Report => self.report(container),
            Happened::Silent(due) => self.on_silent(due, container).await,
            Happened::Transfer(done) => self.on_transfer(done, container).await,
        }
    }

    /// Nothing of the run before is of account any more, nor what is still heard of it.
    fn forget(&mut self, container: &OwnContainer<'_>) {
        self.share = None;
        self.pmix = None;
        self.unserved.clear();
        for world in std::mem::take(&mut self.worlds).into_values() {
            container.warden.forget_space(&world.kvs_name);
        }
        self.sent = Sent::default();
        (self.heard_by, self.heard) = mpsc::channel(HEARD);
        (self.served_by, self.served) = mpsc::channel(SERVED);
    }

    /// The job is over, and no process of it is left.
    pub(crate) fn end(mut self, container: &OwnContainer<'_>) {
        self.forget(container);
    }

    async fn on_transfer(&mut self, done: TransferDone, container: &mut OwnContainer<'_>) {
        match done {
            TransferDone::Say(event) => self.outbox.push_back(event),
            TransferDone::Start(share) => self.begin_with(*share, container).await,
            TransferDone::Ask(checkpoint) => {
                let ranks = self.transfers.asked(checkpoint.id);
                if let Ok(signal) = Signal::try_from(checkpoint.signal) {
                    container.nursery.nudge(self.job, ranks, signal).await;
                }
            }
        }
    }

    pub(crate) async fn on_ended(
        &mut self,
        ended: &[ReapedProcess],
        container: &mut OwnContainer<'_>,
    ) {
        if !ended.is_empty() {
            self.transfers.rank_ended();
        }
        for world in self.worlds.values_mut() {
            world.ranks.processes.ended(ended, self.stopping);
        }
        self.report(container);
        self.sweep_if_over(container).await;
    }

    fn report(&mut self, container: &mut OwnContainer<'_>) {
        for world in self.worlds.values_mut() {
            let (manager, group, first) = (&world.manager, world.group, world.first);
            let server = self.pmix.as_deref();
            let stage = |number: u32| manager.stage(server, group, number.saturating_sub(first));
            let reports = world.ranks.reports(stage);
            let over = world.ranks.processes.all_reported();
            if world.group == 0 && !reports.is_empty() && over {
                let seen = RanksSeen {
                    mpi_library: self.silent.library().to_owned(),
                    left_files: self.before.since(&self.folder),
                };
                let worth = seen != RanksSeen::default();
                self.outbox.extend(worth.then_some(Event::Seen(seen)));
            }
            for report in &reports {
                if let Event::Ended(ended) = report {
                    world.manager.ended(ended.rank.saturating_sub(world.first));
                }
            }
            self.outbox.extend(reports);
            self.outbox.extend(world.stuck());
        }
        // Of spawned ranks whose ends are told nothing is left to do.
        self.worlds.retain(|&group, world| {
            let is_over = group > 0 && world.ranks.processes.all_reported();
            if is_over {
                container.warden.forget_space(&world.kvs_name);
                if let Some(server) = &mut self.pmix {
                    server.forget(group);
                }
            }
            !is_over
        });
    }

    /// Tells what of a look at the ranks is news.
    pub(crate) fn sampled(&mut self, usages: Vec<RankUsage>) {
        // A link that is behind is not given more.
        if !self.outbox.is_behind() {
            let usages = self.sent.news(usages);
            if !usages.is_empty() {
                let usages = Event::Usages(RankUsages { usages });
                self.outbox.push_back(usages);
            }
        }
    }

    /// Of the container's memory, for each rank, MiB.
    pub(crate) fn memory_mib(&self) -> u64 {
        self.share.as_ref().map_or(0, |share| share.memory_mib)
    }

    /// A rank is about to be killed because it has more memory than its share.
    pub(crate) fn over_share(&mut self, rank: u32) {
        for world in self.worlds.values_mut() {
            world.ranks.processes.over_share(rank);
        }
    }

    pub(crate) fn all_ended(&self) -> bool {
        let mut worlds = self.worlds.values();
        worlds.all(|world| world.ranks.processes.all_ended())
    }

    /// The job is to end and no rank is left: neither should be what they started.
    async fn sweep_if_over(&mut self, container: &mut OwnContainer<'_>) {
        if self.stopping && self.all_ended() {
            self.sweep(container).await;
        }
    }

    async fn sweep(&mut self, container: &mut OwnContainer<'_>) {
        self.stop_at = None;
        self.stopping = false;
        let ended = container.sweep(self.job).await;
        for world in self.worlds.values_mut() {
            world.ranks.processes.ended(&ended, true);
        }
        self.report(container);
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
