//! Jobs as a policy sees them: stages of tasks, and what a task of each needs.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{Bundle, JobIx, JobProfile, Nanos, NodeIx, ResourceName, Speed};
use crate::Few;

/// A phase of a job whose tasks are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Map tasks.
    Map,
    /// Reduce tasks.
    Reduce,
    /// The ranks of an MPI job, which start together or not at all.
    Gang,
}

/// What one task of a stage takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Need {
    /// Out of the container and the node from the decision to the attempt's end.
    pub bundle: Bundle,
    /// Devices that tasks wait for in turn while they run; the node only has to have them.
    pub locks: Vec<ResourceName>,
    /// Where it takes functions of accelerators, no more of them run on a node at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<NodeLimit>,
}

/// How many tasks of a stage run on a node at a time, whatever slots and devices it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeLimit {
    /// So many.
    Most {
        /// Whose tasks: those of another job have a limit of their own.
        job: JobIx,
        /// Of which stage.
        stage: Stage,
        /// The most.
        most: NonZeroU32,
    },
    /// As many as its boards can use, with those of all jobs that take the same function and say the same.
    Boards,
}

/// A job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Order of submission; in a session whose policy goes by [deadlines](super::ByDeadline) the turn by that.
    pub seq: u64,
    /// When it was submitted.
    pub submitted: Nanos,
    /// Higher goes first, where a policy looks at it.
    pub priority: i32,
    /// The user it is for.
    pub tenant: String,
    /// The queue it was submitted to.
    pub queue: String,
    /// What a policy groups jobs by, such as an accelerator's function.
    pub tag: String,
    /// When it wants to be done.
    pub deadline: Option<Nanos>,
    /// After so many failed attempts at one node no further one is started there, while there is another node;
    /// 0: none is avoided for that.
    pub node_failures: u32,
    /// What tasks of an earlier run of it took.
    #[serde(default, skip_serializing_if = "JobProfile::is_empty")]
    pub profile: JobProfile,
    /// Its gang takes slots of all speeds, and does not wait for those of one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_speed: bool,
    /// What is known of each of its stages.
    pub stages: Few<Stage, StageState>,
}

/// Times of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// How many attempts were measured.
    pub count: u32,
    /// Their mean time.
    pub mean: Nanos,
    /// The longest of them.
    #[serde(default)]
    pub longest: Nanos,
}

/// Where none was measured on slots of a speed, they are taken to be at most so many times slower than others.
const SLOWEST: u64 = 4;

/// Where a stage of a job stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StageState {
    /// What each of its tasks takes.
    pub need: Need,
    /// Tasks without an attempt under way that are still to be done.
    pub pending: u32,
    /// Attempts under way, those that were only ordered included.
    pub running: u32,
    /// Tasks whose result is there.
    pub done: u32,
    /// Its tasks are known and may start.
    pub runnable: bool,
    /// Since when tasks are pending while none of the stage runs.
    pub waiting_since: Option<Nanos>,
    /// Times of its attempts that ended well, by the speed of their slots.
    pub measured: Few<Speed, Measured>,
    /// Its tasks may be tried a second time while the first attempt runs.
    pub speculative: bool,
}

impl StageState {
    /// A stage whose tasks take `need`, and are told later.
    #[must_use]
    pub fn wanting(need: Need) -> Self {
        Self {
            need,
            speculative: true,
            ..Self::default()
        }
    }

    /// Mean time of its attempts on slots of this speed; of none, that of others, as long as it may take there at most.
    #[must_use]
    pub fn mean(&self, speed: Speed) -> Option<Nanos> {
        let of_others = || {
            let longest = self.measured.iter().map(|(_, other)| other.mean).max()?;
            Some(Nanos(longest.0.saturating_mul(SLOWEST)))
        };
        let own = self.measured.get(&speed).map(|measured| measured.mean);
        own.or_else(of_others)
    }

    /// One of its attempts has ended well, after this time on a slot of this speed.
    pub(super) fn measure(&mut self, speed: Speed, span: Nanos) {
        let before = self.measured.get(&speed).copied().unwrap_or_default();
        let count = u64::from(before.count);
        let sum = before.mean.0.saturating_mul(count).saturating_add(span.0);
        let mean = Nanos(sum.checked_div(count.saturating_add(1)).unwrap_or(span.0));
        let measured = Measured {
            count: before.count.saturating_add(1),
            mean,
            longest: before.longest.max(span),
        };
        self.measured.insert(speed, measured);
    }

    /// Every task is known, and done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.runnable && self.pending == 0 && self.running == 0
    }
}

/// A task as it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Nodes that have its input.
    pub nodes: Vec<NodeIx>,
    /// Size of its input, in bytes.
    pub bytes: u64,
}
