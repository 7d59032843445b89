//! The tasks of a job: which are waiting, what the maps have left, and what became of all.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gerbil_task::{Blamed, MapOrder, OutputOf, Partition, Piece, ReduceOrder, Source};

use super::repeat::{self, Repeat};
use crate::context::Counters;
use crate::error::{Error, Result};
use crate::settings::{
    COUNTERS, MAP_ATTEMPTS, REDUCE_ATTEMPTS, REPEAT, SKIP, SKIP_GROUPS, Settings,
};
use crate::sort::scratch::Spill;
use gerbil_task::{add, check_counters};

/// Attempts of a task that have lost their device and that do not count.
const LOST_MAX: u32 = 3;

/// A task to do.
#[derive(Clone, Debug)]
pub(crate) enum LocalTask {
    Map(MapOrder),
    Reduce(ReduceOrder),
}

impl LocalTask {
    /// `m-00003` and the number of the attempt, as files and folders are named.
    pub(crate) fn names(&self) -> (String, String) {
        let (stage, task, attempt) = match self {
            Self::Map(order) => ('m', order.task, order.attempt),
            Self::Reduce(order) => ('r', order.task, order.attempt),
        };
        (
            format!("attempt_{stage}_{task:06}_{attempt}"),
            format!("task_{stage}_{task:06}"),
        )
    }

    /// As far as the names of its files tell of it.
    pub(crate) fn output(&self) -> OutputOf {
        match self {
            Self::Map(order) => order.into(),
            Self::Reduce(order) => order.into(),
        }
    }

    /// As sentences tell of it.
    pub(crate) const fn blamed(&self) -> Blamed<'_> {
        match self {
            Self::Map(order) => Blamed::Map(order),
            Self::Reduce(order) => Blamed::Reduce(order),
        }
    }

    /// As sentences call it.
    pub(crate) fn title(&self) -> String {
        self.blamed().title()
    }
}

/// What a map has left.
#[derive(Debug)]
struct MapOutput {
    file: Arc<Spill>,
    partitions: Vec<Partition>,
}

/// What became of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobResult {
    pub(crate) counters: Counters,
    pub(crate) maps: u32,
    pub(crate) reduces: u32,
    /// From the first map to the end of the last, and the same of reduces.
    pub(crate) map_time: Duration,
    pub(crate) reduce_time: Duration,
    pub(crate) failed_attempts: u32,
}

#[derive(Debug, Default)]
struct TaskQueueState {
    waiting: VecDeque<LocalTask>,
    maps_left: usize,
    reduces_left: usize,
    outputs: Vec<Option<MapOutput>>,
    /// How often tasks, by their names, have lost a device, up to [`LOST_MAX`].
    lost: BTreeMap<String, u32>,
    failure: Option<String>,
    bytes_read: u64,
    outcome: JobResult,
    began: Option<Instant>,
}

/// The tasks of a job.
#[derive(Debug)]
pub(crate) struct TaskQueue {
    state: Mutex<TaskQueueState>,
    changed: Condvar,
    reduces: u32,
    maps: usize,
    attempts: [u32; 2],
    /// Records that a map may leave out, and groups that a reduce may.
    skip_max: [usize; 2],
    /// Counters that the job may have of its own.
    own_counters: usize,
    /// Whether each map is done twice.
    repeat: bool,
}

/// What is to be done about a failed attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AttemptFault {
    /// The record that the user's code had, if the process died on it.
    pub(crate) record: Option<u64>,
    /// It had, or found, no device of an accelerator's function.
    pub(crate) is_lost: bool,
}

/// What follows from a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    /// It counts as one of the attempts that a task has.
    Counts,
    /// It does not: the task is tried again.
    Uncounted,
    /// The task is tried again without what it failed on.
    Skips,
}

/// Whether the next attempt leaves out what this one failed on: it may, and did not yet.
fn skip(list: &mut Vec<u64>, failed_on: Option<u64>, most: usize) -> bool {
    let Some(number) = failed_on.filter(|_| list.len() < most) else {
        return false;
    };
    match list.binary_search(&number) {
        Ok(_known) => false,
        Err(place) => {
            list.insert(place, number);
            true
        }
    }
}

/// What is to be said of a map that was done twice.
fn judge(task: u32, before: &[Partition], now: &[Partition]) -> Result<Option<String>> {
    match repeat::compare(before, now) {
        Repeat::Same => Ok(None),
        Repeat::Reordered => Ok(Some(format!(
            "map {task}, done again, gave the same records, values of equal keys in another order"
        ))),
        Repeat::Different {
            partition,
            records: (before, now),
        } => Err(Error::new(format!(
            "map {task}, done again, gave other records: partition {partition} had {before}, now {now}; a mapper \
             must depend on its input alone, not on time, chance or the attempt"
        ))),
    }
}

impl TaskQueue {
    pub(crate) fn new(splits: Vec<Vec<Piece>>, reduces: u32, settings: &Settings) -> Result<Self> {
        let maps = splits.len();
        let order = |(task, pieces)| {
            LocalTask::Map(MapOrder {
                task,
                attempt: 0,
                partitions: reduces,
                pieces,
                skip: Vec::new(),
            })
        };
        let mut state = TaskQueueState {
            waiting: (0_u32..).zip(splits).map(order).collect(),
            maps_left: maps,
            reduces_left: reduces as usize,
            began: Some(Instant::now()),
            ..TaskQueueState::default()
        };
        state.outputs.resize_with(maps, || None);
        state.outcome.maps = crate::width::word(maps);
        state.outcome.reduces = reduces;
        let queue = Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            reduces,
            maps,
            attempts: [
                settings.parse::<u32>(MAP_ATTEMPTS)?.max(1),
                settings.parse::<u32>(REDUCE_ATTEMPTS)?.max(1),
            ],
            skip_max: [settings.parse(SKIP)?, settings.parse(SKIP_GROUPS)?],
            own_counters: settings.parse(COUNTERS)?,
            repeat: reduces > 0 && settings.parse(REPEAT)?,
        };
        if maps == 0 {
            queue.begin_reduces(&mut queue.lock());
        }
        Ok(queue)
    }

    fn lock(&self) -> MutexGuard<'_, TaskQueueState> {
        // A thread that panicked while it held the lock has changed nothing by halves.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn maps(&self) -> usize {
        self.maps
    }

    /// The next task, waiting for one; none when there is nothing more to do.
    pub(crate) fn take(&self) -> Option<LocalTask> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() || state.maps_left + state.reduces_left == 0 {
                return None;
            }
            if let Some(work) = state.waiting.pop_front() {
                return Some(work);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether there is nothing more to do, or no sense in it.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.lock();
        state.failure.is_some() || state.maps_left + state.reduces_left == 0
    }

    /// Waits until something has changed, or so long.
    pub(crate) fn wait(&self, long: Duration) {
        let state = self.lock();
        if state.failure.is_none() && state.maps_left + state.reduces_left > 0 {
            drop(self.changed.wait_timeout(state, long));
        }
    }

    /// Bytes of input that maps which have ended had read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.lock().bytes_read
    }

    pub(crate) const fn reduces(&self) -> u32 {
        self.reduces
    }

    /// Maps and reduces that have ended.
    pub(crate) fn done(&self) -> (usize, usize) {
        let state = self.lock();
        (
            self.maps - state.maps_left,
            self.reduces as usize - state.reduces_left,
        )
    }

    fn begin_reduces(&self, state: &mut TaskQueueState) {
        state.outcome.map_time = state.began.map(|began| began.elapsed()).unwrap_or_default();
        state.began = Some(Instant::now());
        for task in 0..self.reduces {
            let sources = (0_u32..).zip(&state.outputs).filter_map(|(map, output)| {
                let partition = output.as_ref()?.partitions.get(task as usize)?;
                Some(Source {
                    map,
                    offset: partition.offset,
                    length: partition.length,
                    records: partition.records,
                })
            });
            let sources = sources.collect();
            state.waiting.push_back(LocalTask::Reduce(ReduceOrder {
                task,
                attempt: 0,
                sources,
                skip: Vec::new(),
            }));
        }
    }

    /// What a map has left, to be read.
    pub(crate) fn output(&self, map: u32) -> Option<Arc<Spill>> {
        self.lock()
            .outputs
            .get(map as usize)?
            .as_ref()
            .map(|output| Arc::clone(&output.file))
    }

    /// Refuses what a task has counted where the job would have too many counters.
    pub(crate) fn check(&self, counters: &Counters) -> Result<()> {
        let checked = check_counters(&self.lock().outcome.counters, counters, self.own_counters);
        checked.map_err(|error| Error::new(error.to_string()))
    }

    /// A map has ended well; what there is to say of it.
    pub(crate) fn map_done(
        &self,
        order: &MapOrder,
        counters: Counters,
        partitions: Vec<Partition>,
        file: Option<Spill>,
    ) -> Result<Option<String>> {
        let task = order.task;
        let mut state = self.lock();
        let mut note = None;
        if let (Some(file), Some(output)) = (file, state.outputs.get_mut(task as usize)) {
            let before = output.replace(MapOutput {
                file: Arc::new(file),
                partitions,
            });
            match (before, output) {
                (None, _) if self.repeat => {
                    let mut again = order.clone();
                    again.attempt += 1;
                    state.waiting.push_back(LocalTask::Map(again));
                    self.changed.notify_all();
                    return Ok(None);
                }
                (Some(before), Some(now)) => {
                    note = judge(task, &before.partitions, &now.partitions)?;
                }
                _ => {}
            }
        }
        add(&mut state.outcome.counters, counters);
        state.bytes_read += order.pieces.iter().map(|piece| piece.length).sum::<u64>();
        state.maps_left -= 1;
        if state.maps_left == 0 {
            self.begin_reduces(&mut state);
        }
        self.changed.notify_all();
        Ok(note)
    }

    /// A reduce has ended well.
    pub(crate) fn reduce_done(&self, counters: Counters) {
        let mut state = self.lock();
        add(&mut state.outcome.counters, counters);
        state.reduces_left -= 1;
        if state.reduces_left == 0 {
            state.outcome.reduce_time =
                state.began.map(|began| began.elapsed()).unwrap_or_default();
        }
        self.changed.notify_all();
    }

    /// An attempt has failed: the task is tried again, without the record that killed it where that is
    /// allowed, or the job has failed. One that has lost its device does not count, the first few times.
    pub(crate) fn failed(
        &self,
        work: LocalTask,
        sentence: &str,
        fault: AttemptFault,
    ) -> AfterFailure {
        let mut state = self.lock();
        let lost = state.lost.entry(work.names().1).or_default();
        let counts = !fault.is_lost || *lost == LOST_MAX;
        *lost += u32::from(!counts);
        let lost = *lost;
        state.outcome.failed_attempts += u32::from(counts);
        let (again, skipped) = match work {
            LocalTask::Map(mut order) => {
                order.attempt += 1;
                let skipped = skip(&mut order.skip, fault.record, self.skip_max[0]);
                let allowed = skipped || order.attempt < self.attempts[0] + lost;
                (allowed.then_some(LocalTask::Map(order)), skipped)
            }
            LocalTask::Reduce(mut order) => {
                order.attempt += 1;
                let skipped = skip(&mut order.skip, fault.record, self.skip_max[1]);
                let allowed = skipped || order.attempt < self.attempts[1] + lost;
                (allowed.then_some(LocalTask::Reduce(order)), skipped)
            }
        };
        match again {
            Some(work) => state.waiting.push_front(work),
            None => {
                state.failure.get_or_insert_with(|| sentence.to_owned());
            }
        }
        self.changed.notify_all();
        match (skipped, counts) {
            (true, _) => AfterFailure::Skips,
            (false, true) => AfterFailure::Counts,
            (false, false) => AfterFailure::Uncounted,
        }
    }

    /// The job has failed for a reason of its own.
    pub(crate) fn stop(&self, sentence: &str) {
        self.lock()
            .failure
            .get_or_insert_with(|| sentence.to_owned());
        self.changed.notify_all();
    }

    /// What became of the job.
    pub(crate) fn verdict(&self) -> Result<JobResult> {
        let state = self.lock();
        match &state.failure {
            Some(sentence) => Err(Error::new(sentence.clone())),
            None if state.maps_left + state.reduces_left > 0 => {
                Err(Error::new("the job's slots are gone"))
            }
            None => Ok(state.outcome.clone()),
        }
    }
}
