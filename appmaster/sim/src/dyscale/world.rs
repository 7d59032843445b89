//! What is played: mixes on clusters under policies, several at a time.

use anyhow::{Context as _, Result, ensure};
use policy::schedule::{Speed, named};

use super::clusters::Cores;
use super::losses::LostShare;
use super::mix::{Mix, QUEUES};
use crate::run::{WorkloadRun, in_seconds};
use crate::workload::Workload;
use crate::{Keys, at_once, whole};

/// Numbers of the figures.
#[derive(Clone, Debug)]
pub struct DyScaleWorld {
    pub(super) mix: Mix,
    /// Sizes of clusters, where they are set.
    nodes: Option<Vec<u32>>,
    /// Mean gaps between jobs, in seconds, where they are set.
    gaps: Option<Vec<u32>>,
    /// Hundredths of what is lost in a run.
    pub(super) lost: Vec<u32>,
    /// Mixes that are drawn for each point.
    pub(super) seeds: u64,
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

    /// Under which numbers a figure was played.
    pub(super) fn caption(&self) -> String {
        let Mix {
            jobs,
            maps,
            reduces,
        } = self.mix;
        format!(
            "{jobs} jobs of Table 1's bins, maps times {maps}, reduces times {reduces}; times drawn for each job; means of {} \
             mixes, the same ones for each row; a map and a reduce slot a core; reduces begin when all maps are done",
            self.seeds
        )
    }

    /// Mean completion times at each point, by class, of each seed.
    pub(super) fn play(&self, points: &[Point]) -> Result<Vec<Vec<Means>>> {
        let runs: Vec<(usize, u64)> = (0..points.len())
            .flat_map(|point| (1..=self.seeds).map(move |seed| (point, seed)))
            .collect();
        let played = at_once::each(&runs, |(point, seed)| {
            let point = points.get(*point).context("a point that is not there")?;
            point.play(self.mix, *seed)
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
    fn play(&self, mix: Mix, seed: u64) -> Result<Means> {
        let jobs = mix.draw(seed, self.gap.map(f64::from));
        for queue in QUEUES {
            ensure!(
                jobs.iter().any(|job| job.queue == queue),
                "no {queue} job is in the mix of seed {seed}, which has {} in all, and a mean of none says nothing: \
                 ask for more with -D jobs=",
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
        let run = WorkloadRun::new(&workload, named(self.policy)?).lean();
        let result = run
            .play()
            .with_context(|| format!("{self:?}, seed {seed}"))?;
        let mean = |queue: &str| {
            let jobs = workload.jobs.iter().zip(&result.jobs);
            let times = jobs.filter(|(job, _)| job.queue == queue);
            mean(times.map(|(_, times)| times.end_s - times.submit_s))
        };
        let [interactive, batch] = QUEUES.map(mean);
        let Cores { watts, .. } = self.cores;
        let of_job = |joules: f64| joules / 1000.0 / f64::from(mix.jobs);
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
