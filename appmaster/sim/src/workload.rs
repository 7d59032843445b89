//! What is played: nodes, jobs, and what is lost when.

mod size;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use policy::schedule::{Bundle, Nanos, Need, ResourceName, Slot, Speed, Stage, TaskIx};
use serde::{Deserialize, Serialize};

/// A file of `gerbil-sim`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Hosts, one container each.
    pub nodes: Vec<AlikeNodes>,
    /// In the order of submission.
    pub jobs: Vec<WorkloadJob>,
    /// Nodes that are lost, and cores.
    #[serde(default)]
    pub losses: Vec<Loss>,
    /// How fast cores are, where they are told apart.
    #[serde(default)]
    pub speeds: CoreSpeeds,
    /// From a decision to its attempt's start, in milliseconds.
    #[serde(default = "start_ms")]
    pub start_ms: u64,
}

const fn start_ms() -> u64 {
    20
}

/// How fast the cores of each class are, beside the one that seconds are told for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSpeeds {
    /// Of `fast` slots.
    #[serde(default = "full_speed")]
    pub fast: StageSpeeds,
    /// Of `slow` ones.
    #[serde(default = "slow_speed")]
    pub slow: StageSpeeds,
}

/// Thousandths of that speed, by stage: a reduce waits more for data, and less for the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StageSpeeds {
    /// Of maps, and ranks.
    pub map: u64,
    /// Of reduces.
    pub reduce: u64,
}

const fn full_speed() -> StageSpeeds {
    StageSpeeds {
        map: 1000,
        reduce: 1000,
    }
}

/// The slow cores' map speed in DyScale.
const fn slow_speed() -> StageSpeeds {
    StageSpeeds {
        map: 450,
        reduce: 450,
    }
}

impl Default for CoreSpeeds {
    fn default() -> Self {
        Self {
            fast: full_speed(),
            slow: slow_speed(),
        }
    }
}

/// Hosts that are alike.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AlikeNodes {
    /// How many such nodes there are; 1 where nothing is said.
    #[serde(default = "one")]
    pub count: u32,
    /// Their rack.
    #[serde(default)]
    pub rack: String,
    /// Slots for map tasks.
    #[serde(default)]
    pub map_slots: usize,
    /// Slots for reduce tasks.
    #[serde(default)]
    pub reduce_slots: usize,
    /// Slots for anything, ranks of MPI jobs included.
    #[serde(default)]
    pub slots: usize,
    /// Slots for map tasks on slow cores, beside the others.
    #[serde(default)]
    pub slow_map_slots: usize,
    /// The same for reduce tasks.
    #[serde(default)]
    pub slow_reduce_slots: usize,
    /// `fast` or `slow`, where cores are told apart.
    #[serde(default)]
    pub speed: Option<SlotSpeed>,
    /// Memory of the container.
    #[serde(default = "memory_mb")]
    pub memory_mb: u64,
    /// Devices and functions of the host, by name.
    #[serde(default)]
    pub has: BTreeMap<String, u64>,
    /// Tasks that each of its devices runs at a time.
    #[serde(default = "one_way")]
    pub ways: u64,
}

const fn one() -> u32 {
    1
}

const fn one_way() -> u64 {
    1
}

const fn memory_mb() -> u64 {
    8192
}

/// How fast slots are.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotSpeed {
    /// As [`CoreSpeeds::fast`] says.
    Fast,
    /// As [`CoreSpeeds::slow`] says.
    Slow,
}

impl SlotSpeed {
    pub(crate) const fn of_slots(self) -> Speed {
        match self {
            Self::Fast => Speed::Fast,
            Self::Slow => Speed::Slow,
        }
    }
}

/// A job.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadJob {
    /// What it is called in tables and charts.
    pub name: String,
    /// When it is submitted, in seconds from the start.
    #[serde(default)]
    pub submit_s: f64,
    /// Whose it is.
    #[serde(default)]
    pub user: String,
    /// Its queue.
    #[serde(default)]
    pub queue: String,
    /// Higher is first, where a policy looks at it.
    #[serde(default)]
    pub priority: i32,
    /// When it wants to be done, in seconds from its submission, where a policy looks at it.
    #[serde(default)]
    pub deadline_s: Option<f64>,
    /// Map tasks.
    #[serde(default)]
    pub maps: Option<AlikeTasks>,
    /// Reduce tasks; they start when all maps are done.
    #[serde(default)]
    pub reduces: Option<AlikeTasks>,
    /// Ranks of an MPI job; they start together.
    #[serde(default)]
    pub ranks: Option<AlikeTasks>,
}

/// Tasks that are alike, but for how long each takes where that is said.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AlikeTasks {
    /// How many tasks the stage has.
    pub count: u32,
    /// Seconds of a core each, once begun and before it wants its devices.
    #[serde(default)]
    pub seconds: f64,
    /// The same of each task, by number, where they are not alike: as many as tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each_seconds: Vec<f64>,
    /// Seconds with a device, for which tasks of a node wait in order of arrival.
    #[serde(default)]
    pub device_seconds: f64,
    /// Seconds after that, in which others have the device.
    #[serde(default)]
    pub store_seconds: f64,
    /// Memory of each.
    #[serde(default = "task_mb")]
    pub memory_mb: u64,
    /// Devices that it waits for in turn: the node has to have them.
    #[serde(default)]
    pub devices: Vec<String>,
    /// What each takes of what is counted, by name.
    #[serde(default)]
    pub takes: BTreeMap<String, u64>,
    /// The n-th task's input is on the n-th of these nodes, and round again.
    #[serde(default)]
    pub near: Vec<u32>,
}

/// Memory of a task of which nothing is said, in MiB.
pub(crate) const TASK_MB: u64 = 1024;

const fn task_mb() -> u64 {
    TASK_MB
}

/// A node that is lost, or a core of one, and stays so.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// When, in seconds from the start.
    pub at_s: f64,
    /// Number of the node, in the order of `nodes`.
    pub node: u32,
    /// The core that is lost; where nothing is said, the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<LostCore>,
}

/// A core of a node, with its slot of each kind.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LostCore {
    /// Which cores it is one of.
    pub speed: SlotSpeed,
    /// Its number among those that are left of them, and round again.
    pub number: u32,
}

impl Workload {
    /// The workload in `path`.
    ///
    /// # Errors
    ///
    /// The file cannot be read or says what makes no sense; the message names file, line and value.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let workload: Self =
            serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
        workload
            .check()
            .with_context(|| format!("{}", path.display()))?;
        Ok(workload)
    }

    /// The same nodes with other jobs.
    ///
    /// # Errors
    ///
    /// The jobs make no sense, or are too many.
    pub fn with_jobs(self, jobs: Vec<WorkloadJob>) -> Result<Self> {
        let workload = Self { jobs, ..self };
        workload.check()?;
        Ok(workload)
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.check_size()?;
        for speeds in [self.speeds.fast, self.speeds.slow] {
            ensure!(
                speeds.map > 0 && speeds.reduce > 0,
                "a core of speed 0 ends nothing: speeds are thousandths, such as 450"
            );
        }
        for node in &self.nodes {
            ensure!(node.ways > 0, "a device runs at least 1 task: ways is 0");
        }
        for job in &self.jobs {
            let name = &job.name;
            seconds(job.submit_s).with_context(|| format!("job {name:?}: submit_s"))?;
            seconds(job.deadline_s.unwrap_or_default())
                .with_context(|| format!("job {name:?}: deadline_s"))?;
            let phases = [&job.maps, &job.reduces, &job.ranks];
            ensure!(
                phases.iter().any(|phase| phase.is_some()),
                "job {name:?} has no maps, reduces or ranks"
            );
            for phase in phases.into_iter().flatten() {
                ensure!(
                    phase.count > 0,
                    "job {name:?} has a phase of 0 tasks; leave it out"
                );
                seconds(phase.seconds).with_context(|| format!("job {name:?}: seconds"))?;
                let each = phase.each_seconds.len();
                ensure!(
                    each == 0 || u32::try_from(each) == Ok(phase.count),
                    "job {name:?} has {} tasks, and each_seconds of {each}",
                    phase.count
                );
                for each in &phase.each_seconds {
                    seconds(*each).with_context(|| format!("job {name:?}: each_seconds"))?;
                }
                seconds(phase.device_seconds)
                    .with_context(|| format!("job {name:?}: device_seconds"))?;
                seconds(phase.store_seconds)
                    .with_context(|| format!("job {name:?}: store_seconds"))?;
            }
        }
        self.losses
            .iter()
            .try_for_each(|loss| seconds(loss.at_s).map(|_| ()).context("losses: at_s"))
    }
}

/// Whole nanoseconds of `seconds`.
pub(crate) fn seconds(seconds: f64) -> Result<Nanos> {
    let span = std::time::Duration::try_from_secs_f64(seconds)
        .with_context(|| format!("{seconds} is no number of seconds"))?;
    Ok(Nanos(
        u64::try_from(span.as_nanos()).with_context(|| format!("{seconds} s is too long"))?,
    ))
}

impl AlikeTasks {
    /// So many tasks that do nothing but compute, for so long each.
    pub(crate) fn of(count: u32, seconds: f64) -> Self {
        Self {
            count,
            seconds,
            each_seconds: Vec::new(),
            device_seconds: 0.0,
            store_seconds: 0.0,
            memory_mb: TASK_MB,
            devices: Vec::new(),
            takes: BTreeMap::new(),
            near: Vec::new(),
        }
    }

    /// As many tasks, each of which computes for so long.
    pub(crate) fn each(seconds: Vec<f64>) -> Self {
        Self {
            each_seconds: seconds.clone(),
            ..Self::of(u32::try_from(seconds.len()).unwrap_or(u32::MAX), 0.0)
        }
    }

    /// Seconds of a core that this task takes before it wants its devices.
    pub(crate) fn seconds_of(&self, task: TaskIx) -> f64 {
        let number = usize::try_from(task.0).ok();
        let own = number.and_then(|number| self.each_seconds.get(number));
        own.copied().unwrap_or(self.seconds)
    }

    /// The same in the mean of all tasks.
    pub(crate) fn mean_seconds(&self) -> f64 {
        let (sum, count) = self
            .each_seconds
            .iter()
            .fold((0.0, 0.0), |(sum, count), each| (sum + each, count + 1.0));
        if count > 0.0 {
            sum / count
        } else {
            self.seconds
        }
    }

    pub(crate) fn need(&self) -> Need {
        let bundle = Bundle::new().with("memory-mb", self.memory_mb);
        let bundle = self
            .takes
            .iter()
            .fold(bundle, |bundle, (name, amount)| bundle.with(name, *amount));
        let locks = self
            .devices
            .iter()
            .map(|name| ResourceName(name.clone()))
            .collect();
        Need {
            bundle,
            locks,
            ..Need::default()
        }
    }
}

impl AlikeNodes {
    pub(crate) fn cut(&self) -> Vec<Slot> {
        let speed = self.speed.map_or(Speed::Plain, SlotSpeed::of_slots);
        let kinds: [(usize, &[Stage]); 3] = [
            (self.map_slots, &[Stage::Map]),
            (self.reduce_slots, &[Stage::Reduce]),
            (self.slots, &[Stage::Map, Stage::Reduce, Stage::Gang]),
        ];
        let slots = kinds
            .into_iter()
            .flat_map(|(count, stages)| vec![Slot::free(stages); count]);
        let slow = |stage, count| {
            let slot = Slot {
                speed: Speed::Slow,
                ..Slot::free(&[stage])
            };
            vec![slot; count]
        };
        slots
            .map(|slot| Slot { speed, ..slot })
            .chain(slow(Stage::Map, self.slow_map_slots))
            .chain(slow(Stage::Reduce, self.slow_reduce_slots))
            .collect()
    }

    pub(crate) fn pool(&self) -> Bundle {
        self.has
            .iter()
            .fold(Bundle::new(), |bundle, (name, amount)| {
                bundle.with(name, *amount)
            })
    }
}
