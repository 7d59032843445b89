//! The machine.

use std::collections::{BTreeMap, BTreeSet};

use super::fetches::{AtFault, Fetches};
use super::messages::{Action, Digest, Event, JobFailure};
use super::outputs::{MapOutputPlace, Outputs};
use super::reduces::Reduces;
use super::skips::{SkipOutcome, Skips};
use crate::schedule::{AttemptIx, AttemptOutcome, ContainerIx, Stage, TaskIx};

/// An attempt that is under way.
#[derive(Clone, Copy, Debug)]
struct OpenAttempt {
    stage: Stage,
    task: TaskIx,
    at: ContainerIx,
    /// Of a reduce: what it was told to read is not its input any more.
    is_outdated: bool,
}

/// How many attempts of one task may fail; the last of them ends the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxAttempts {
    /// Of a map.
    pub map: u32,
    /// Of a reduce.
    pub reduce: u32,
}

/// One job.
#[derive(Clone, Debug)]
pub struct MapReduceMachine {
    max_attempts: MaxAttempts,
    attempts: BTreeMap<AttemptIx, OpenAttempt>,
    failures: BTreeMap<(Stage, TaskIx), u32>,
    outputs: Outputs,
    reduces: Reduces,
    fetches: Fetches,
    skips: Skips,
    is_over: bool,
}

impl MapReduceMachine {
    /// One with so many maps and partitions, at least one of either; without partitions a map's result is its
    /// committed output, which no launcher keeps.
    #[must_use]
    pub fn new(maps: u32, partitions: u32, max_attempts: MaxAttempts) -> Self {
        Self {
            max_attempts,
            attempts: BTreeMap::new(),
            failures: BTreeMap::new(),
            outputs: Outputs::new(maps, partitions),
            reduces: Reduces::new(partitions),
            fetches: Fetches::default(),
            skips: Skips::new(0, 0),
            is_over: false,
        }
    }

    /// The same where each map may leave out so many records, and each reduce so many groups, that the job's code
    /// fails on.
    #[must_use]
    pub fn skipping(mut self, records: u32, groups: u32) -> Self {
        self.skips = Skips::new(records, groups);
        self
    }

    /// Whether a failure over this record of a map, or group of a reduce, counts for nothing: it is left out, or may
    /// be.
    #[must_use]
    pub fn may_skip(&self, stage: Stage, task: TaskIx, number: u64) -> bool {
        self.skips.may((stage, task), number)
    }

    /// Numbers of the records, or groups, that an attempt at a task is to leave out, ascending.
    #[must_use]
    pub fn skips(&self, stage: Stage, task: TaskIx) -> Vec<u64> {
        self.skips.of((stage, task)).collect()
    }

    /// The partition of a reduce task.
    #[must_use]
    pub fn partition(&self, reduce: TaskIx) -> Option<u32> {
        self.reduces.partition(reduce)
    }

    /// Whether the result of a reduce task is there.
    #[must_use]
    pub fn has_committed(&self, reduce: TaskIx) -> bool {
        let partition = self.partition(reduce);
        partition.is_some_and(|partition| self.reduces.is_committed(partition))
    }

    /// Whether the result of a task is there, and not lost.
    #[must_use]
    pub fn has_result(&self, stage: Stage, task: TaskIx) -> bool {
        match stage {
            Stage::Map => self.outputs.of(task).is_some(),
            Stage::Reduce | Stage::Gang => self.has_committed(task),
        }
    }

    /// Whether the attempt's result is its task's, if it ends well now: the task has no other, and the attempt has
    /// read what is still the task's input. An order to end the attempt that comes too late changes nothing.
    ///
    /// Nothing but this decides it: whoever keeps a result asks here first, and keeps all of it or nothing.
    #[must_use]
    pub fn counts(&self, attempt: AttemptIx) -> bool {
        let open = self.attempts.get(&attempt);
        open.is_some_and(|open| !open.is_outdated && !self.has_result(open.stage, open.task))
    }

    /// Whether what a map's attempt has left is the map's output, and not lost.
    #[must_use]
    pub fn has_output(&self, attempt: AttemptIx) -> bool {
        self.outputs.map_of(attempt).is_some()
    }

    /// Whether [`Action::Done`] or [`Action::Fail`] was said.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes in one event and says what follows, in order. What names something that is gone changes nothing.
    #[must_use]
    pub fn step(&mut self, event: Event) -> Vec<Action> {
        if self.is_over {
            return Vec::new();
        }
        match event {
            Event::SlotsCome => self.slots_come(),
            Event::Started {
                attempt,
                stage,
                task,
                at,
            } => {
                let open = OpenAttempt {
                    stage,
                    task,
                    at,
                    is_outdated: false,
                };
                self.attempts.insert(attempt, open);
                Vec::new()
            }
            Event::Mapped { attempt, digest } => self.mapped(attempt, digest),
            Event::CommitAsked(attempt) => self.commit_asked(attempt),
            Event::Reduced(attempt) => self.reduced(attempt),
            Event::Ended { attempt, how } => self.ended(attempt, how),
            Event::FailedOn { attempt, record } => self.failed_on(attempt, record),
            Event::Gathered {
                attempt,
                partition,
                home,
            } => self.gathered(attempt, partition, home),
            Event::Dropped { partition } => self.dropped(partition),
            Event::FetchFailed { attempt, home } => self.fetch_failed(attempt, home),
            Event::FetchedFrom { source, home } => {
                self.fetches.served(source, home);
                Vec::new()
            }
            Event::Fetched { home } => {
                for source in self.outputs.launchers() {
                    self.fetches.served(source, home);
                }
                Vec::new()
            }
            Event::Verified { attempt, sound } => match self.outputs.map_of(attempt) {
                Some(map) if !sound => self.again(vec![map]),
                Some(_) | None => Vec::new(),
            },
            Event::LauncherLeaves(launcher) => self.outputs_lost(launcher),
            Event::LauncherLost(launcher) => self.launcher_lost(launcher),
        }
    }

    /// Every map may start. Without maps no output ever comes that would complete a partition: each is complete.
    fn slots_come(&mut self) -> Vec<Action> {
        let maps = self.outputs.maps();
        let partitions = self.reduces.count();
        let (stage, count) = match maps {
            0 => (Stage::Reduce, partitions),
            _ => (Stage::Map, maps),
        };
        if stage == Stage::Reduce {
            for partition in 0..partitions {
                self.reduces.may_start(partition);
            }
        }
        vec![Action::Runnable { stage, count }]
    }

    fn mapped(&mut self, attempt: AttemptIx, digest: Digest) -> Vec<Action> {
        let counts = self.counts(attempt);
        let Some(OpenAttempt { task: map, at, .. }) = self.attempts.remove(&attempt) else {
            return Vec::new();
        };
        if !counts {
            return self.compared(map, digest);
        }
        let output = MapOutputPlace {
            attempt,
            at,
            digest,
        };
        let mut actions = Vec::new();
        match self.outputs.put(map, output) {
            None => {}
            Some(first) if first == digest => actions.push(Action::Repeated(map)),
            Some(first) => {
                let readers = self.readers(map);
                let committed = readers.iter().find(|p| self.reduces.is_committed(**p));
                if let Some(partition) = committed {
                    return self.fail(JobFailure::Records {
                        map,
                        partition: *partition,
                        first,
                        second: digest,
                    });
                }
                for partition in readers {
                    self.outputs.forget(partition, map);
                    self.outdate(partition);
                    actions.extend(self.stop_all(partition));
                }
            }
        }
        if self.is_map_only() {
            // Every result is there to stay.
            if self.outputs.are_all_there() {
                self.is_over = true;
                actions.push(Action::Done);
            }
            return actions;
        }
        actions.push(Action::Gather(attempt));
        actions
    }

    /// A map has ended well whose twin was first: that one's output counts. What is committed has no digest.
    fn compared(&self, map: TaskIx, digest: Digest) -> Vec<Action> {
        match self.outputs.of(map) {
            Some(first) if !self.is_map_only() => vec![match first.digest == digest {
                true => Action::Repeated(map),
                false => Action::Differed(map),
            }],
            Some(_) | None => Vec::new(),
        }
    }

    fn is_map_only(&self) -> bool {
        self.reduces.count() == 0
    }

    /// Partitions whose reduces have read what a map had left, or may have: also where nothing that was gathered of it
    /// is there any more.
    fn readers(&self, map: TaskIx) -> Vec<u32> {
        let open = self.attempts.keys();
        let open: BTreeSet<u32> = sort::set(open.filter_map(|ix| self.partition_of(*ix)));
        let reads = |partition: &u32| {
            self.reduces.is_committed(*partition)
                || open.contains(partition)
                || self.outputs.has(*partition, map)
        };
        (0..self.reduces.count()).filter(reads).collect()
    }

    /// The input of a partition is not what attempts at it have read, or were told to read.
    fn outdate(&mut self, partition: u32) {
        let task = self.reduces.task(partition);
        for attempt in self.attempts.values_mut() {
            if attempt.stage == Stage::Reduce && Some(attempt.task) == task {
                attempt.is_outdated = true;
            }
        }
    }

    /// The attempts at a partition are to end: nothing comes of them.
    fn stop_all(&self, partition: u32) -> Vec<Action> {
        let task = self.reduces.task(partition);
        let attempts = self.attempts.iter();
        let of_it = attempts
            .filter(|(_, attempt)| attempt.stage == Stage::Reduce && Some(attempt.task) == task);
        of_it.map(|(ix, _)| Action::Stop(*ix)).collect()
    }

    fn commit_asked(&mut self, attempt: AttemptIx) -> Vec<Action> {
        let Some(partition) = self.partition_of(attempt) else {
            return Vec::new();
        };
        let may = self.counts(attempt)
            && self.outputs.is_complete(partition)
            && self.reduces.grant(partition, attempt);
        vec![match may {
            true => Action::Grant(attempt),
            false => Action::Stop(attempt),
        }]
    }

    fn reduced(&mut self, attempt: AttemptIx) -> Vec<Action> {
        let Some(partition) = self.partition_of(attempt) else {
            return Vec::new();
        };
        if !self.counts(attempt) {
            return self.ended(attempt, AttemptOutcome::Killed);
        }
        self.attempts.remove(&attempt);
        self.reduces.commit(partition);
        let mut actions = self.stop_all(partition);
        if self.reduces.all_committed() {
            self.is_over = true;
            actions.push(Action::Done);
        }
        actions
    }

    fn partition_of(&self, attempt: AttemptIx) -> Option<u32> {
        let attempt = self.attempts.get(&attempt)?;
        (attempt.stage == Stage::Reduce).then_some(())?;
        self.reduces.partition(attempt.task)
    }

    fn ended(&mut self, ix: AttemptIx, how: AttemptOutcome) -> Vec<Action> {
        if let Some(partition) = self.partition_of(ix) {
            self.reduces.give_up(partition, ix);
        }
        let Some(OpenAttempt { stage, task, .. }) = self.attempts.remove(&ix) else {
            return Vec::new();
        };
        match how {
            AttemptOutcome::Failed => {
                let failed = self.failures.entry((stage, task)).or_default();
                *failed = failed.saturating_add(1);
                let failed = *failed;
                let most = match stage {
                    Stage::Map => self.max_attempts.map,
                    Stage::Reduce | Stage::Gang => self.max_attempts.reduce,
                };
                match failed >= most {
                    true => self.fail(JobFailure::Attempts {
                        stage,
                        task,
                        failed,
                    }),
                    false => Vec::new(),
                }
            }
            AttemptOutcome::Done
            | AttemptOutcome::NoDevice
            | AttemptOutcome::Killed
            | AttemptOutcome::Lost => Vec::new(),
        }
    }

    /// An attempt failed over a record or a group: what it was not told to leave out is left out by those that follow.
    fn failed_on(&mut self, ix: AttemptIx, record: u64) -> Vec<Action> {
        let Some(OpenAttempt { stage, task, .. }) = self.attempts.get(&ix).copied() else {
            return Vec::new();
        };
        match self.skips.found((stage, task), record) {
            SkipOutcome::TooMany => self.ended(ix, AttemptOutcome::Failed),
            // Of two attempts at a task the first has told.
            SkipOutcome::Known => self.ended(ix, AttemptOutcome::Killed),
            SkipOutcome::New => {
                let mut actions = self.ended(ix, AttemptOutcome::Killed);
                actions.push(Action::Skip {
                    stage,
                    task,
                    record,
                });
                actions
            }
        }
    }

    fn gathered(&mut self, attempt: AttemptIx, partition: u32, home: ContainerIx) -> Vec<Action> {
        let Some(map) = self.outputs.map_of(attempt) else {
            return Vec::new();
        };
        if let Some(output) = self.outputs.of(map) {
            self.fetches.served(output.at, home);
        }
        let complete = self.outputs.gather(partition, map);
        match complete && self.reduces.may_start(partition) {
            true => vec![Action::Runnable {
                stage: Stage::Reduce,
                count: 1,
            }],
            false => Vec::new(),
        }
    }

    fn dropped(&mut self, partition: u32) -> Vec<Action> {
        let gone = self.outputs.drop_partition(partition);
        match self.reduces.is_committed(partition) {
            true => Vec::new(),
            false => self.again(gone),
        }
    }

    fn fetch_failed(&mut self, attempt: AttemptIx, home: ContainerIx) -> Vec<Action> {
        let Some(map) = self.outputs.map_of(attempt) else {
            return Vec::new();
        };
        let Some(source) = self.outputs.of(map).map(|output| output.at) else {
            return Vec::new();
        };
        match self.fetches.failed(source, home) {
            AtFault::Unknown => vec![Action::Verify(attempt)],
            AtFault::Way => vec![Action::Cut { source, home }],
            AtFault::One(faulty) => {
                let mut actions = vec![Action::Faulty(faulty)];
                if faulty == source {
                    actions.extend(self.again(self.outputs.at(source)));
                }
                actions
            }
        }
    }

    fn launcher_lost(&mut self, launcher: ContainerIx) -> Vec<Action> {
        self.fetches.lose(launcher);
        let gone: Vec<AttemptIx> = self
            .attempts
            .iter()
            .filter(|(_, attempt)| attempt.at == launcher)
            .map(|(ix, _)| *ix)
            .collect();
        for attempt in gone {
            let _lost_attempts_count_for_nothing = self.ended(attempt, AttemptOutcome::Lost);
        }
        self.outputs_lost(launcher)
    }

    /// What lies at a launcher is not to be counted on any more.
    fn outputs_lost(&mut self, launcher: ContainerIx) -> Vec<Action> {
        match self.is_map_only() {
            true => Vec::new(),
            false => self.again(self.outputs.at(launcher)),
        }
    }

    /// The outputs of these maps are gone: those run again that some partition still needs.
    fn again(&mut self, maps: Vec<TaskIx>) -> Vec<Action> {
        let mut wanted = Vec::new();
        for map in maps {
            self.outputs.lose(map);
            let needs = |partition: &u32| {
                !self.reduces.is_committed(*partition) && !self.outputs.has(*partition, map)
            };
            if (0..self.reduces.count()).any(|partition| needs(&partition)) {
                wanted.push(map);
            }
        }
        match wanted.is_empty() {
            true => Vec::new(),
            false => vec![Action::Again(wanted)],
        }
    }

    fn fail(&mut self, why: JobFailure) -> Vec<Action> {
        self.is_over = true;
        vec![Action::Fail(why)]
    }
}
