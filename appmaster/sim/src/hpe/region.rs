//! Where HPE pays: by the share of tasks that need an element, the load, how many nodes have one, and how much faster it is.

use anyhow::{Context as _, Result};
use policy::schedule::named;

use super::clusters::{GPU, HpeCluster};
use super::heat;
use super::world::{HpeWorld, Policy, gain};
use crate::at_once;
use crate::chance::Chance;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use crate::run::{WorkloadRun, in_seconds};
use crate::workload::{AlikeTasks, CoreSpeeds, Workload, WorkloadJob};

/// Jobs of a queue.
const JOBS: u32 = 12;
/// Nodes of the cluster, as in Table 1.
const NODES: u32 = 8;
/// Mean seconds of a map on a core.
const MAP: f64 = 24.0;
/// Seconds of a reduce.
const REDUCE: f64 = 10.0;
/// Queues that are drawn for each cell.
pub const SEEDS: u64 = 20;

/// Percent of the jobs, and so of the maps, that need an element.
pub(super) const SHARES: [u32; 3] = [25, 50, 75];
/// Work that comes beside what all map slots do in that time, in percent; 0: all jobs come at once.
pub(super) const LOADS: [u32; 4] = [0, 50, 80, 120];
/// Nodes that have an element.
pub(super) const WITH: [u32; 4] = [2, 4, 6, 8];
/// How many times faster a map is with its element.
pub(super) const FASTER: [u32; 3] = [1, 4, 16];

/// One place of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionCell {
    /// Percent of the jobs that need an element.
    pub share: u32,
    /// Percent of what the map slots do; 0: all at once.
    pub load: u32,
    /// Nodes of eight that have an element.
    pub with: u32,
    /// How many times faster maps are with it.
    pub faster: u32,
}

impl RegionCell {
    /// Every cell.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for load in LOADS {
            for faster in FASTER {
                for share in SHARES {
                    all.extend(WITH.map(|with| Self {
                        share,
                        load,
                        with,
                        faster,
                    }));
                }
            }
        }
        all
    }

    /// `load 80 %, 4 times as fast, 50 % of the tasks, 6 of 8 nodes`.
    #[must_use]
    pub fn words(self) -> String {
        let Self {
            share,
            with,
            faster,
            ..
        } = self;
        let load = heat::load_words(self.load);
        format!("{load}, {faster} times as fast, {share} % of the tasks, {with} of 8 nodes")
    }

    /// The jobs of a seed; of a map with its element so many percent are on the device.
    fn jobs(self, seed: u64, device: u32) -> Vec<WorkloadJob> {
        let mut chance = Chance::seeded(seed);
        let needing = JOBS.saturating_mul(self.share) / 100;
        let mut needs: Vec<bool> = (0..JOBS).map(|number| number < needing).collect();
        chance.shuffle(&mut needs);
        let mut jobs: Vec<WorkloadJob> = Vec::new();
        let (mut work, mut gaps) = (0.0, Vec::new());
        for (number, needs) in needs.into_iter().enumerate() {
            let maps = 8_u32.saturating_add(u32::try_from(chance.below(33)).unwrap_or(0));
            let seconds = MAP * (0.5 + chance.even());
            gaps.push(chance.exponential(1.0));
            let seconds = if needs {
                seconds / f64::from(self.faster)
            } else {
                seconds
            };
            work += f64::from(maps) * seconds;
            let maps = if needs {
                let device_seconds = seconds * f64::from(device) / 100.0;
                AlikeTasks {
                    device_seconds,
                    devices: vec![GPU.to_owned()],
                    ..AlikeTasks::of(maps, seconds - device_seconds)
                }
            } else {
                AlikeTasks::of(maps, seconds)
            };
            let reduces = AlikeTasks::of(maps.count / 8, REDUCE);
            let kind = if needs { 'G' } else { 'P' };
            jobs.push(WorkloadJob {
                name: format!("{kind}{number}"),
                submit_s: 0.0,
                user: String::new(),
                queue: String::new(),
                priority: 0,
                deadline_s: None,
                maps: Some(maps),
                reduces: Some(reduces),
                ranks: None,
            });
        }
        if self.load > 0 {
            let span = work / f64::from(NODES * 4) / f64::from(self.load) * 100.0;
            let mut at = 0.0;
            for (job, gap) in jobs.iter_mut().zip(gaps) {
                job.submit_s = at;
                at += gap * span / f64::from(JOBS);
            }
        }
        jobs
    }

    fn play(self, world: &HpeWorld, policy: &str, seed: u64) -> Result<Times> {
        let cluster = HpeCluster {
            name: "region",
            gpu: self.with,
            cpu: NODES.saturating_sub(self.with),
        };
        let workload = Workload {
            speeds: CoreSpeeds::default(),
            nodes: world.nodes(cluster),
            jobs: self.jobs(seed, world.settings.device),
            losses: Vec::new(),
            start_ms: 0,
        };
        let mut run = WorkloadRun::new(&workload, named(policy)?).lean();
        if self.load == 0 {
            run = run.queued();
        }
        let result = run
            .play()
            .with_context(|| format!("{self:?}, seed {seed}, under {policy}"))?;
        let spans = result.jobs.iter().map(|job| job.end_s - job.submit_s);
        Ok(Times {
            queue: in_seconds(result.end),
            job: spans.sum::<f64>() / f64::from(JOBS),
        })
    }
}

/// Means of some seeds, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// From the first submission to the last end.
    pub queue: f64,
    /// From a job's submission to its end.
    pub job: f64,
}

/// Times of each cell under each policy.
pub fn play(
    world: &HpeWorld,
    cells: &[RegionCell],
    policies: &[String],
) -> Result<Vec<Vec<Times>>> {
    let mut runs = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        for (number, policy) in policies.iter().enumerate() {
            runs.extend((1..=SEEDS).map(|seed| (at, *cell, number, policy, seed)));
        }
    }
    let played = at_once::each(&runs, |(_, cell, _, policy, seed)| {
        cell.play(world, policy, *seed)
    })?;
    let mut means = vec![vec![Times::default(); policies.len()]; cells.len()];
    let seeds = u32::try_from(SEEDS).map_or(f64::NAN, f64::from);
    for ((cell, _, policy, ..), times) in runs.iter().zip(played) {
        if let Some(mean) = means.get_mut(*cell).and_then(|cell| cell.get_mut(*policy)) {
            mean.queue += times.queue / seeds;
            mean.job += times.job / seeds;
        }
    }
    Ok(means)
}

/// Within so many times of another it is as good.
pub const AS_GOOD: f64 = 1.01;

/// The policies of a region, in the order of their times: `fifo`, `hpe`, `hpe-conserve`.
#[must_use]
pub fn policies(world: &HpeWorld) -> Vec<String> {
    let named = [Policy::Fifo, Policy::Hpe, Policy::Conserve];
    named.map(|policy| world.policy(policy)).to_vec()
}

/// A cell with the times of the three policies.
type Seen<'a> = (&'a RegionCell, [Times; 3]);

type Measure = fn(&Times) -> f64;

/// By how much `policy` is below `base`, in percent, in each cell.
fn gains(seen: &[Seen<'_>], base: usize, policy: usize, of: Measure) -> Vec<(RegionCell, f64)> {
    let each = seen.iter().map(|(cell, times)| {
        let of = |at: usize| times.get(at).map_or(f64::NAN, of);
        (**cell, gain(of(base), of(policy)))
    });
    each.collect()
}

fn table(title: &str, gains: &[(RegionCell, f64)]) -> FigureTable {
    let rows = gains.chunks(WITH.len()).map(|row| {
        let name = row.first().map_or_else(String::new, |(cell, _)| {
            let RegionCell { share, faster, .. } = cell;
            let load = heat::load_words(cell.load);
            format!("{load}, {faster} times as fast, {share} % of the tasks")
        });
        FigureRow::new(name, row.iter().map(|(_, gain)| *gain).collect())
    });
    FigureTable {
        title: title.to_owned(),
        unit: "%",
        columns: WITH.map(|with| format!("{with} of 8 nodes")).to_vec(),
        rows: rows.collect(),
    }
}

/// In how many cells a policy takes less, and in how many more.
fn pays(gains: &[(RegionCell, f64)]) -> String {
    let count = |is: fn(f64) -> bool| gains.iter().filter(|(_, gain)| is(*gain)).count();
    let extreme = |sign: f64| {
        let worst = gains
            .iter()
            .max_by(|one, other| (one.1 * sign).total_cmp(&(other.1 * sign)));
        worst.map_or_else(String::new, |(cell, gain)| {
            format!("{gain:.1} % ({})", cell.words())
        })
    };
    format!(
        "less time in {} of {} cells, more in {}; best {}, worst {}",
        count(|gain| gain > 1.0),
        gains.len(),
        count(|gain| gain < -1.0),
        extreme(1.0),
        extreme(-1.0),
    )
}

/// Whether in each of these cells a policy takes at most [`AS_GOOD`] times what the other does.
fn as_good(text: &str, gains: &[(RegionCell, f64)]) -> Claim {
    let least = gains.iter().map(|(_, gain)| 1.0 - gain / 100.0);
    let most = least.fold(f64::NEG_INFINITY, f64::max);
    let said = format!("at most {most:.3} times in {} cells", gains.len());
    Claim::new(text, "(ours)", said, most <= AS_GOOD)
}

pub(super) fn figure(world: &HpeWorld) -> Result<PaperFigure> {
    let cells = RegionCell::all();
    let times = play(world, &cells, &policies(world))?;
    let seen: Vec<Seen<'_>> = cells
        .iter()
        .zip(times)
        .filter_map(|(cell, times)| Some((cell, <[Times; 3]>::try_from(times).ok()?)))
        .collect();
    let device = world.settings.device;
    let (queue, job): (Measure, Measure) = (|times| times.queue, |times| times.job);
    let (hpe, conserve) = (gains(&seen, 0, 1, queue), gains(&seen, 0, 2, queue));
    let (hpe_job, conserve_job) = (gains(&seen, 0, 1, job), gains(&seen, 0, 2, job));
    let beside = gains(&seen, 1, 2, queue);
    let where_hpe_pays = beside.iter().zip(&hpe).filter(|(_, (_, gain))| *gain > 0.0);
    let where_hpe_pays: Vec<_> = where_hpe_pays.map(|(cell, _)| *cell).collect();
    let drawn = [
        ("region-hpe", "HPE's queue beside FIFO's", &hpe),
        (
            "region-hpe-conserve",
            "hpe-conserve's queue beside FIFO's",
            &conserve,
        ),
        (
            "region-jobs",
            "HPE's jobs, from submission to end, beside FIFO's",
            &hpe_job,
        ),
    ];
    let drawings = drawn.map(|(name, title, gains)| Drawing {
        name: name.to_owned(),
        svg: heat::svg(title, gains),
    });
    Ok(PaperFigure {
        name: "region",
        title: "where HPE pays",
        caption: vec![
            format!(
                "The paper compares HPE with a Hadoop whose jobs wait for each other; here all three policies have the same \
                 nodes, and fifo gives every slot to the first job that has a task for it, as Hadoop's own FIFO does. {JOBS} jobs \
                 of 8 to 40 maps and an eighth as many reduces, in any order; a map takes {MAP} s on the mean, half to one and a \
                 half of it by job, on a node with the element that part of it which the column says, {device} % of that on the \
                 device; a node has 4 map slots, a reduce slot, and one device or none. Means of {SEEDS} queues."
            ),
            format!("hpe, the whole queue: {}.", pays(&hpe)),
            format!("hpe, each job from its submission to its end: {}.", pays(&hpe_job)),
            format!("hpe-conserve, the whole queue: {}.", pays(&conserve)),
            format!("hpe-conserve, each job: {}.", pays(&conserve_job)),
            "Take hpe-conserve. Take hpe to compare with the paper, and hpe-conserve:per=3 or more where a task loads for longer \
             than it computes on the device (gerbil-sim hpe region -D device=25 -D per=4)."
                .to_owned(),
        ],
        tables: vec![
            table("hpe, less time than fifo for the queue", &hpe),
            table("hpe-conserve, the same", &conserve),
            table("hpe, less time than fifo for a job", &hpe_job),
            table("hpe-conserve, the same", &conserve_job),
        ],
        claims: vec![
            as_good("hpe-conserve takes at most 1.01 times what fifo does for the queue", &conserve),
            as_good("and at most 1.01 times what hpe does where hpe beats fifo", &where_hpe_pays),
        ],
        drawings: drawings.to_vec(),
    })
}
