//! One MapReduce job of a session: from its output folder's making to the client's farewell.
//!
//! It hears ([`MapReduceHeard`](crate::work::WorkEvent)) and answers what is to be done ([`Do`]); it waits for nothing, and knows no time
//! but the one that it is told. Which slot a task has is decided by the session's policies, what follows
//! from a task's end by the machine [`policy::mapreduce`], what is written into the output folder by
//! [`policy::commit`]; here is what that means for launchers and client.
//!
//! ```text
//! setting up ─▶ running ──────────────────────▶ committing ─┐
//! (the output   (tasks are placed, started      (the output │
//!  folder)       and end: tasks)                 appears)   ├─▶ leaving ─▶ unregistering ─▶ farewell
//!       └──────────────┴────▶ giving up ────────────────────┘   (nothing is left on nodes)
//! ```
//!
//! An attempt whose container has not got the job's files yet waits for them. A reduce reads what maps have
//! left with their launchers; while some of it is lost and made again, attempts that would read it are
//! parked in their slots, unless a map wants one.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod accused;
mod act;
mod attempts;
mod by_speed;
mod commit_records;
mod ended;
mod ending;
mod explain;
mod folder;
mod hearing;
mod history;
mod history_file;
mod homes;
mod leaving;
mod messages;
mod moves;
mod needs;
mod orders;
mod printed;
mod sentences;
mod tasks;
#[cfg(test)]
mod tests;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use gerbil_task::{Counters, add};
use job::wire::job_event::Event as ToClient;
use job::{MapReduceJob, TasksReport, wire};
use policy::commit::TaskResult;
use policy::mapreduce::{MapReduceMachine, MaxAttempts};
use policy::schedule::{AttemptIx, ContainerIx, Stage, TaskIx};
use policy::{ContainerId, Millis};

use crate::client_events::Outbox;
use crate::mapreduce::attempts::Attempts;
use crate::mapreduce::ending::Ending;
use crate::mapreduce::history::Past;
use crate::mapreduce::homes::Homes;
use crate::mapreduce::leaving::Leaving;
use crate::mapreduce::orders::Orders;
use crate::work::Do;

pub(crate) use commit_records::{Book, Record};
pub(crate) use folder::{Folder, FolderWork, Others};
pub(crate) use history_file::keep;
pub(crate) use messages::{MapReduceEffect, MapReduceEvent, MapReduceHeard};
pub(crate) use printed::{Logged, PrintedPlace, Wanted};

/// Between two words to the client of how far the tasks are.
const SHOW: Millis = Millis(1_000);

/// Whether a client follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Awaited,
    Attached,
    Gone,
}

/// How far the job's life is.
#[derive(Debug)]
enum LifeState {
    /// Its output folder is made.
    SettingUp,
    /// Its tasks run.
    Running,
    /// The verdict is out, or as good as out.
    Ending(Ending),
}

/// A container that the job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContainerUse {
    /// The job's files are on their way.
    Fetching,
    /// They are there.
    Joined,
    /// They could not be brought: for the next attempt there they are brought again.
    WithoutFiles,
    /// The launcher was told that the job is over.
    Leaving,
}

/// What a map has left with its launcher for reduces.
#[derive(Debug)]
struct MapOutput {
    attempt: AttemptIx,
    container: ContainerId,
    place: ContainerIx,
    /// Where other launchers fetch it.
    address: String,
    /// How many there were in the job's life, this one included.
    number: u64,
}

/// The job.
#[derive(Debug)]
pub(crate) struct MapReduce {
    description: MapReduceJob,
    orders: Orders,
    /// Where what is to be done is put down.
    todo: Vec<Do>,
    /// Since the job began.
    now: Millis,
    step: LifeState,
    machine: MapReduceMachine,
    attempts: Attempts,
    places: BTreeMap<ContainerId, ContainerUse>,
    /// Containers that it has had attempts in, as the policies know them.
    known: BTreeMap<ContainerId, ContainerIx>,
    /// Where the output of a map's attempt could not be fetched, each time.
    unfetched: BTreeMap<AttemptIx, Vec<ContainerIx>>,
    /// Containers that give nothing to others, or get nothing from them, while others do.
    faulty: BTreeSet<ContainerIx>,
    /// Of two containers that do well with others the first gives nothing to the second.
    cut: BTreeSet<(ContainerIx, ContainerIx)>,
    /// The host of each container that it has had attempts in.
    hosts: BTreeMap<ContainerIx, String>,
    /// How often a reduce could not read everything.
    unread: BTreeMap<TaskIx, u32>,
    outputs: BTreeMap<TaskIx, MapOutput>,
    /// How many there were so far.
    outputs_made: u64,
    /// Where what they are is gathered before reduces begin.
    homes: Homes,
    /// Containers that YARN takes.
    leaving: Leaving,
    /// Reduces that may start, as far as the policies were told.
    reduces_told: u32,
    /// Of tasks that have written files of the output, or were repeated, by their numbers in the plan, the attempt whose
    /// files are to be in it.
    results: BTreeMap<(Stage, u32), TaskResult>,
    /// Tasks that have ended well once, whatever became of their results.
    ever_done: BTreeSet<(Stage, TaskIx)>,
    counters: Counters,
    /// Tasks of each stage whose result is there.
    maps_done: u32,
    reduces_done: u32,
    failed_attempts: u32,
    /// Attempts that found no device, and stages that turned out to need one.
    no_device_attempts: u32,
    found_needs: BTreeMap<Stage, Vec<String>>,
    /// Stages whose functions of accelerators the processor computes, as no node has them.
    on_processors: BTreeSet<Stage>,
    /// Stages of which it was shown that tasks wait for devices that others hold.
    in_line: BTreeSet<Stage>,
    /// Leases that have ended under a task's processes.
    lost_leases: BTreeMap<(Stage, TaskIx), u32>,
    /// Failed attempts by the host of each.
    failed_on: BTreeMap<String, u32>,
    /// The sentence of the last failure of each task.
    failures: BTreeMap<(Stage, TaskIx), String>,
    client: Client,
    outbox: Outbox,
    /// Reduces that wait for maps give their slots up then.
    unpark_at: Option<Millis>,
    /// How far the tasks are is told then.
    show_at: Option<Millis>,
    shown: wire::TasksPhase,
    /// It was said that the output folder has to wait.
    folder_waits: bool,
    /// When the first task was started, and, all having ended well, the commit.
    tasks_began: Option<Millis>,
    commit_began: Option<Millis>,
    /// Attempts that are over.
    past: Past,
}

impl MapReduce {
    /// One whose life has not begun; `job` is its text.
    pub(crate) fn new(description: MapReduceJob, job: &str) -> Self {
        let maps = u32::try_from(description.splits.len()).unwrap_or(u32::MAX);
        Self {
            orders: Orders::new(&description, job),
            todo: Vec::new(),
            now: Millis(0),
            step: LifeState::SettingUp,
            machine: MapReduceMachine::new(
                maps,
                description.reduces,
                MaxAttempts {
                    map: description.map.attempts.max(1),
                    reduce: description.reduce.attempts.max(1),
                },
            )
            .skipping(description.skip_max, description.skip_groups),
            attempts: Attempts::default(),
            places: BTreeMap::new(),
            known: BTreeMap::new(),
            unfetched: BTreeMap::new(),
            faulty: BTreeSet::new(),
            cut: BTreeSet::new(),
            hosts: BTreeMap::new(),
            unread: BTreeMap::new(),
            outputs: BTreeMap::new(),
            outputs_made: 0,
            homes: Homes::default(),
            leaving: Leaving::default(),
            reduces_told: 0,
            results: BTreeMap::new(),
            ever_done: BTreeSet::new(),
            counters: Counters::new(),
            maps_done: 0,
            reduces_done: 0,
            failed_attempts: 0,
            no_device_attempts: 0,
            found_needs: BTreeMap::new(),
            on_processors: BTreeSet::new(),
            in_line: BTreeSet::new(),
            lost_leases: BTreeMap::new(),
            failed_on: BTreeMap::new(),
            failures: BTreeMap::new(),
            client: Client::Awaited,
            outbox: Outbox::default(),
            unpark_at: None,
            show_at: None,
            shown: wire::TasksPhase::default(),
            folder_waits: false,
            tasks_began: None,
            commit_began: None,
            past: Past::default(),
            description,
        }
    }

    /// The session has taken it.
    pub(crate) fn begin(&mut self, now: Millis) -> Vec<Do> {
        self.now = now;
        let is_new = self.description.output_is_new;
        self.want(MapReduceEffect::Folder(FolderWork::SetUp { is_new }));
        std::mem::take(&mut self.todo)
    }

    /// When [`Tick`](crate::work::MapReduceHeard::Every(JobEvent::Tick)) is due, if nothing else happens before.
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        // What is due in one state only is named there: in another nothing is done about it, and it stays due.
        let due = match &self.step {
            LifeState::SettingUp => [None; 3],
            LifeState::Running => [
                self.homes.wakes_at(),
                self.leaving.wakes_at(),
                self.unpark_at,
            ],
            LifeState::Ending(ending) => [ending.wakes_at(), None, None],
        };
        due.into_iter().chain([self.show_at]).flatten().min()
    }

    /// Whether there is an event for the client that may be told now.
    pub(crate) fn has_an_event(&self) -> bool {
        !self.outbox.is_empty()
    }

    pub(crate) const fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// The verdict is out.
    pub(crate) const fn is_ending(&self) -> bool {
        matches!(self.step, LifeState::Ending(_))
    }

    /// Everybody knows the verdict, and the client has left.
    pub(crate) fn is_over(&self) -> bool {
        let LifeState::Ending(ending) = &self.step else {
            return false;
        };
        ending.is_farewell() && self.client == Client::Gone
    }

    /// The folder that its output goes to.
    pub(crate) fn folder(&self) -> Option<Folder> {
        self.orders.folder(&self.description)
    }

    /// The first client to come follows the job.
    fn attach(&mut self) {
        let admission = match self.client {
            Client::Awaited => {
                self.client = Client::Attached;
                Ok(())
            }
            Client::Attached => Err("another client follows this job"),
            Client::Gone => Err("the client that followed this job is gone, and the job with it"),
        };
        let comes = admission.is_ok();
        self.todo.push(Do::Admit(admission));
        if comes {
            self.want(MapReduceEffect::Show(self.shown.clone()));
        }
    }

    /// How far the tasks are.
    pub(crate) fn phase(&self) -> wire::TasksPhase {
        wire::TasksPhase {
            maps: count(self.description.splits.len()),
            maps_done: self.maps_done,
            reduces: self.description.reduces,
            reduces_done: self.reduces_done,
            running: self.attempts.running(),
            bytes: self.orders.bytes(),
            bytes_done: self.attempts.bytes_done(),
            waits: self.waits(),
        }
    }

    /// Says how far the tasks are, once in a while.
    fn may_show(&mut self) {
        let phase = self.phase();
        if phase == self.shown {
            self.show_at = None;
            return;
        }
        match self.show_at {
            Some(at) if self.now >= at => {
                self.show_at = None;
                self.shown = phase.clone();
                self.want(MapReduceEffect::Show(phase));
            }
            Some(_) => {}
            None => self.show_at = Some(self.now.plus(SHOW)),
        }
    }

    /// A task has ended well: what it has counted is the job's.
    fn count(&mut self, counters: Counters) {
        add(&mut self.counters, counters);
    }

    fn report(&self) -> TasksReport {
        let since = |from: Option<Millis>, to: Millis| {
            let from = from.map_or(to.0, |from| from.0);
            to.0.saturating_sub(from)
        };
        let ended = self.commit_began.unwrap_or(self.now);
        TasksReport {
            counters: self.counters.clone(),
            maps: count(self.description.splits.len()),
            reduces: self.description.reduces,
            failed_attempts: self.failed_attempts,
            no_device_attempts: self.no_device_attempts,
            found_needs: self.found_needs(),
            tasks_ms: since(self.tasks_began, ended),
            commit_ms: since(self.commit_began, self.now),
        }
    }

    fn want(&mut self, wanted: MapReduceEffect) {
        self.todo.push(Do::ForTasks(wanted));
    }

    /// How many maps and reduces it has.
    pub(crate) fn task_counts(&self) -> [u32; 2] {
        let maps = count(self.description.splits.len());
        [maps, self.description.reduces]
    }

    pub(crate) fn notice(&mut self, sentence: String) {
        self.outbox
            .push(ToClient::Notice(wire::Notice { sentence }));
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
