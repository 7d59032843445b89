//! Figures 2, 3 and 4: each job alone.

use std::path::Path;

use anyhow::Result;
use it::results::{Axis, Chart, Figure, Series, Setting, Table};
use sim::spmario::{Predicted, PredictedJob, PredictedSetting, SpmarioWorld};

use crate::command;
use crate::engine::EngineWords;
use crate::play::{Measures, at_best, input};

/// Programs, and kernel / io of each in percent.
pub(crate) const PROGRAMS: [(&str, u64); 3] = [("MM", 45), ("KMC", 102), ("LR", 5)];
const CHUNKS: u64 = 48;
pub(crate) const MIB: u64 = 8;
/// Order, and processes or tasks: those of the paper's figures.
const ROWS: [(&str, u32); 6] = [
    ("gpmr", 1),
    ("gpmr", 2),
    ("gpmr", 4),
    ("spmario", 1),
    ("spmario", 2),
    ("spmario", 3),
];

/// The simulator's machine, as slow as the modelled one.
pub(crate) fn world() -> Result<SpmarioWorld> {
    let mut world = SpmarioWorld::default();
    world.set("disk=200")?;
    world.set("pcie=727")?;
    Ok(world)
}

/// A row.
struct AloneRun {
    program: &'static str,
    order: &'static str,
    count: u32,
    found: Measures,
    said: Predicted,
}

impl AloneRun {
    fn is_baseline(&self) -> bool {
        self.order == "gpmr"
    }

    fn name(&self) -> String {
        let one = match (self.is_baseline(), self.count) {
            (true, 1) => "process",
            (true, _) => "processes",
            (false, 1) => "task",
            (false, _) => "tasks",
        };
        format!("{} {} {} {one}", self.program, self.order, self.count)
    }

    /// Bound / time.
    fn efficiency(&self) -> f64 {
        self.said.bound / self.found.time
    }

    fn row(&self) -> Vec<String> {
        let Self { found, said, .. } = self;
        let share = |part: f64, whole: f64| format!("{:.1}", part / whole * 100.0);
        let ms = |seconds: f64| format!("{:.1}", seconds * 1000.0);
        vec![
            self.name(),
            format!("{:.3}", found.time),
            format!("{:.3}", said.time),
            share(found.gpu, found.time),
            share(said.gpu, said.time),
            share(found.io, found.time),
            share(said.io, said.time),
            ms(found.io_chunk),
            ms(said.io_chunk),
            format!("{:.3}", self.efficiency()),
        ]
    }
}

const COLUMNS: [&str; 10] = [
    "job",
    "engines, s",
    "simulator, s",
    "GPU, %",
    "simulator",
    "I/O, %",
    "simulator",
    "I/O a chunk, ms",
    "simulator",
    "bound/time",
];

fn play(
    folder: &Path,
    rounds: u32,
    (program, kernel): (&'static str, u64),
    (order, count): (&'static str, u32),
) -> Result<AloneRun> {
    let baseline = order == "gpmr";
    // The baseline's are processes with a task each, SPMario's are threads of one.
    let processes = if baseline { u64::from(count) } else { 1 };
    let share = CHUNKS / processes;
    let engines: Vec<EngineWords> = (0..processes)
        .map(|number| EngineWords {
            folder: folder.to_owned(),
            job: program.to_owned(),
            mib: MIB,
            first: number * share,
            chunks: share,
            tasks: if baseline { 1 } else { u64::from(count) },
            overlap: !baseline,
            by_copy: true,
            kernel,
        })
        .collect();
    let setting = PredictedSetting {
        order,
        tasks: count,
        overlap: !baseline,
        by_copy: true,
    };
    let job = PredictedJob {
        program,
        chunks: CHUNKS,
        mib: MIB,
    };
    Ok(AloneRun {
        program,
        order,
        count,
        found: at_best(folder, order, &engines, rounds)?,
        said: world()?.predict(setting, &[job])?,
    })
}

pub(crate) fn figure(folder: &Path, rounds: u32, setting: Setting) -> Result<Figure> {
    input(folder, CHUNKS * MIB)?;
    let mut runs = Vec::new();
    for program in PROGRAMS {
        for row in ROWS {
            runs.push(play(folder, rounds, program, row)?);
        }
    }
    let mut table = Table::new(&COLUMNS);
    runs.iter().for_each(|run| table.row(run.row()));
    let bars = |of: fn(&AloneRun) -> f64| {
        let at = |(place, run): (usize, &AloneRun)| (place as f64, of(run));
        runs.iter().enumerate().map(at).collect()
    };
    Ok(Figure {
        name: "spmario-jobs".to_owned(),
        title: "SPMario's Figures 2, 3 and 4: engines beside the simulator".to_owned(),
        command: command("jobs", rounds),
        method: format!(
            "Each job alone, {CHUNKS} chunks of {MIB} MiB of a real file, past the page cache where the file system allows \
             that. Processes, threads, tokens and reads are real; the disk is held to 200 MB/s, copies (0.275 of a read) and \
             kernels (0.45, 1.02 and 0.05 of a read for MM, KMC and LR) are waits on a GPU that runs one kernel at a time. \
             `gpmr` is the paper's baseline: processes, each with a chunk at a time, which share the disk, and a GPU that \
             copies or computes; `spmario` is one process with so many tasks, whose GPU copies beside a kernel. Of {rounds} \
             runs the shortest counts. *GPU* and *I/O*: for what share of the time a kernel, and the disk, was active. \
             *bound/time*: the longest of disk, copies and kernels, of the time. *Simulator*: the same decisions on virtual time."
        ),
        paper: "SPMario is up to 2.28 times as fast as the baseline, its I/O time of a chunk is flat, the baseline's \
                rises (SPMario, Figures 2, 3 and 4)."
            .to_owned(),
        findings: findings(&runs),
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("the job, s"),
            names: runs.iter().map(AloneRun::name).collect(),
            stacked: false,
            series: vec![
                Series::measured("engines", bars(|run| run.found.time)),
                Series::given("simulator", bars(|run| run.said.time)),
            ],
        },
    })
}

fn findings(runs: &[AloneRun]) -> Vec<String> {
    let ratios = || runs.iter().map(|run| run.found.time / run.said.time);
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let ours = || runs.iter().filter(|run| !run.is_baseline());
    let flat = |program: &str, count: u32| {
        let mut runs = ours();
        let run = runs.find(|run| run.program == program && run.count == count);
        run.map_or(f64::NAN, |run| run.found.io_chunk)
    };
    let rise = PROGRAMS.map(|(program, _)| flat(program, 3) / flat(program, 1));
    let faster = PROGRAMS.map(|(program, _)| {
        let of = |baseline: bool| {
            let runs = runs.iter().filter(|run| run.program == program);
            let mut times = runs
                .filter(|run| run.is_baseline() == baseline)
                .map(|run| run.found.time);
            least(&mut times)
        };
        let first = runs.iter().find(|run| run.program == program);
        let first = first.map_or(f64::NAN, |run| run.found.time);
        (first / of(false), of(true) / of(false))
    });
    let words = |values: [f64; 3]| values.map(|value| format!("{value:.2}")).join(", ");
    vec![
        format!(
            "Engines take {:.3} to {:.3} times what the simulator says.",
            least(&mut ratios()),
            most(&mut ratios())
        ),
        format!(
            "Bound/time of spmario is at least {:.3}; at least 0.95 is wanted.",
            least(&mut ours().map(AloneRun::efficiency))
        ),
        format!(
            "I/O of a chunk at 3 tasks is {:.3} times that at 1 at the most; at most 1.05 is wanted.",
            most(&mut rise.into_iter())
        ),
        format!(
            "MM, KMC and LR are {} times as fast as by one process of the baseline, and {} times as fast as by its best \
             number of them.",
            words(faster.map(|of| of.0)),
            words(faster.map(|of| of.1))
        ),
    ]
}
