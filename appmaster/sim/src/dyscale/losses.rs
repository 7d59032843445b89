//! Beyond the paper: fast cores, slow cores or whole nodes are lost while jobs come (its future work, §7).

use anyhow::Result;

use super::arrivals::CAPACITY;
use super::clusters::{Cores, HETEROGENEOUS};
use super::isolated::{CLASSES, of};
use super::world::{DyScaleWorld, Means, Point};
use crate::chance::Chance;
use crate::figure::{Claim, FigureRow, FigureTable, PaperFigure};
use crate::interval::MeanWithin;
use crate::workload::{Loss, LostCore, SlotSpeed};

/// What is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LostKind {
    FastCores,
    SlowCores,
    Nodes,
}

impl LostKind {
    const ALL: [Self; 3] = [Self::FastCores, Self::SlowCores, Self::Nodes];

    const fn name(self) -> &'static str {
        match self {
            Self::FastCores => "fast cores",
            Self::SlowCores => "slow cores",
            Self::Nodes => "nodes",
        }
    }

    /// All that a node has of it.
    fn of_node(self, cores: &Cores) -> Vec<Option<LostCore>> {
        let (speed, count) = match self {
            Self::FastCores => (SlotSpeed::Fast, cores.fast),
            Self::SlowCores => (SlotSpeed::Slow, cores.slow),
            Self::Nodes => return vec![None],
        };
        let numbers = (0..).take(count);
        numbers
            .map(|number| Some(LostCore { speed, number }))
            .collect()
    }
}

/// How much is lost, of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LostShare {
    kind: LostKind,
    percent: u32,
}

impl LostShare {
    fn name(self) -> String {
        format!("{} % of {}", self.percent, self.kind.name())
    }

    /// So much of a point's cluster, each at a time of its own in the `span` seconds in which jobs come, as a seed has it.
    pub(super) fn draw(self, point: &Point, seed: u64, span: f64) -> Vec<Loss> {
        let mut chance = Chance::seeded(!seed);
        let nodes = (0..point.nodes).flat_map(|node| {
            let there = self.kind.of_node(&point.cores);
            there.into_iter().map(move |core| (node, core))
        });
        let mut all: Vec<(u32, Option<LostCore>)> = nodes.collect();
        chance.shuffle(&mut all);
        let percent = usize::try_from(self.percent).unwrap_or(0);
        let lost = all.len().saturating_mul(percent).saturating_add(50) / 100;
        // One is left to go on with.
        let lost = lost.min(all.len().saturating_sub(1));
        let losses = all.into_iter().take(lost).map(|(node, core)| Loss {
            at_s: span * chance.even(),
            node,
            core,
        });
        losses.collect()
    }
}

const POLICIES: [(&str, &str); 4] = [
    ("fifo", "fifo"),
    ("capacity", CAPACITY),
    ("dyscale-basic", "dyscale-basic"),
    ("dyscale", "dyscale"),
];

/// All policies at one size of a cluster and one gap: a row each, of which the first point is without a loss.
struct LossesOfCell<'a> {
    shares: &'a [LostShare],
    points: &'a [Vec<Means>],
}

impl LossesOfCell<'_> {
    /// The points of a policy.
    fn of_policy(&self, policy: usize) -> &[Vec<Means>] {
        let each = self.shares.len().saturating_add(1);
        self.points.chunks(each).nth(policy).unwrap_or_default()
    }

    /// Per cent of what a policy takes without a loss, mix of jobs by mix of jobs, for each share.
    fn beside_none(&self, policy: usize, class: fn(&Means) -> f64) -> Vec<MeanWithin> {
        let Some((none, each)) = self.of_policy(policy).split_first() else {
            return Vec::new();
        };
        let beside = |seeds: &Vec<Means>| {
            let pairs = seeds.iter().zip(none);
            let ratios = pairs.map(|(with, none)| 100.0 * class(with) / class(none));
            MeanWithin::of(&ratios.collect::<Vec<_>>())
        };
        each.iter().map(beside).collect()
    }

    /// Mean seconds of a policy without a loss, and with each.
    fn seconds(&self, policy: usize, class: fn(&Means) -> f64) -> Vec<MeanWithin> {
        let points = self.of_policy(policy).iter();
        points.map(|seeds| of(seeds, class)).collect()
    }

    fn tables(&self, place: &str) -> Vec<FigureTable> {
        let shares = || self.shares.iter().map(|share| share.name());
        let rows = |row: &dyn Fn(usize) -> FigureRow| (0..POLICIES.len()).map(row).collect();
        let name = |policy: usize| POLICIES.get(policy).map_or("", |(name, _)| *name);
        let mut tables = Vec::new();
        for (title, class) in CLASSES {
            tables.push(FigureTable {
                title: format!("mean completion time of {title} {place}"),
                unit: "s",
                columns: std::iter::once("nothing lost".to_owned())
                    .chain(shares())
                    .collect(),
                rows: rows(&|policy| {
                    FigureRow::of_means(name(policy), &self.seconds(policy, class))
                }),
            });
            let beside =
                |policy| FigureRow::of_means(name(policy), &self.beside_none(policy, class));
            tables.push(FigureTable {
                title: format!("{title} beside the same policy where nothing is lost, {place}"),
                unit: "%",
                columns: shares().collect(),
                rows: rows(&beside),
            });
        }
        let lost = |policy| {
            let mut seconds = self.seconds(policy, |means| means.attempts_lost);
            FigureRow::of_means(name(policy), &seconds.split_off(1.min(seconds.len())))
        };
        tables.push(FigureTable {
            title: format!("attempts that were lost, {place}"),
            unit: "a run",
            columns: shares().collect(),
            rows: rows(&lost),
        });
        tables
    }
}

pub(super) fn figure_losses(world: &DyScaleWorld) -> Result<PaperFigure> {
    let (sizes, gaps) = (world.few_nodes(), world.few_gaps());
    let shares: Vec<LostShare> = (world.lost.iter())
        .flat_map(|percent| {
            LostKind::ALL.map(|kind| LostShare {
                kind,
                percent: *percent,
            })
        })
        .collect();
    let cells = sizes
        .iter()
        .flat_map(|nodes| gaps.iter().map(move |gap| (*nodes, *gap)));
    let cells: Vec<(u32, u32)> = cells.collect();
    let mut points = Vec::new();
    for (nodes, gap) in &cells {
        for (_, policy) in POLICIES {
            let lost = std::iter::once(None).chain(shares.iter().copied().map(Some));
            points.extend(lost.map(|lost| Point {
                cores: HETEROGENEOUS,
                nodes: *nodes,
                policy,
                gap: Some(*gap),
                lost,
            }));
        }
    }
    let played = world.play(&points)?;
    let of_cell = POLICIES
        .len()
        .saturating_mul(shares.len().saturating_add(1));
    let by_cell: Vec<LossesOfCell<'_>> = played
        .chunks(of_cell)
        .map(|points| LossesOfCell {
            shares: &shares,
            points,
        })
        .collect();
    let tables = cells.iter().zip(&by_cell).flat_map(|((nodes, gap), cell)| {
        cell.tables(&format!("on {nodes} nodes, a job each {gap} s"))
    });
    Ok(PaperFigure {
        name: "losses",
        title: "fast cores, slow cores or nodes that are lost while jobs come",
        caption: vec![
            "Nodes of 3 T2 and 9 T3. What is lost is drawn for each mix of jobs, and is the same for each policy: each core, or \
             node, at a time of its own between the first submission and the last, and it stays lost. What ran there runs again, \
             before what else its job has pending; outputs of maps that are done stay. After ± stands half of the 95 % interval \
             (Student's t)."
                .to_owned(),
            format!("capacity is {CAPACITY}."),
            world.caption(),
        ],
        tables: tables.collect(),
        claims: claims(&cells, &by_cell),
        drawings: Vec::new(),
    })
}

/// What the last policy, with moves, is like.
const DYSCALE: usize = 3;

fn claims(cells: &[(u32, u32)], by_cell: &[LossesOfCell<'_>]) -> Vec<Claim> {
    let [(_, interactive), (_, batch)] = CLASSES;
    let both_kinds = |class: fn(&Means) -> f64| -> Vec<[f64; 2]> {
        let each = by_cell.iter().flat_map(|cell| {
            let beside = cell.beside_none(DYSCALE, class);
            let shares = beside.chunks(LostKind::ALL.len());
            let pairs = shares.filter_map(|of| Some([of.first()?.mean, of.get(1)?.mean]));
            pairs.collect::<Vec<_>>()
        });
        each.collect()
    };
    let shown = |pairs: &[[f64; 2]]| {
        let pairs = pairs
            .iter()
            .map(|[fast, slow]| format!("{fast:.1} and {slow:.1} %"));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let [of_interactive, of_batch] = [interactive, batch].map(both_kinds);
    let mut best = Vec::new();
    let mut is_best = true;
    for ((nodes, gap), cell) in cells.iter().zip(by_cell) {
        let seconds: Vec<Vec<MeanWithin>> = (0..POLICIES.len())
            .map(|policy| cell.seconds(policy, interactive))
            .collect();
        for (at, share) in cell.shares.iter().enumerate() {
            let with_loss = seconds
                .iter()
                .map(|of| of.get(at.saturating_add(1)).map_or(f64::NAN, |of| of.mean));
            let least = with_loss
                .zip(POLICIES)
                .min_by(|(one, _), (other, _)| one.total_cmp(other));
            let name = least.map_or("", |(_, (name, _))| name);
            is_best &= name.starts_with("dyscale");
            best.push(format!("{nodes}/{gap}, {}: {name}", share.name()));
        }
    }
    vec![
        Claim::new(
            "interactive jobs, under dyscale, suffer more from lost fast cores than from slow ones, by the means",
            "\"may be different\"",
            shown(&of_interactive),
            of_interactive.iter().all(|[fast, slow]| fast > slow),
        ),
        Claim::new(
            "batch jobs, under dyscale, suffer more from lost slow cores than from fast ones, by the means",
            "\"may be different\"",
            shown(&of_batch),
            of_batch.iter().all(|[fast, slow]| slow > fast),
        ),
        Claim::new(
            "interactive jobs are done soonest under DyScale whatever is lost, by the means",
            "not played",
            best.join("; "),
            is_best,
        ),
    ]
}
