//! What is played: mixes on clusters under policies, several at a time.

use anyhow::{Context as _, Result, bail, ensure};
use policy::schedule::{JobClass, Speed, named};

use super::clusters::Cores;
use super::jobs::FigureJobs;
use super::losses::LostShare;
use super::mix::{Draw, Mix};
use crate::run::{WorkloadRun, in_seconds};
use crate::workload::{Workload, WorkloadJob};
use crate::{Keys, at_once, whole};

/// Numbers of the figures.
#[derive(Clone, Debug)]
pub struct DyScaleWorld {
    mix: Mix,
    /// What is played in its place.
    trace: Option<FigureJobs>,
    /// Sizes of clusters, where they are set.
    nodes: Option<Vec<u32>>,
    /// Mean gaps between jobs, in seconds, where they are set.
    gaps: Option<Vec<u32>>,
    /// Hundredths of what is lost in a run.
    pub(super) lost: Vec<u32>,
    /// Mixes that are drawn for each point.
    seeds: u64,
}

/// The paper's sizes of clusters.
const NODES: [u32; 3] = [75, 120, 210];

/// What the bins of a mix are multiplied by, nodes of a cluster, seconds between two jobs, and mixes of a point: each at the
/// most.
const SCALE: u32 = 30;
const SIZE: u32 = 10_000;
const GAP: u32 = 1_000_000;
const SEEDS: u64 = 1_000;

/// The paper's gaps.
fn all_gaps() -> Vec<u32> {
    let dense = (50..100).step_by(10);
    dense.chain((100..=1000).step_by(100)).collect()
}

impl Default for DyScaleWorld {
    fn default() -> Self {
        Self {
            mix: Mix::default(),
            trace: None,
            nodes: None,
            gaps: None,
            lost: vec![20],
            seeds: 3,
        }
    }
}

/// Keys of `-D`, and what each is.
pub(super) const KEYS: Keys = Keys(&[
    ("jobs", "jobs of a mix (1000)"),
    ("maps.scale", "what Table 1's maps are multiplied by (3)"),
    ("reduces.scale", "the same of its reduces (3)"),
    (
        "draw",
        "for what times are drawn: job, of which all maps are alike, or task (job)",
    ),
    (
        "trace",
        "a file of jobs that are played in place of mixes: see gerbil-sim trace",
    ),
    (
        "nodes",
        "sizes of clusters (all: 75+120+210; of mix and losses 120)",
    ),
    (
        "gaps",
        "mean seconds between jobs (all: 50+60+70+80+90+100+200+...+1000; of mix and losses 100+300)",
    ),
    (
        "lost",
        "percent of cores or nodes that losses takes away (20)",
    ),
    ("seeds", "mixes of jobs drawn for each point (3)"),
]);

impl DyScaleWorld {
    /// `gaps=50+100`.
    ///
    /// # Errors
    ///
    /// There is no such key, or the value makes no sense for it.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        match key {
            // Of a thousand a mix is drawn.
            "jobs" => self.mix.jobs = whole(key, value, 1..=1_000)?,
            "maps.scale" => self.mix.maps = whole(key, value, 1..=SCALE)?,
            "reduces.scale" => self.mix.reduces = whole(key, value, 1..=SCALE)?,
            "draw" => {
                self.mix.draw = match value {
                    "job" => Draw::Job,
                    "task" => Draw::Task,
                    _ => bail!("draw={value}: job or task is wanted"),
                }
            }
            "trace" => self.trace = Some(FigureJobs::traced(value)?),
            "nodes" if value == "all" => self.nodes = Some(NODES.into()),
            "nodes" => self.nodes = Some(several(key, value, SIZE)?),
            "gaps" if value == "all" => self.gaps = Some(all_gaps()),
            "gaps" => self.gaps = Some(several(key, value, GAP)?),
            // Of less than 100 percent something is left.
            "lost" => self.lost = several(key, value, 99)?,
            "seeds" => self.seeds = whole(key, value, 1..=SEEDS)?,
            _ => return Err(KEYS.unknown(key)),
        }
        Ok(())
    }

    /// Sizes of clusters: the paper's where none are set.
    pub(super) fn nodes(&self) -> Vec<u32> {
        self.nodes.clone().unwrap_or_else(|| NODES.to_vec())
    }

    /// Mean gaps between jobs: the paper's where none are set, s.
    pub(super) fn gaps(&self) -> Vec<u32> {
        self.gaps.clone().unwrap_or_else(all_gaps)
    }

    /// One size where none are set, of figures that have many rows.
    pub(super) fn few_nodes(&self) -> Vec<u32> {
        self.nodes.clone().unwrap_or_else(|| vec![120])
    }

    /// The same of gaps: a load that nodes of fast cores alone hardly bear, and a light one.
    pub(super) fn few_gaps(&self) -> Vec<u32> {
        self.gaps.clone().unwrap_or_else(|| vec![100, 300])
    }

    /// The jobs that are played.
    pub(super) fn jobs(&self) -> FigureJobs {
        let drawn = || FigureJobs::Drawn(self.mix);
        self.trace.clone().unwrap_or_else(drawn)
    }

    /// The jobs of a seed, as many seconds apart in the mean.
    #[must_use]
    pub fn drawn(&self, seed: u64, gap: u32) -> Vec<WorkloadJob> {
        self.jobs().of(seed, Some(f64::from(gap)))
    }

    /// How many mixes are drawn for each point: a trace is one.
    pub(super) fn seeds(&self) -> u64 {
        match self.trace {
            Some(_) => 1,
            None => self.seeds,
        }
    }

    /// Under which numbers a figure was played.
    pub(super) fn caption(&self) -> String {
        let within = match self.seeds() {
            1 => "",
            _ => "; after ± stands half of the 95 % interval (Student's t)",
        };
        format!(
            "{}{within}; a map and a reduce slot a core; reduces begin when all maps are done",
            self.jobs().words(self.seeds())
        )
    }

    /// Mean completion times at each point, by class, of each seed.
    pub(super) fn play(&self, points: &[Point]) -> Result<Vec<Vec<Means>>> {
        let runs: Vec<(usize, u64)> = (0..points.len())
            .flat_map(|point| (1..=self.seeds()).map(move |seed| (point, seed)))
            .collect();
        let jobs = self.jobs();
        let played = at_once::each(&runs, |(point, seed)| {
            let point = points.get(*point).context("a point that is not there")?;
            point.play(&jobs, *seed)
        })?;
        let mut by_point: Vec<Vec<Means>> = points.iter().map(|_| Vec::new()).collect();
        for ((point, _), means) in runs.iter().zip(played) {
            if let Some(seeds) = by_point.get_mut(*point) {
                seeds.push(means);
            }
        }
        Ok(by_point)
    }
}

/// One place of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) cores: Cores,
    pub(super) nodes: u32,
    pub(super) policy: &'static str,
    /// Mean seconds between jobs; `None`: one by one.
    pub(super) gap: Option<u32>,
    /// What is lost while jobs come.
    pub(super) lost: Option<LostShare>,
}

impl Point {
    /// All gaps of each row, a node's cores and a policy, of each size of a cluster; nothing is lost.
    pub(super) fn of_cells(
        sizes: &[u32],
        rows: &[(Cores, &'static str)],
        gaps: &[u32],
    ) -> Vec<Self> {
        let mut points = Vec::new();
        for nodes in sizes {
            for (cores, policy) in rows {
                points.extend(gaps.iter().map(|gap| Self {
                    cores: *cores,
                    nodes: *nodes,
                    policy,
                    gap: Some(*gap),
                    lost: None,
                }));
            }
        }
        points
    }
}

/// Mean seconds from a job's submission to its end, and what they took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Means {
    pub(super) interactive: f64,
    pub(super) batch: f64,
    /// Kilojoules a job, of nodes that draw all their watts until the last job's end.
    pub(super) kilojoules_up: f64,
    /// The same, of cores that draw theirs for each attempt on one of their slots, and nothing otherwise.
    pub(super) kilojoules_busy: f64,
    /// Attempts that were lost with what they ran on.
    pub(super) attempts_lost: f64,
}

impl Point {
    fn play(&self, of: &FigureJobs, seed: u64) -> Result<Means> {
        let jobs = of.of(seed, self.gap.map(f64::from));
        for queue in JobClass::BOTH.map(JobClass::queue) {
            ensure!(
                jobs.iter().any(|job| job.queue == queue),
                "no {queue} job is in {}, which has {} in all, and a mean of none says nothing: ask for more with -D jobs=",
                of.source(seed),
                jobs.len()
            );
        }
        let span = jobs.last().map_or(0.0, |job| job.submit_s);
        let losses = self.lost.map(|lost| lost.draw(self, seed, span));
        let workload = Workload {
            nodes: vec![self.cores.nodes(self.nodes)],
            jobs,
            losses: losses.unwrap_or_default(),
            speeds: self.cores.speeds,
            start_ms: 20,
        };
        workload.check()?;
        let run = WorkloadRun::new(&workload, named(self.policy)?).lean();
        let result = run
            .play()
            .with_context(|| format!("{self:?}, seed {seed}"))?;
        let mean = |queue: &str| {
            let jobs = workload.jobs.iter().zip(&result.jobs);
            let times = jobs.filter(|(job, _)| job.queue == queue);
            mean(times.map(|(_, times)| times.end_s - times.submit_s))
        };
        let [interactive, batch] = JobClass::BOTH.map(JobClass::queue).map(mean);
        let Cores { watts, .. } = self.cores;
        let of_job = |joules: f64| joules / 1000.0 / f64::from(of.count());
        let of_node = u32::try_from(self.cores.watts_of_node())?;
        let up = f64::from(of_node) * f64::from(self.nodes) * in_seconds(result.end);
        let busy = |speed, watts| f64::from(watts) * in_seconds(result.busy.of(speed));
        Ok(Means {
            interactive,
            batch,
            attempts_lost: f64::from(u32::try_from(result.lost)?),
            kilojoules_up: of_job(up),
            kilojoules_busy: of_job(busy(Speed::Fast, watts.fast) + busy(Speed::Slow, watts.slow)),
        })
    }
}

pub(super) fn mean(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = of.fold((0.0, 0.0), |(sum, count), one| (sum + one, count + 1.0));
    if count > 0.0 { sum / count } else { f64::NAN }
}

fn several(key: &str, value: &str, most: u32) -> Result<Vec<u32>> {
    let each = value.split('+');
    each.map(|one| whole(key, one, 1..=most)).collect()
}
