//! The paper's cluster, and how long its jobs take there.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use policy::schedule::named;

use crate::Keys;
use crate::run::{RunResult, WorkloadRun, in_seconds};
use crate::workload::{AlikeNodes, AlikeTasks, CoreSpeeds, TASK_MB, Workload, WorkloadJob};

/// Table 3: what a node does of each a second, in MB, where each is by itself.
pub(super) const ACQUIRE: f64 = 89.6;
pub(super) const ASSEMBLE: f64 = 2660.0;
pub(super) const TRANSFER: f64 = 1000.0;

/// Workers.
const NODES: u32 = 2;
/// Hardware threads of each.
const THREADS: f64 = 16.0;
/// A split of 64 MiB, in MB.
const SPLIT: f64 = 67.108_864;

/// Input of Figures 7 and 9, in GB.
pub(super) const SIZES: [f64; 7] = [1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4];

/// The two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    KMeans,
    Bayes,
}

impl Program {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::KMeans => "K-means",
            Self::Bayes => "Naive Bayes",
        }
    }

    /// The function of its maps.
    pub(super) const fn function(self) -> &'static str {
        match self {
            Self::KMeans => "acc/kmeans-map",
            Self::Bayes => "acc/bayes-map",
        }
    }

    /// How many times faster the paper has it with boards, at the last size.
    pub(super) const fn paper(self) -> f64 {
        match self {
            Self::KMeans => 7.5,
            Self::Bayes => 2.3,
        }
    }
}

/// Numbers of the figures.
#[derive(Clone, Debug)]
pub struct HeteroWorld {
    /// Tasks at a time on a node.
    pub(super) tasks: u32,
    /// Seconds from a job's submission to its first task.
    pub(super) startup: f64,
}

impl Default for HeteroWorld {
    fn default() -> Self {
        Self {
            tasks: 20,
            startup: 30.0,
        }
    }
}

/// Keys of `-D`, and what each is.
pub(super) const KEYS: Keys = Keys(&[
    ("tasks", "tasks at a time on a node (20)"),
    ("startup", "seconds before a job's first task (30)"),
]);

/// One after the other: what is left of these throughputs.
pub(super) fn in_series(each: &[f64]) -> f64 {
    1.0 / each.iter().map(|rate| 1.0 / rate).sum::<f64>()
}

/// Of so many GB.
pub(super) fn splits(size: f64) -> u32 {
    let mut count = 0_u32;
    while f64::from(count) * SPLIT < size * 1000.0 {
        count = count.saturating_add(1);
    }
    count.max(1)
}

impl HeteroWorld {
    /// `tasks=16`.
    ///
    /// # Errors
    ///
    /// There is no such key, or the value makes no sense for it.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        match key {
            "tasks" => {
                let tasks = value.parse::<u32>().ok();
                let tasks = tasks.filter(|tasks| (1..=1000).contains(tasks));
                self.tasks =
                    tasks.with_context(|| format!("{key}={value}: 1 to 1000 tasks are wanted"))?;
            }
            "startup" => {
                let span = value.parse::<f64>().ok();
                let span = span.filter(|span| (0.0..1e6).contains(span));
                let wanted = || format!("{key}={value}: seconds are wanted, such as 2.5");
                self.startup = span.with_context(wanted)?;
            }
            _ => return Err(KEYS.unknown(key)),
        }
        Ok(())
    }

    /// What every caption says.
    pub(super) fn caption(&self) -> String {
        let Self { tasks, startup } = self;
        format!(
            "Two workers of 16 threads and a board each, {tasks} tasks at a time on a node, splits of 64 MiB, {startup} s before \
             the first task. With the board a node takes in {ACQUIRE} MB/s, packs {ASSEMBLE} and sends and receives {TRANSFER}, \
             one after the other: {:.1} MB/s. Without it a thread is as fast as the paper's last point says.",
            in_series(&[ACQUIRE, ASSEMBLE, TRANSFER])
        )
    }

    /// Maps of a job of so many GB, where all threads of a node together do `rate` MB/s. Tasks beyond its threads share
    /// them.
    pub(super) fn maps(&self, size: f64, rate: f64) -> AlikeTasks {
        let count = splits(size);
        let at_once = f64::from(self.tasks.min(count.div_ceil(NODES)));
        let seconds = SPLIT / (rate / THREADS) * (at_once / THREADS).max(1.0);
        AlikeTasks::of(count, seconds)
    }

    /// The same with a function of the board each.
    pub(super) fn accelerated(&self, program: Program, size: f64) -> AlikeTasks {
        let rate = in_series(&[ACQUIRE, ASSEMBLE, TRANSFER]);
        AlikeTasks {
            takes: BTreeMap::from([(program.function().to_owned(), 1)]),
            ..self.maps(size, rate)
        }
    }

    /// The workers, with boards or without.
    pub(super) fn workers(&self, has: &[(&str, u64)]) -> AlikeNodes {
        let slots = usize::try_from(self.tasks).unwrap_or(usize::MAX);
        AlikeNodes {
            has: has
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
            ..node(NODES, slots)
        }
    }

    /// Both functions on each board, as many as tasks.
    pub(super) fn boards(&self) -> AlikeNodes {
        let count = u64::from(self.tasks);
        let of = [Program::KMeans, Program::Bayes];
        self.workers(&of.map(|program| (program.function(), count)))
    }

    /// Seconds from a job's submission to its end, alone on the workers with boards.
    pub(super) fn alone(&self, maps: AlikeTasks) -> Result<f64> {
        let result = play("hetero", vec![self.boards()], vec![job("job", "", maps)])?;
        Ok(self.startup + in_seconds(result.end))
    }

    /// MB/s of a node without its board, by which the last point is the paper's.
    pub(super) fn without(&self, program: Program) -> Result<f64> {
        let [.., last] = SIZES;
        let with = self.alone(self.accelerated(program, last))?;
        let slow = self.alone(self.maps(last, THREADS))? - self.startup;
        Ok(THREADS * slow / (program.paper() * with - self.startup))
    }
}

/// So many nodes of so many slots for anything.
pub(super) fn node(count: u32, slots: usize) -> AlikeNodes {
    let memory = u64::try_from(slots).unwrap_or(u64::MAX);
    AlikeNodes {
        count,
        rack: String::new(),
        map_slots: 0,
        reduce_slots: 0,
        slots,
        slow_map_slots: 0,
        slow_reduce_slots: 0,
        speed: None,
        memory_mb: memory.saturating_mul(TASK_MB),
        has: BTreeMap::new(),
        ways: 1,
    }
}

/// A job of maps alone, submitted at 0.
pub(super) fn job(name: &str, user: &str, maps: AlikeTasks) -> WorkloadJob {
    WorkloadJob {
        name: name.to_owned(),
        submit_s: 0.0,
        user: user.to_owned(),
        queue: String::new(),
        priority: 0,
        deadline_s: None,
        maps: Some(maps),
        reduces: None,
        ranks: None,
    }
}

/// Plays jobs that are all in the queue at 0.
pub(super) fn play(
    policy: &str,
    nodes: Vec<AlikeNodes>,
    jobs: Vec<WorkloadJob>,
) -> Result<RunResult> {
    let workload = Workload {
        nodes,
        jobs,
        losses: Vec::new(),
        speeds: CoreSpeeds::default(),
        start_ms: 20,
    };
    let run = WorkloadRun::new(&workload, named(policy)?).queued();
    run.play().with_context(|| format!("under {policy}"))
}
