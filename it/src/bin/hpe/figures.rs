//! What is run for each figure, and what came out.

use std::ops::RangeInclusive;

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Series, Setting, Table};
use sim::hpe::{E1, E2, E3, HpeCluster, HpeWorld, Policy, Version, gain, orders, spread};

use crate::{HpeOptions, Name};

/// In the order in which they are started.
pub(crate) const CLUSTERS: [HpeCluster; 3] = [E1, E2, E3];
/// Those of the figures.
pub(crate) const POLICIES: [Policy; 3] = [Policy::Barrier, Policy::Fifo, Policy::Hpe];
/// Ratios that are as wanted: the ApplicationMaster within a tenth of the simulator.
const WANTED: RangeInclusive<f64> = 0.9..=1.1;
/// The gain at 9 jobs that is wanted, percent.
const GAIN: RangeInclusive<f64> = 15.0..=25.0;

/// A queue on a cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueueRun {
    pub(crate) cluster: HpeCluster,
    pub(crate) policy: Policy,
    pub(crate) version: Version,
    /// A letter a job.
    pub(crate) queue: String,
}

/// When the jobs of a queue were done, seconds from the first task's start.
#[derive(Clone, Debug)]
pub(crate) struct Real {
    /// The last task of each.
    pub(crate) tasks: Vec<f64>,
    /// Its output was there.
    pub(crate) ends: Vec<f64>,
}

/// A queue on daemons and in the simulator.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    run: QueueRun,
    real: Real,
    /// When each job ends there.
    simulated: Vec<f64>,
}

/// What is run for a figure, in the order of its rows.
pub(crate) fn runs(name: Name) -> Vec<QueueRun> {
    let run = |cluster, policy, version, queue: &str| QueueRun {
        cluster,
        policy,
        version,
        queue: queue.to_owned(),
    };
    let of = |queues: &[String]| -> Vec<QueueRun> {
        let each = |cluster, policy| {
            let queues = queues.iter();
            queues.map(move |queue| run(cluster, policy, Version::Gpu, queue))
        };
        let base = each(E2, Policy::Barrier);
        base.chain(each(E3, Policy::Hpe)).collect()
    };
    match name {
        Name::Fig7 => vec![
            run(E1, Policy::Barrier, Version::Cpu, "MDW"),
            run(E2, Policy::Barrier, Version::Cpu, "MDW"),
            run(E3, Policy::Hpe, Version::Cpu, "MDW"),
            run(E2, Policy::Barrier, Version::Gpu, "MDW"),
            run(E3, Policy::Hpe, Version::Gpu, "MDW"),
        ],
        Name::Fig8 => {
            let queues: Vec<String> = (1..=3).map(|times| "MDW".repeat(times)).collect();
            let fifo = queues
                .iter()
                .map(|queue| run(E2, Policy::Fifo, Version::Gpu, queue));
            of(&queues).into_iter().chain(fifo).collect()
        }
        Name::Fig9 => of(&orders("MDW")),
        Name::Fig9b => {
            let twice = orders("MDW").into_iter().map(|order| order.repeat(2));
            of(&twice.collect::<Vec<_>>())
        }
    }
}

impl QueueRun {
    fn row(&self) -> [String; 3] {
        let policy = match self.policy {
            Policy::Fifo => "fifo",
            Policy::Barrier => "fifo-barrier",
            Policy::Blind => "fifo-blind",
            Policy::Hpe => "hpe",
            Policy::Conserve => "hpe-conserve",
            Policy::Literal => "hpe-literal",
        };
        let cpu = match self.version {
            Version::Cpu => ", CPU version",
            Version::Gpu => "",
        };
        let cluster = format!("{}{cpu}", self.cluster.name);
        [cluster, policy.to_owned(), self.queue.clone()]
    }
}

impl Played {
    pub(crate) fn new(world: &HpeWorld, run: &QueueRun, real: Real) -> Result<Self> {
        let outcome = world.play(run.cluster, run.policy, run.version, &run.queue)?;
        Ok(Self {
            run: run.clone(),
            real,
            simulated: outcome.jobs.iter().map(|job| job.end_s).collect(),
        })
    }

    fn wall(&self) -> f64 {
        last(&self.real.tasks)
    }

    fn simulated(&self) -> f64 {
        last(&self.simulated)
    }

    fn ratio(&self) -> f64 {
        self.wall() / self.simulated()
    }

    pub(crate) fn row(&self) -> Vec<String> {
        let mut row = self.run.row().to_vec();
        row.extend([
            format!("{:.2}", self.wall()),
            format!("{:.2}", self.simulated()),
            format!("{:.3}", self.ratio()),
            each(&self.real.tasks),
            each(&self.simulated),
            format!("{:.2}", last(&self.real.ends)),
        ]);
        row
    }
}

const COLUMNS: [&str; 9] = [
    "cluster",
    "policy",
    "queue",
    "AM, s",
    "simulator, s",
    "AM/simulator",
    "each job, AM, s",
    "each job, simulator, s",
    "outputs there, s",
];

fn last(ends: &[f64]) -> f64 {
    ends.iter().copied().fold(0.0, f64::max)
}

fn each(ends: &[f64]) -> String {
    let ends: Vec<String> = ends.iter().map(|end| format!("{end:.1}")).collect();
    ends.join(" ")
}

/// A figure of what was played for it.
pub(crate) fn figure(
    name: Name,
    options: &HpeOptions,
    setting: Setting,
    runs: &[QueueRun],
    played: &[Played],
) -> Result<Figure> {
    let find = |run: &QueueRun| played.iter().find(|played| played.run == *run);
    let rows: Vec<&Played> = runs.iter().filter_map(find).collect();
    let mut table = Table::new(&COLUMNS);
    rows.iter().for_each(|played| table.row(played.row()));
    let bars = |of: fn(&Played) -> f64| {
        let at = |(place, played): (usize, &&Played)| (place as f64, of(played));
        rows.iter().enumerate().map(at).collect()
    };
    let number = name.text().trim_start_matches("fig");
    let queues = |played: &&Played| played.run.row().join(" ");
    Ok(Figure {
        name: format!("hpe-{}", name.text()),
        title: format!(
            "Pamar's Figure {number}: the session's ApplicationMaster beside the simulator"
        ),
        command: format!(
            "cargo build --release -p client -p it && cargo run --release -p it --bin hpe -- {} --time {} --slots {} \
             --out it/results",
            name.text(),
            options.time,
            options.slots
        ),
        method: format!(
            "Table 1 of Pamar (Tan, Lee, He, Campbell) at half its size: 4 NodeManagers on one machine, of which YARN \
             counts an `acc/gpu` at all (E2), at three (E3) or at none (E1), and a session with {slots} slots on each, for \
             maps and reduces alike, of which a device has one task at a time. Jobs are those of `gerbil-sim hpe` \
             (task counts and times are ours, the paper gives none) with half of their tasks and 1/{time} of their \
             times: tasks hold a slot, and the node's device in turn, and compute nothing. All are in the queue when the \
             slots come free. *AM*: from the first task's start to the last one's end, by the ApplicationMaster's clock; \
             *outputs there* is when they are on HDFS, too. *Simulator*: `gerbil-sim hpe {figure} -D scale.nodes=2 -D \
             scale.time={time} -D slots={slots}`, the same decisions on virtual time, where starting and ending a task takes \
             none. `fifo-barrier` is the default as the paper draws it (Figure 4b), `fifo` never leaves a slot idle. Each \
             queue is run once.",
            figure = name.simulated(),
            slots = options.slots,
            time = options.time,
        ),
        paper: paper(name).to_owned(),
        findings: findings(name, &rows)?,
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("the queue, s"),
            names: rows.iter().map(queues).collect(),
            stacked: false,
            series: vec![
                Series::measured("ApplicationMaster", bars(Played::wall)),
                Series::given("simulator", bars(Played::simulated)),
            ],
        },
    })
}

const fn paper(name: Name) -> &'static str {
    match name {
        Name::Fig7 => {
            "E3 with HPE ends the queue first, the gain over E2 is small at three jobs (Pamar, Figure 7)."
        }
        Name::Fig8 => {
            "E3 with HPE ends before E2 with the default at 3, 6 and 9 jobs, by up to 23 % at 9 (Pamar, Figure 8)."
        }
        Name::Fig9 | Name::Fig9b => {
            "with HPE the order of submission does not matter, with the default it does (Pamar, Figure 9)."
        }
    }
}

fn findings(name: Name, rows: &[&Played]) -> Result<Vec<String>> {
    let ratios: Vec<f64> = rows.iter().map(|played| played.ratio()).collect();
    let within = ratios.iter().filter(|ratio| WANTED.contains(ratio)).count();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let mut findings = vec![format!(
        "The ApplicationMaster takes {least:.3} to {:.3} times what the simulator says; {within} of {} queues are within \
         10 %.",
        last(&ratios),
        ratios.len()
    )];
    let both = |of: &dyn Fn(fn(&Played) -> f64) -> Result<String>| -> Result<String> {
        Ok(format!(
            "{}, simulator {}",
            of(Played::wall)?,
            of(Played::simulated)?
        ))
    };
    let base =
        |row: &&&Played| row.run.policy == Policy::Barrier && row.run.version == Version::Gpu;
    let hpe = |row: &&&Played| row.run.policy == Policy::Hpe && row.run.version == Version::Gpu;
    match name {
        Name::Fig7 | Name::Fig8 => {
            let gains = both(&|wall| {
                let base = rows.iter().filter(base).map(|row| wall(row));
                let ours = rows.iter().filter(hpe).map(|row| wall(row));
                let gains = base
                    .zip(ours)
                    .map(|(base, ours)| format!("{:.1}", gain(base, ours)));
                Ok(gains.collect::<Vec<_>>().join(", ") + " %")
            })?;
            findings.push(format!(
                "Less time on E3 with HPE than on E2 with fifo-barrier: AM {gains}."
            ));
        }
        Name::Fig9 | Name::Fig9b => {
            let spreads = |of: &dyn Fn(&&&Played) -> bool| {
                both(&|wall| {
                    let walls: Vec<f64> = rows.iter().filter(of).map(|row| wall(row)).collect();
                    walls.first().context("no queue was played")?;
                    Ok(format!("{:.1} %", spread(&walls)))
                })
            };
            findings.push(format!(
                "The largest less the smallest of six orders, of the mean: E3 with HPE {}; E2 with fifo-barrier {}.",
                spreads(&hpe)?,
                spreads(&base)?
            ));
        }
    }
    if name == Name::Fig7 {
        let walls = both(&|wall| {
            let walls = rows.iter().map(|row| format!("{:.1}", wall(row)));
            Ok(walls.collect::<Vec<_>>().join(", ") + " s")
        })?;
        findings.push(format!("The queue, row by row: {walls}."));
    }
    if name == Name::Fig8 {
        let gains = both(&|wall| {
            let base = rows.iter().filter(|row| row.run.policy == Policy::Fifo);
            let ours = rows.iter().filter(hpe).map(|row| wall(row));
            let gains = base
                .map(|row| wall(row))
                .zip(ours)
                .map(|(base, ours)| format!("{:.1}", gain(base, ours)));
            Ok(gains.collect::<Vec<_>>().join(", ") + " %")
        })?;
        let gained = |wall: fn(&Played) -> f64| -> Option<f64> {
            let base = rows.iter().rfind(base)?;
            let ours = rows.iter().rfind(hpe)?;
            Some(gain(wall(base), wall(ours)))
        };
        let nine = gained(Played::wall).zip(gained(Played::simulated));
        let (nine, simulated) = nine.context("no queue was played")?;
        let is_wanted = |gain: f64| match GAIN.contains(&gain) {
            true => "within",
            false => "outside",
        };
        findings.push(format!(
            "At 9 jobs the paper gains up to 23 %, and {:.0} to {:.0} % are wanted of the simulator: AM {nine:.1} %, \
             which is {}, simulator {simulated:.1} %, which is {}.",
            GAIN.start(),
            GAIN.end(),
            is_wanted(nine),
            is_wanted(simulated)
        ));
        findings.push(format!(
            "Less than on E2 with fifo, which never leaves a slot idle (below 0: more): AM {gains}."
        ));
    }
    Ok(findings)
}
