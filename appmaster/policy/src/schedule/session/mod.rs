//! What is known of jobs, nodes, slots, tasks and attempts, by index.
//!
//! [`Session::apply`] is the only way to change it; everything else looks. A wrapper that wants the
//! policy inside it to choose among fewer jobs hands it [`Session::only`] or [`Session::without`]: the
//! same facts with some jobs out of sight.

mod choosing;
mod limits;
mod needs;
mod places;
mod stay;
mod used;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::saved::pairs;
use super::{
    AttemptIx, AttemptPhase, Bundle, Container, ContainerIx, Job, JobIx, Nanos, Node, NodeIx,
    ResourceName, Slot, SlotIx, Speed, Stage, Task, TaskIx,
};
use crate::schedule::place::SlotKind;
use crate::{Few, Numbered};

pub use needs::Class;
use needs::Needs;
pub(super) use places::AVOIDED;
pub use stay::Stay;
use used::Used;

/// The state that every policy decides on.
#[derive(Clone, Debug, Default)]
pub struct Session {
    pub(super) state: Arc<ScheduleState>,
    shown: Shown,
}

/// Which jobs a policy sees.
#[derive(Clone, Debug, Default)]
struct Shown {
    priority: Option<i32>,
    job: Option<JobIx>,
    /// Only those with a pending task that has its input there, or needs none.
    near: Option<NodeIx>,
    hidden: BTreeSet<JobIx>,
}

/// One try at a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// The job of its task.
    pub job: JobIx,
    /// Of which stage.
    pub stage: Stage,
    /// What it takes, and gives back when it is over, whatever its stage needs by then.
    #[serde(default)]
    pub class: Option<Class>,
    /// At which task.
    pub task: TaskIx,
    /// Where it runs, or ran before it was ordered elsewhere.
    pub slot: SlotIx,
    /// Where it is ordered to.
    pub to: Option<SlotIx>,
    /// Another that changes places with it.
    pub swaps: Option<AttemptIx>,
    /// When it was ordered.
    pub ordered: Nanos,
    /// When it was said to run.
    pub began: Option<Nanos>,
    /// On its slot, once it has begun.
    pub stay: Option<Stay>,
    /// The last that was told: phase, done and of bytes, when.
    pub progress: Option<(AttemptPhase, u64, u64, Nanos)>,
    /// It was ordered to end.
    pub stopping: bool,
    /// When its launcher last could not move it.
    #[serde(default)]
    pub stuck: Option<Nanos>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JobRecord {
    pub(super) job: Job,
    pub(super) class: Few<Stage, Class>,
    pub(super) tasks: Few<Stage, Tasks>,
    /// Bytes of a partition at a node.
    #[serde(with = "pairs")]
    pub(super) gathered: BTreeMap<(u32, NodeIx), u64>,
    /// The orders that each stage stands in.
    pub(super) listed: Few<Stage, ListedStage>,
    /// Attempts under way, of all stages.
    pub(super) under_way: u32,
    /// The stages that stand in `by_running`, and under which number.
    pub(super) listed_running: Few<Stage, u32>,
    /// It stands in `gangs`, as one of so many ranks.
    pub(super) listed_gang: Option<u32>,
    pub(super) left: bool,
}

/// In which orders of jobs a stage of one stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListedStage {
    /// Those of jobs with pending tasks.
    pub(super) pending: bool,
    /// The one of jobs whose stage is not done.
    pub(super) unfinished: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tasks {
    pub(super) all: Vec<TaskRecord>,
    pub(super) pending: BTreeSet<TaskIx>,
    pub(super) at_node: BTreeMap<NodeIx, BTreeSet<TaskIx>>,
    pub(super) in_rack: BTreeMap<String, BTreeSet<TaskIx>>,
    /// Pending tasks of whose nodes none has a container, or that have none.
    pub(super) placeless: BTreeSet<TaskIx>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TaskRecord {
    pub(super) task: Task,
    pub(super) attempts: Vec<AttemptIx>,
    pub(super) done: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NodeRecord {
    pub(super) node: Node,
    /// What attempts there have of it, be it more than there is (any more).
    pub(super) taken: Bundle,
    /// Attempts there of stages that have a limit on a node, by what they need.
    #[serde(default, skip_serializing_if = "Few::is_empty")]
    pub(super) limited: Few<Class, u64>,
    /// Tasks that take a function and may run there at a time, as its boards can use them.
    #[serde(default, skip_serializing_if = "Few::is_empty")]
    pub(super) allowed: Few<ResourceName, u64>,
    pub(super) containers: BTreeSet<ContainerIx>,
    pub(super) free: BTreeSet<SlotIx>,
    /// The same by what may run on them.
    #[serde(with = "pairs")]
    pub(super) free_kinds: BTreeMap<SlotKind, BTreeSet<SlotIx>>,
    /// It has had a container: its rack is known.
    pub(super) has_joined: bool,
}

impl NodeRecord {
    /// Makes of the count of attempts of a class that has a limit another.
    pub(super) fn limit(&mut self, class: Class, to: impl Fn(u64) -> u64) {
        match to(self.limited.get(&class).copied().unwrap_or(0)) {
            0 => self.limited.remove(&class),
            count => self.limited.insert(class, count),
        };
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ContainerRecord {
    pub(super) container: Container,
    /// What attempts there have of it.
    pub(super) taken: Bundle,
    pub(super) slots: Vec<SlotIx>,
    /// Wanted back: no new task goes there.
    pub(super) leaving: Option<Nanos>,
}

/// What gangs have in common that a policy tells apart by nothing but their turn: priority, tenant and queue, what a
/// rank takes, and how many ranks there are.
type GangKey = (i32, (String, String), Class, u32);

/// Jobs in the order of their attempts under way, then of submission.
type ByRunning = BTreeSet<(u32, u64, JobIx)>;

/// Everything, in collections that have an order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ScheduleState {
    pub(super) now: Nanos,
    pub(super) jobs: Numbered<JobIx, JobRecord>,
    pub(super) nodes: Vec<NodeRecord>,
    pub(super) hosts: BTreeMap<String, NodeIx>,
    pub(super) containers: Numbered<ContainerIx, ContainerRecord>,
    pub(super) slots: Numbered<SlotIx, Slot>,
    /// How many of them run each stage.
    pub(super) slots_of: BTreeMap<Stage, usize>,
    pub(super) attempts: Numbered<AttemptIx, Attempt>,
    /// Attempts at tasks whose result is there: those that another was faster than.
    pub(super) late: BTreeSet<AttemptIx>,
    pub(super) next_job: u32,
    pub(super) next_container: u32,
    pub(super) next_slot: u32,
    pub(super) next_attempt: u32,
    pub(super) needs: Needs,
    /// Jobs with pending tasks, in order of submission.
    #[serde(with = "pairs")]
    pub(super) runnable: BTreeMap<(Stage, Class), BTreeSet<(u64, JobIx)>>,
    /// The same of each priority, highest last.
    #[serde(with = "pairs")]
    pub(super) by_priority: BTreeMap<(Stage, i32, Class), BTreeSet<(u64, JobIx)>>,
    /// The same of each queue and user.
    #[serde(with = "pairs")]
    pub(super) by_owner: BTreeMap<(Stage, Owner, Class), BTreeSet<(u64, JobIx)>>,
    /// The same of jobs with a pending task whose input is at a node; and of those with one that needs no place.
    #[serde(with = "pairs")]
    pub(super) near: BTreeMap<(Stage, Class, NodeIx), BTreeSet<(u64, JobIx)>>,
    #[serde(with = "pairs")]
    pub(super) placeless: BTreeMap<(Stage, Class), BTreeSet<(u64, JobIx)>>,
    /// Jobs are kept in the order below.
    pub(super) by_running_is_kept: bool,
    /// Jobs have the turn of their deadline.
    #[serde(default)]
    pub(super) by_deadline: bool,
    /// The same by how many attempts of the job are under way, in each priority.
    #[serde(with = "pairs")]
    pub(super) by_running: BTreeMap<(Stage, Class, i32), ByRunning>,
    /// Gangs that wait, in order of submission.
    #[serde(with = "pairs")]
    pub(super) gangs: BTreeMap<GangKey, BTreeSet<(u64, JobIx)>>,
    /// Jobs whose stage is not done.
    pub(super) unfinished: BTreeMap<Stage, BTreeSet<(u64, JobIx)>>,
    /// Jobs whose stage waits with nothing of it running, by since when.
    #[serde(with = "pairs")]
    pub(super) waiting: BTreeMap<(Stage, Class), BTreeSet<(Nanos, JobIx)>>,
    /// Attempts under way of each queue and user.
    pub(super) used: Used,
    /// What all containers and their nodes have.
    pub(super) total: Bundle,
    pub(super) free_nodes: BTreeSet<NodeIx>,
    /// Free slots that run a stage, by node: a slot for two stages is in both.
    #[serde(with = "pairs")]
    pub(super) free_by: BTreeMap<(Stage, Speed), BTreeSet<(NodeIx, SlotIx)>>,
    /// Slots kept for a gang: until when.
    pub(super) held: BTreeMap<SlotIx, (JobIx, Nanos)>,
    /// The same by job, and by the end.
    pub(super) held_of: BTreeSet<(JobIx, SlotIx)>,
    pub(super) hold_ends: BTreeSet<(Nanos, SlotIx)>,
    /// Failed attempts of a job at a node.
    #[serde(with = "pairs")]
    pub(super) failed: BTreeMap<(NodeIx, JobIx), u32>,
    /// Tasks of which an attempt has failed at a node.
    #[serde(default)]
    pub(super) failed_at: BTreeSet<(NodeIx, JobIx, Stage, TaskIx)>,
    /// Bytes of all partitions at a node.
    pub(super) gathered_at: BTreeMap<NodeIx, u64>,
}

/// Whom slots are shared out to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Owner {
    /// A queue, by name.
    Queue(String),
    /// A user, by name.
    Tenant(String),
}

/// A session on file has all jobs in sight, as the driver's has.
impl Serialize for Session {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.state.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Session {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self {
            state: Arc::new(ScheduleState::deserialize(deserializer)?),
            shown: Shown::default(),
        })
    }
}

impl Session {
    /// One without jobs and nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, in which jobs are also kept in the order of their attempts under way, or are not; and the order of
    /// submission is that of deadlines, or is not.
    pub(super) fn ordered(by_running: bool, by_deadline: bool) -> Self {
        let state = ScheduleState {
            by_running_is_kept: by_running,
            by_deadline,
            ..ScheduleState::default()
        };
        Self {
            state: Arc::new(state),
            shown: Shown::default(),
        }
    }

    /// Whether the [turn](Job::seq) of a job is that of its deadline.
    pub(super) fn goes_by_deadline(&self) -> bool {
        self.state.by_deadline
    }

    /// The point in time of the last event.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.state.now
    }

    /// A job, as long as it is there or something of it runs.
    #[must_use]
    pub fn job(&self, job: JobIx) -> Option<&Job> {
        self.state.jobs.get(&job).map(|record| &record.job)
    }

    /// Maps and reduces of a job that are known so far.
    #[must_use]
    pub fn task_count(&self, job: JobIx) -> u32 {
        let record = self.state.jobs.get(&job);
        let tasks = record.into_iter().flat_map(|record| record.tasks.iter());
        let one_by_one = tasks.filter(|(stage, _)| *stage != Stage::Gang);
        let counts = one_by_one.map(|(_, tasks)| tasks.all.len());
        u32::try_from(counts.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// Where a stage of a job stands.
    #[must_use]
    pub fn stage(&self, job: JobIx, stage: Stage) -> Option<&super::StageState> {
        self.job(job)?.stages.get(&stage)
    }

    /// What class of need a stage of a job has.
    pub(super) fn class_of(&self, job: JobIx, stage: Stage) -> Option<Class> {
        self.state.jobs.get(&job)?.class.get(&stage).copied()
    }

    /// Jobs that are not over, by number.
    pub fn jobs(&self) -> impl Iterator<Item = (JobIx, &Job)> {
        let there = self.state.jobs.iter().filter(|(_, record)| !record.left);
        there.map(|(ix, record)| (ix, &record.job))
    }

    /// Whether a job is over.
    #[must_use]
    pub fn has_left(&self, job: JobIx) -> bool {
        self.state.jobs.get(&job).is_none_or(|record| record.left)
    }

    /// An attempt that is not over.
    #[must_use]
    pub fn attempt(&self, attempt: AttemptIx) -> Option<&Attempt> {
        self.state.attempts.get(&attempt)
    }

    /// Attempts that are not over, by number.
    pub fn attempts(&self) -> impl Iterator<Item = (AttemptIx, &Attempt)> {
        self.state.attempts.iter()
    }

    /// The number that the next attempt has.
    #[must_use]
    pub fn next_attempt(&self) -> AttemptIx {
        AttemptIx(self.state.next_attempt)
    }

    /// Attempts that are not over although the results of their tasks are there, by number.
    pub fn late(&self) -> impl Iterator<Item = (AttemptIx, &Attempt)> {
        let late = self.state.late.iter();
        late.filter_map(|ix| Some((*ix, self.attempt(*ix)?)))
    }

    /// Attempts at the task of `attempt`, itself included.
    #[must_use]
    pub fn twins(&self, attempt: &Attempt) -> &[AttemptIx] {
        let task = self.task_record(attempt.job, attempt.stage, attempt.task);
        task.map_or(&[], |task| &task.attempts)
    }

    /// Whether the result of a task is there.
    #[must_use]
    pub fn is_done(&self, job: JobIx, stage: Stage, task: TaskIx) -> bool {
        self.task_record(job, stage, task)
            .is_some_and(|task| task.done)
    }

    /// A task as it was told.
    #[must_use]
    pub fn task(&self, job: JobIx, stage: Stage, task: TaskIx) -> Option<&Task> {
        self.task_record(job, stage, task)
            .map(|record| &record.task)
    }

    fn task_record(&self, job: JobIx, stage: Stage, task: TaskIx) -> Option<&TaskRecord> {
        let tasks = self.state.jobs.get(&job)?.tasks.get(&stage)?;
        tasks.all.get(task.0 as usize)
    }

    pub(super) fn tasks(&self, job: JobIx, stage: Stage) -> Option<&Tasks> {
        self.state.jobs.get(&job)?.tasks.get(&stage)
    }
}
