//! The jobs: matrix multiplication (M), DNS log analysis (D) and word count (W). Their numbers are ours.

use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};

use super::clusters::GPU;
use crate::whole;
use crate::workload::{AlikeTasks, WorkloadJob};

/// Maps, or reduces, of a job at the most.
const TASKS: u32 = 100_000;

/// A kind of job. Times are in seconds, of one task.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobKind {
    name: char,
    title: &'static str,
    /// It has a version that computes on GPUs.
    on_gpu: bool,
    pub(super) maps: u32,
    /// A map with a GPU: before, on and after the device.
    load: f64,
    pub(super) device: f64,
    store: f64,
    /// A map of the CPU version.
    pub(super) cpu: f64,
    reduces: u32,
    reduce: f64,
}

/// Keys of `--job`, and which of them only jobs for GPUs have.
const KEYS: [(&str, bool); 7] = [
    ("maps", false),
    ("load", true),
    ("device", true),
    ("store", true),
    ("cpu", false),
    ("reduces", false),
    ("reduce", false),
];

/// All kinds.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobKinds([JobKind; 3]);

impl Default for JobKinds {
    fn default() -> Self {
        let kind =
            |name, title, on_gpu, maps, [load, device, cpu]: [f64; 3], reduces, reduce| JobKind {
                name,
                title,
                on_gpu,
                maps,
                load,
                device,
                store: 0.0,
                cpu,
                reduces,
                reduce,
            };
        let m = "matrix multiplication";
        Self([
            kind('M', m, true, 32, [6.0, 4.0, 40.0], 4, 30.0),
            kind('D', "DNS log analysis", true, 64, [3.0, 3.0, 24.0], 2, 20.0),
            kind('W', "word count", false, 16, [0.0, 0.0, 45.0], 4, 40.0),
        ])
    }
}

impl JobKinds {
    pub(super) fn kind(&mut self, name: char) -> Option<&mut JobKind> {
        self.0.iter_mut().find(|kind| kind.name == name)
    }

    /// `M:maps=16,load=3`.
    pub(super) fn set(&mut self, text: &str) -> Result<()> {
        let (name, values) = text.split_once(':').unwrap_or((text, ""));
        let mut letters = name.chars();
        let kind = letters.next().filter(|_| letters.next().is_none());
        let kind = kind.and_then(|name| self.kind(name));
        let kind = kind.with_context(|| format!("{name:?} is no job; there are M, D and W"))?;
        ensure!(
            !values.is_empty(),
            "nothing is said of {name}: {}",
            kind.keys()
        );
        values.split(',').try_for_each(|value| kind.set(value))
    }

    /// The n-th job of a queue.
    pub(super) fn job(&self, name: char, number: usize, version: Version) -> Result<WorkloadJob> {
        let kind = self.0.iter().find(|kind| kind.name == name);
        let kind = kind.with_context(|| format!("{name:?} is no job; there are M, D and W"))?;
        Ok(kind.job(number, version))
    }

    /// What every caption says.
    pub(super) fn caption(&self) -> String {
        let kinds = self.0.iter().map(JobKind::caption);
        let kinds: Vec<String> = kinds.collect();
        format!(
            "Task counts and times are ours, the paper gives none: {}.",
            kinds.join("; ")
        )
    }
}

/// With GPUs or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Maps of M and D need a GPU.
    Gpu,
    /// No job needs one.
    Cpu,
}

impl JobKind {
    fn keys(&self) -> String {
        let keys = KEYS.iter().filter(|(_, gpu)| self.on_gpu || !gpu);
        let keys: Vec<&str> = keys.map(|(key, _)| *key).collect();
        format!("{} has {}", self.name, keys.join(", "))
    }

    fn set(&mut self, text: &str) -> Result<()> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let known = KEYS.iter().find(|(known, _)| *known == key);
        let known = known.is_some_and(|(_, gpu)| self.on_gpu || !gpu);
        ensure!(known, "{} has no {key:?}; {}", self.name, self.keys());
        match key {
            "maps" => self.maps = whole(key, value, 1..=TASKS)?,
            "reduces" => self.reduces = whole(key, value, 1..=TASKS)?,
            "load" => self.load = span(key, value)?,
            "device" => self.device = span(key, value)?,
            "store" => self.store = span(key, value)?,
            "cpu" => self.cpu = span(key, value)?,
            "reduce" => self.reduce = span(key, value)?,
            _ => bail!("{}", self.keys()),
        }
        Ok(())
    }

    fn job(&self, number: usize, version: Version) -> WorkloadJob {
        let maps = if self.on_gpu && version == Version::Gpu {
            AlikeTasks {
                device_seconds: self.device,
                store_seconds: self.store,
                devices: vec![GPU.to_owned()],
                ..AlikeTasks::of(self.maps, self.load)
            }
        } else {
            AlikeTasks::of(self.maps, self.cpu)
        };
        WorkloadJob {
            name: format!("{}{number}", self.name),
            submit_s: 0.0,
            user: String::new(),
            queue: String::new(),
            priority: 0,
            deadline_s: None,
            maps: Some(maps),
            reduces: Some(AlikeTasks::of(self.reduces, self.reduce)),
            ranks: None,
        }
    }

    fn caption(&self) -> String {
        let Self {
            name,
            title,
            maps,
            load,
            device,
            store,
            cpu,
            reduces,
            reduce,
            ..
        } = self;
        let map = if self.on_gpu {
            let store = if *store > 0.0 {
                format!(", store {store} s")
            } else {
                String::new()
            };
            format!("load {load} s, GPU {device} s{store}, in the CPU version {cpu} s")
        } else {
            format!("{cpu} s")
        };
        format!("{name} ({title}) {maps} maps ({map}), {reduces} reduces of {reduce} s")
    }
}

fn span(key: &str, value: &str) -> Result<f64> {
    let span = f64::from_str(value).ok();
    let span = span.filter(|span| (0.0..1e6).contains(span));
    span.with_context(|| format!("{key}={value}: seconds are wanted, such as 2.5"))
}
