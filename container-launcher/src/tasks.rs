//! A container's share of a job of tasks: processes that each work on one map or reduce.
//!
//! A process is the user's program in the role of a task. It speaks `gerbil_task` over its standard input
//! ([`conversation`]): it is told the job and its task, asks for what it reads ([`input`]) and writes
//! ([`output`]), and says how the task ended. The launcher alone speaks to file systems, each by one client for
//! all tasks of a job ([`places`]): a process has files and pipes. Bytes are carried beside the conversation
//! ([`carrier`]), and what goes wrong there is the truth about a task that knows only that a pipe ended
//! ([`trouble`]). What a task has written is committed before its end is told ([`report`]); of one that came to
//! nothing nothing is left. How far tasks are, and whether they get on, is looked at meanwhile ([`watch`]).
//!
//! What maps have written for reduces stays with the launcher ([`crate::shuffle`]): the process may die. A reduce is
//! handed what it reads once all of it is here ([`sources`]). What a process prints is kept in
//! a folder of its own ([`log`]), at the longest until the job is over ([`logs`]).

mod attempt;
mod carrier;
mod conversation;
mod crowded;
mod input;
mod leasing;
mod log;
mod logs;
mod moves;
mod outage;
mod output;
mod pipes;
mod places;
mod report;
mod sources;
mod start;
mod trouble;
mod watch;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gerbil_task::{Page, ToTask, Welcome};
use job::JobId;
use job::element::ElementKind;
use job::wire::task_event::Event;
use job::wire::{
    EndTask, GatherAhead, GatheredAhead, ReadLog, StartTask, TaskEnded, TaskSeen, TasksSeen,
};
use nix::sys::signal::Signal;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use self::moves::not_moved;
pub(crate) use self::places::Storages;

use self::attempt::{Attempt, Said};
use self::leasing::{Leased, Leasing};
use self::logs::{Logs, TaskLog};
use self::places::AttemptOutput;
use crate::container::OwnContainer;
use crate::disks::Room;
use crate::functions::{FunctionLease, Loss, NotLeased};
use crate::job_files;
use crate::life::Outbox;
use crate::memory_limit::OverLimit;
use crate::node_facts;
use crate::nursery::{ReapedProcess, Whom};
use crate::out_of_memory::Kills;
use crate::process::{Id, Processes};
use crate::shuffle::{Ahead, Copies, Gatherer};

/// What conversations say that waits to be heard.
const SAID: usize = 16;
/// The removal of an attempt's folder may take so long: what is left then goes with the job's.
const REMOVAL: Duration = Duration::from_secs(60);
/// Where YARN names a container's node.
const NM_HOST: &str = "NM_HOST";

/// What the container runs of the job.
pub(crate) struct Tasks {
    job: JobId,
    /// The job's working directory.
    folder: PathBuf,
    /// The node, as YARN names it; empty where that is not told.
    host: String,
    processes: Processes,
    /// By the numbers of their processes.
    attempts: BTreeMap<u32, Attempt>,
    /// Those that have no process yet, as their devices are being leased.
    leasing: Leasing,
    logs: Logs,
    said_by: mpsc::Sender<(u32, Said)>,
    said: mpsc::Receiver<(u32, Said)>,
    /// Memory in which tasks note what they work on, for so many slots each: the first one's view, and what
    /// tasks are handed.
    blame: BTreeMap<u32, (Page, Arc<OwnedFd>)>,
    /// What its tasks may have of the disks; none: none has begun.
    room: Option<Room>,
    /// What it has gathered of partitions whose reduces have not begun, and what does that; none: nothing was ordered.
    copies: Copies,
    ahead: Option<Ahead>,
    gathered_by: mpsc::Sender<GatheredAhead>,
    gathered: mpsc::Receiver<GatheredAhead>,
    /// When tasks are looked at next; none: there are none.
    look_at: Option<Instant>,
    /// What was last told of them.
    told: Vec<TaskSeen>,
    told_at: Option<Instant>,
    /// Dropped: nothing of the job goes on.
    ends: CancellationToken,
    _ends: DropGuard,
}

/// What a [`Tasks`] waited for.
pub(crate) enum Happened {
    Said(u32, Said),
    /// Something was gathered ahead, as far as it could be.
    Gathered(GatheredAhead),
    /// The devices of a task are leased, or are not to be had.
    Leased(Box<Leased>),
    /// Tasks have stood in line for devices for a while.
    InLine,
    /// Processes that have said their last have had their time.
    Overdue,
    /// An end is to be reported without last words.
    Report,
    /// Tasks are to be looked at.
    Look,
}

impl Tasks {
    pub(crate) fn new(job: JobId, container: &OwnContainer<'_>) -> Self {
        let (said_by, said) = mpsc::channel(SAID);
        let (gathered_by, gathered) = mpsc::channel(SAID);
        let ends = CancellationToken::new();
        Self {
            job,
            folder: job_files::folder(&container.around.folder, job),
            host: container
                .around
                .text(NM_HOST)
                .unwrap_or_default()
                .to_owned(),
            processes: Processes::new(Kills::so_far()),
            attempts: BTreeMap::new(),
            leasing: Leasing::new(),
            logs: Logs::default(),
            said_by,
            said,
            blame: BTreeMap::new(),
            room: None,
            copies: Copies::default(),
            ahead: None,
            gathered_by,
            gathered,
            look_at: None,
            told: Vec::new(),
            told_at: None,
            _ends: ends.clone().drop_guard(),
            ends,
        }
    }

    /// Until something is to be done. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Happened {
        let report_at = self.attempts.values().filter_map(Attempt::told_at).min();
        let kill_at = self.attempts.values().filter_map(|of| of.kill_at).min();
        let shows_at = self.leasing.shows_at();
        tokio::select! {
            // The queue has a sender here.
            Some((number, said)) = self.said.recv() => Happened::Said(number, said),
            Some(gathered) = self.gathered.recv() => Happened::Gathered(gathered),
            leased = self.leasing.next() => Happened::Leased(leased),
            () = until(shows_at) => Happened::InLine,
            () = until(kill_at) => Happened::Overdue,
            () = until(report_at) => Happened::Report,
            () = until(self.look_at) => Happened::Look,
        }
    }

    pub(crate) async fn on(&mut self, happened: Happened, container: &mut OwnContainer<'_>) {
        match happened {
            Happened::Said(number, said) => {
                if let Some(attempt) = self.attempts.get_mut(&number) {
                    attempt.hear(said);
                }
            }
            Happened::Gathered(gathered) => container
                .outbox
                .push_of_task(self.job, Event::Gathered(gathered)),
            Happened::Leased(leased) => self.leased(*leased, container).await,
            Happened::InLine => {
                let tasks = self.leasing.in_line();
                container
                    .outbox
                    .push_of_task(self.job, Event::Seen(TasksSeen { tasks }));
            }
            Happened::Look => self.look(container),
            Happened::Overdue | Happened::Report => {}
        }
        self.kill_overdue(container).await;
        self.report(container);
    }

    async fn kill_overdue(&mut self, container: &OwnContainer<'_>) {
        let now = Instant::now();
        for (&number, attempt) in &mut self.attempts {
            if attempt.kill_at.is_some_and(|at| at <= now) {
                attempt.kill_at = None;
                attempt.is_stuck = true;
                let job = self.job;
                let id = Id { job, number };
                match attempt.is_parked {
                    // What it has started outside its process group would stay stopped.
                    true => container.nursery.kill(id).await,
                    false => {
                        let one = Whom::One(id);
                        container.nursery.signal(one, Signal::SIGKILL).await;
                    }
                }
            }
        }
    }

    pub(crate) async fn on_start(&mut self, order: StartTask, container: &mut OwnContainer<'_>) {
        match order.functions.is_empty() {
            true => self.begin(order, Vec::new(), container).await,
            false => {
                let holder = leasing::holder(&container.context.container, self.job, &order);
                let driver = container.elements.driver();
                match watch::lease_wait(&order.welcome) {
                    Ok(wait) => {
                        let place = (driver, holder, wait);
                        self.leasing.begin(order, place, container.carriers);
                    }
                    Err(sentence) => self.not_begun(order.process, &sentence, container),
                }
            }
        }
    }

    /// The devices of a task are there, unless its end was ordered meanwhile, or they are not to be had.
    async fn leased(&mut self, leased: Leased, container: &mut OwnContainer<'_>) {
        let Leased { order, leases } = leased;
        match leases {
            Ok(leases) => {
                for lease in &leases {
                    container.elements.function_leased(&lease.of);
                }
                self.begin(order, leases, container).await;
            }
            Err(NotLeased { of, why, loss }) => {
                // What the node has is told first: the task is queued again by that.
                for function in &of {
                    container.function_lost(function, loss.clone());
                }
                container.outbox.push_of_task(
                    self.job,
                    Event::Ended(TaskEnded {
                        process: order.process,
                        trouble: format!("{}: {why}", node_facts::hostname()),
                        no_device: true,
                        missing_device: of.into_iter().next().unwrap_or_default(),
                        device_gone: true,
                        ..TaskEnded::default()
                    }),
                );
            }
        }
    }

    async fn begin(
        &mut self,
        order: StartTask,
        leases: Vec<FunctionLease>,
        container: &mut OwnContainer<'_>,
    ) {
        let process = order.process;
        match self.start(order, leases, container).await {
            Ok(attempt) => {
                self.attempts.insert(process, attempt);
                container.sampling.begin();
                self.look_at
                    .get_or_insert_with(|| Instant::now() + watch::LOOK);
                self.set_look();
                self.kill_overdue(container).await;
            }
            Err(sentence) => self.not_begun(process, &sentence, container),
        }
    }

    fn not_begun(&self, process: u32, sentence: &str, container: &OwnContainer<'_>) {
        container.outbox.push_of_task(
            self.job,
            Event::Ended(TaskEnded {
                process,
                trouble: format!("{}: {sentence}", node_facts::hostname()),
                ..TaskEnded::default()
            }),
        );
    }

    /// Ends an attempt; its end is told.
    pub(crate) async fn on_end(&mut self, order: EndTask, container: &OwnContainer<'_>) {
        if self.leasing.give_up(order.process) {
            let title = format!("task process {}", order.process);
            return container.outbox.push_of_task(
                self.job,
                Event::Ended(TaskEnded {
                    process: order.process,
                    trouble: format!("{title} was ended by order before its devices were there"),
                    ..TaskEnded::default()
                }),
            );
        }
        if let Some(attempt) = self.attempts.get_mut(&order.process) {
            attempt.is_unwanted = true;
            attempt.kill(format!("{} was ended by order", attempt.title()));
            self.kill_overdue(container).await;
        }
    }

    /// Gathers what maps have left elsewhere, as far as that can be done.
    pub(crate) fn on_gather(&mut self, order: GatherAhead, container: &mut OwnContainer<'_>) {
        if self.ahead.is_none() {
            match self.begin_ahead(&order, container) {
                Ok(ahead) => self.ahead = Some(ahead),
                // Reduces fetch what they need, and say then what is wrong.
                Err(why) => return crate::say(&format!("nothing is gathered ahead: {why}")),
            }
        }
        if let Some(ahead) = &self.ahead {
            ahead.order(order);
        }
    }

    fn begin_ahead(
        &self,
        order: &GatherAhead,
        container: &mut OwnContainer<'_>,
    ) -> Result<Ahead, String> {
        let welcome = serde_json::from_str(&order.welcome);
        let welcome: Welcome = welcome.map_err(|error| error.to_string())?;
        let fetcher = container.exchange.fetcher();
        let gatherer = Gatherer {
            job: self.job,
            fetcher: fetcher.map_err(|error| error.to_string())?,
            room: Room::ahead(
                container.disks.clone(),
                watch::limits(&welcome, &self.host)?,
            ),
            copies: self.copies.clone(),
            ends: self.ends.clone(),
            told: self.gathered_by.clone(),
        };
        Ahead::begin(gatherer).map_err(|error| error.to_string())
    }

    /// Tells what a process has printed so far.
    pub(crate) fn on_log(&self, order: &ReadLog, container: &OwnContainer<'_>) {
        let (job, outbox) = (self.job, container.outbox.clone());
        let id = order.id;
        match self.logs.get(order.process) {
            Some(log) => {
                let reading = container
                    .carriers
                    .spawn_blocking(move || outbox.push_of_task(job, Event::Log(log.read(id))));
                // It ends by itself.
                drop(reading);
            }
            None => outbox.push_of_task(job, Event::Log(logs::not_kept(id))),
        }
    }

    pub(crate) fn on_ended(&mut self, ended: &[ReapedProcess], container: &mut OwnContainer<'_>) {
        self.processes.ended(ended, false);
        self.report(container);
    }

    /// Of the container's memory, for a task, MiB.
    pub(crate) fn memory_mib(&self, process: u32) -> u64 {
        self.attempts.get(&process).map_or(0, |of| of.memory_mib)
    }

    /// A task is about to be killed because it has more memory than its share.
    pub(crate) fn over_share(&mut self, over: &OverLimit) {
        if let Some(attempt) = self.attempts.get_mut(&over.id.number) {
            let title = attempt.title();
            let place = attempt.place();
            attempt.kill(format!(
                "{title} {place}has {}; gerbil mr --memory gives a task more, in a session gerbil session start --memory",
                over.sentence()
            ));
        }
    }

    pub(crate) fn all_ended(&self) -> bool {
        self.processes.all_ended()
    }

    /// The job is over: nobody reads what its maps have left.
    pub(crate) fn end(self, container: &OwnContainer<'_>) {
        container.exchange.kept().forget(self.job);
    }

    /// Looks at the tasks: tells how far they are, once a second, and ends those that do not get on.
    fn look(&mut self, container: &OwnContainer<'_>) {
        for attempt in self.attempts.values_mut() {
            let blame = attempt.blame();
            let wrong = attempt.watch.as_mut().and_then(|watch| watch.look(blame));
            if let Some(wrong) = wrong {
                attempt.kill(watch::sentence(attempt, wrong));
            }
        }
        self.look_at_disks();
        let now = Instant::now();
        if self
            .told_at
            .is_none_or(|at| now.duration_since(at) >= watch::LOOK)
        {
            let seen = self
                .attempts
                .iter()
                .map(|(&process, of)| watch::seen(process, of));
            let tasks: Vec<TaskSeen> = seen.collect();
            // What waits to be sent is not overtaken by more of it.
            if tasks != self.told && !container.outbox.has_tasks_seen(self.job) {
                self.told.clone_from(&tasks);
                self.told_at = Some(now);
                container
                    .outbox
                    .push_of_task(self.job, Event::Seen(TasksSeen { tasks }));
            }
        }
        self.look_at = None;
        self.set_look();
    }

    /// When the next look is due, at the latest.
    fn set_look(&mut self) {
        let watched = self.attempts.values().filter_map(|of| of.watch.as_ref());
        let Some(pause) = watched.map(watch::Watch::pause).min() else {
            return;
        };
        let room = self.room.as_ref().filter(|room| room.is_limited());
        let pause = room.map_or(pause, |room| pause.min(room.pause().max(watch::LOOK_MIN)));
        let at = Instant::now() + pause;
        self.look_at = Some(self.look_at.map_or(at, |before| before.min(at)));
    }

    /// Tells the ends that are due: of processes that will say nothing more, when what they have written is
    /// committed or given up.
    fn report(&mut self, container: &mut OwnContainer<'_>) {
        for report in self.processes.reports(|_| true) {
            if let Some(attempt) = self.attempts.get_mut(&report.number) {
                attempt.end(report);
            }
        }
        self.processes.forget_reported();
        let now = Instant::now();
        let over = self.attempts.iter().filter(|(_, of)| of.is_over(now));
        let over: Vec<u32> = over.map(|(&process, _)| process).collect();
        for process in over {
            let Some(mut attempt) = self.attempts.remove(&process) else {
                continue;
            };
            // It has said its last, or hears within a moment that the process is gone.
            drop(attempt.conversation.take());
            let ended = report::event(process, &mut attempt, &mut container.exchange);
            if ended.device_gone {
                for function in &attempt.lost_functions {
                    container.function_lost(function, Loss::Ended);
                }
            } else if ended.no_device && is_gpu(&ended.missing_device) {
                container.device_lost();
            }
            // What one that failed has printed is what people want to read first of all.
            if ended.trouble.is_empty() {
                self.logs.ended_well(&self.folder, process);
            }
            match self.logs.get(process).filter(|_| {
                let has_failed = !ended.trouble.is_empty();
                has_failed && !attempt.is_unwanted
            }) {
                Some(log) => {
                    let number = match &*attempt.task {
                        ToTask::Map(map) => map.attempt,
                        ToTask::Reduce(reduce) => reduce.attempt,
                        _ => 0,
                    };
                    let title =
                        format!("job {}: {}, attempt {number},", self.job.0, attempt.title());
                    let telling = tell_with(log, ended, title, self.job, container.outbox.clone());
                    container.tasks.spawn_on(telling, container.carriers);
                }
                None => container.outbox.push_of_task(self.job, Event::Ended(ended)),
            }
            if let Some(output) = attempt.output.take().filter(|output| output.is_left()) {
                container.tasks.spawn_on(remove(output), container.carriers);
            }
        }
        if self.attempts.is_empty() {
            self.look_at = None;
        }
    }
}

/// Tells the end of an attempt that has failed, with what it has printed.
async fn tell_with(log: TaskLog, mut ended: TaskEnded, title: String, job: JobId, outbox: Outbox) {
    log.add_to(&mut ended, &title).await;
    outbox.push_of_task(job, Event::Ended(ended));
}

/// Whether a kind of device is that which this launcher takes from its node's list when it is lost.
fn is_gpu(device: &str) -> bool {
    device.is_empty() || device == ElementKind::Gpu.name()
}

/// Removes what an attempt has left that came to nothing.
async fn remove(output: Arc<AttemptOutput>) {
    let storage = &output.output.storage;
    let removal = tokio::time::timeout(REMOVAL, async {
        for path in output.begun() {
            storage.remove(&path).await?;
        }
        Ok::<(), storage::StorageError>(())
    });
    if let Ok(Err(error)) = removal.await {
        crate::say(&format!(
            "what a failed task has left stays until the job is over: {error}"
        ));
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
