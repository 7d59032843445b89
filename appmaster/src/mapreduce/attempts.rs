//! Attempts at the job's tasks: where each is, and how far.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use job::history::EarlierSlot;
use policy::schedule::{AttemptIx, ContainerIx, Speed, Stage, TaskIx};
use policy::{ContainerId, Millis};

/// An attempt that has a slot.
#[derive(Clone, Debug)]
pub(super) struct PlacedAttempt {
    /// As what it was placed; its process has the same number.
    pub(super) ix: AttemptIx,
    pub(super) stage: Stage,
    pub(super) task: TaskIx,
    /// How many there were at its task before.
    pub(super) number: u32,
    pub(super) container: ContainerId,
    pub(super) host: String,
    /// As what the policies know that container.
    pub(super) place: ContainerIx,
    pub(super) slot: u32,
    /// Cores of its slot; empty: it is not bound.
    pub(super) cpus: Vec<u32>,
    /// Of these; one that is stopped has that of the slot before.
    pub(super) speed: Speed,
    /// It is stopped there, and goes on later.
    pub(super) parked: bool,
    /// Slots that it was ordered to, which its launcher has not answered.
    pub(super) moves_to: VecDeque<MovesTo>,
    /// Its task was known to need an element when it was placed.
    pub(super) has_needs: bool,
    /// The launcher was ordered to start it.
    pub(super) is_ordered: bool,
    /// Of a reduce: the last output that there was when it was ordered.
    pub(super) reads_until: u64,
    /// Records of a map, groups of a reduce, that it was told to leave out, ascending.
    pub(super) skips: Vec<u64>,
    /// The launcher was ordered to end it.
    pub(super) is_stopped: bool,
    pub(super) far: Far,
    /// The number of its process on its node; 0: not known yet.
    pub(super) pid: u32,
    /// Slots that it has left while it ran.
    pub(super) earlier_slots: Vec<EarlierSlot>,
    /// When its launcher was ordered to start it.
    pub(super) began: Option<Millis>,
}

/// Where an attempt was ordered to.
#[derive(Clone, Debug)]
pub(super) struct MovesTo {
    pub(super) slot: u32,
    pub(super) cpus: Vec<u32>,
    pub(super) speed: Speed,
    /// To be stopped there.
    pub(super) parked: bool,
}

/// How far an attempt is, as its launcher has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Far {
    /// Of a map bytes that it has read, of a reduce records.
    pub(super) done: u64,
    /// Of so many; 0: not known.
    pub(super) of: u64,
}

impl Far {
    /// Of all; none where that is not known.
    pub(super) fn percent(self) -> Option<u64> {
        self.done
            .min(self.of)
            .saturating_mul(100)
            .checked_div(self.of)
    }
}

/// All that have a slot, and what is known of those before.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    all: BTreeMap<AttemptIx, PlacedAttempt>,
    /// Attempts that there were at each task.
    tries: BTreeMap<(Stage, TaskIx), u32>,
    /// Bytes that maps have read that are over.
    bytes: u64,
}

impl Attempts {
    /// The number of the next attempt at a task, which is this one.
    pub(super) fn next_try(&mut self, stage: Stage, task: TaskIx) -> u32 {
        let tries = self.tries.entry((stage, task)).or_default();
        let number = *tries;
        *tries = number.saturating_add(1);
        number
    }

    pub(super) fn insert(&mut self, ix: AttemptIx, attempt: PlacedAttempt) {
        self.all.insert(ix, attempt);
    }

    pub(super) fn get(&self, ix: AttemptIx) -> Option<&PlacedAttempt> {
        self.all.get(&ix)
    }

    pub(super) fn get_mut(&mut self, ix: AttemptIx) -> Option<&mut PlacedAttempt> {
        self.all.get_mut(&ix)
    }

    /// An attempt is over; `read`: bytes of input that its task has read for good.
    pub(super) fn remove(&mut self, ix: AttemptIx, read: u64) -> Option<PlacedAttempt> {
        self.bytes = self.bytes.saturating_add(read);
        self.all.remove(&ix)
    }

    /// A map's result is lost: so many bytes are to be read again.
    pub(super) fn unread(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Those in a container.
    pub(super) fn within(&self, container: &ContainerId) -> Vec<AttemptIx> {
        let there = self
            .all
            .iter()
            .filter(|(_, attempt)| attempt.container == *container);
        there.map(|(ix, _)| *ix).collect()
    }

    /// Those of a stage that wait for something before they are started.
    pub(super) fn waiting(&self, stage: Stage) -> Vec<AttemptIx> {
        let waiting = self
            .all
            .iter()
            .filter(|(_, attempt)| attempt.stage == stage && !attempt.is_ordered);
        waiting.map(|(ix, _)| *ix).collect()
    }

    /// Those at one task.
    pub(super) fn at(&self, stage: Stage, task: TaskIx) -> Vec<AttemptIx> {
        let at = self
            .all
            .iter()
            .filter(|(_, attempt)| (attempt.stage, attempt.task) == (stage, task));
        at.map(|(ix, _)| *ix).collect()
    }

    /// Tasks of a stage that have an attempt.
    pub(super) fn tasks(&self, stage: Stage) -> usize {
        let of_stage = self.all.values().filter(|attempt| attempt.stage == stage);
        let tasks: BTreeSet<TaskIx> = sort::set(of_stage.map(|attempt| attempt.task));
        tasks.len()
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &PlacedAttempt> {
        self.all.values()
    }

    /// Of the tasks of a stage that have an attempt, the one that is farthest behind: its farther attempt.
    pub(super) fn farthest_behind(&self, stage: Stage) -> Option<&PlacedAttempt> {
        let far = |attempt: &PlacedAttempt| attempt.far.percent().unwrap_or_default();
        let mut best: BTreeMap<TaskIx, &PlacedAttempt> = BTreeMap::new();
        for attempt in self.all.values().filter(|of| of.stage == stage) {
            let known = best.entry(attempt.task).or_insert(attempt);
            if far(attempt) > far(known) {
                *known = attempt;
            }
        }
        best.into_values().min_by_key(|attempt| far(attempt))
    }

    pub(super) fn running(&self) -> u32 {
        let ordered = self.all.values().filter(|attempt| attempt.is_ordered);
        super::count(ordered.count())
    }

    /// Bytes of input that are read; of two attempts at one map those of the farther one.
    pub(super) fn bytes_done(&self) -> u64 {
        let mut maps: BTreeMap<TaskIx, u64> = BTreeMap::new();
        for attempt in self.all.values() {
            if attempt.stage == Stage::Map {
                let read = maps.entry(attempt.task).or_default();
                *read = attempt.far.done.max(*read);
            }
        }
        self.bytes.saturating_add(maps.into_values().sum())
    }
}
