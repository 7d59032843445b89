//! What came out, as a figure.

use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};

use it::spark;

use crate::{MapReduceOptions, NODES, Side};

/// Seconds by the clock, and of all processors.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    pub(crate) wall: f64,
    pub(crate) processors: f64,
}

/// What came out of one job.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    /// Of its input; 0: it has none.
    pub(crate) megabytes: u64,
    pub(crate) ours: Vec<Took>,
    pub(crate) hadoop: Vec<Took>,
    pub(crate) spark: Vec<Took>,
    pub(crate) are_same: Option<bool>,
}

const COLUMNS: [&str; 11] = [
    "job",
    "gerbil mr, s: median (range)",
    "processors, s",
    "MB per processor second",
    "Hadoop, s: median (range)",
    "processors, s",
    "times faster",
    "part files",
    "Spark, s: median (range)",
    "processors, s",
    "times faster",
];

impl Measured {
    pub(crate) fn row(&self) -> Vec<String> {
        let words = |all: &[Took], of: fn(&Took) -> f64| {
            let values: Vec<f64> = all.iter().map(of).collect();
            Spread::of(&values).map_or("-".to_owned(), Spread::words)
        };
        let work = median(&self.ours, |took| took.processors);
        let rate = match (self.megabytes, work) {
            (0, _) | (_, None) => "-".to_owned(),
            (megabytes, Some(work)) => format!("{:.0}", megabytes as f64 / work),
        };
        let faster = |than: &[Took]| {
            let both = median(&self.ours, |took| took.wall).zip(median(than, |took| took.wall));
            both.map_or("-".to_owned(), |(ours, theirs)| {
                format!("{:.1}", theirs / ours)
            })
        };
        vec![
            self.name.to_owned(),
            words(&self.ours, |took| took.wall),
            words(&self.ours, |took| took.processors),
            rate,
            words(&self.hadoop, |took| took.wall),
            words(&self.hadoop, |took| took.processors),
            faster(&self.hadoop),
            match self.are_same {
                Some(true) => "equal",
                Some(false) => "DIFFER",
                None => "-",
            }
            .to_owned(),
            words(&self.spark, |took| took.wall),
            words(&self.spark, |took| took.processors),
            faster(&self.spark),
        ]
    }

    pub(crate) fn of(&mut self, side: Side) -> &mut Vec<Took> {
        match side {
            Side::Gerbil => &mut self.ours,
            Side::Hadoop => &mut self.hadoop,
            Side::Spark => &mut self.spark,
        }
    }
}

fn median(all: &[Took], of: fn(&Took) -> f64) -> Option<f64> {
    spread(all, of).map(|spread| spread.median)
}

fn spread(all: &[Took], of: fn(&Took) -> f64) -> Option<Spread> {
    let values: Vec<f64> = all.iter().map(of).collect();
    Spread::of(&values)
}

pub(crate) fn figure(
    options: &MapReduceOptions,
    setting: Setting,
    measured: &[Measured],
) -> Figure {
    let mut table = Table::new(&COLUMNS);
    measured.iter().for_each(|one| table.row(one.row()));
    let bars = |of: fn(&Measured) -> &[Took]| {
        let at = |(place, one): (usize, &Measured)| {
            Some((place as f64, spread(of(one), |took| took.wall)?))
        };
        measured
            .iter()
            .enumerate()
            .filter_map(at)
            .collect::<Vec<_>>()
    };
    Figure {
        name: "mapreduce".into(),
        title: "MapReduce beside Hadoop's own, and beside Spark".into(),
        command: format!(
            "cargo build --release -p client && cargo run --release -p it --bin mapreduce -- --megabytes {} \
             --rounds {}{} --out it/results",
            options.megabytes,
            options.rounds,
            if options.spark { " --spark" } else { "" }
        ),
        method: format!(
            "The same daemons and the same {} MB of text and of rows on HDFS, {NODES} nodes that are addresses of one \
             machine, one copy of each block, 4 reduces, Pi by 16 maps of {} samples; *gerbil mr* in a session of {NODES} \
             containers with two slots each, Hadoop's examples (`WordCount`, `Grep`, `QuasiMonteCarlo`, `TeraSort`) by \
             their own client, and Spark {} as one warm application with {NODES} executors of one core, whose driver \
             runs the job by the DataFrame API (`it/src/spark/jobs.py`). The whole command, for Spark the job alone, in \
             turns, after one round that is not counted. *Processors*: what all \
             of the machine has worked meanwhile, daemons and whatever else runs there included.",
            options.megabytes,
            options.samples,
            spark::RELEASE
        ),
        paper: String::new(),
        findings: Vec::new(),
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::logarithmic("the whole command, s"),
            names: measured.iter().map(|one| one.name.to_owned()).collect(),
            stacked: false,
            series: vec![
                Series::spread("gerbil mr", &bars(|one| &one.ours)),
                Series::spread("Hadoop", &bars(|one| &one.hadoop)),
                Series::spread("Spark", &bars(|one| &one.spark)),
            ],
        },
    }
}
