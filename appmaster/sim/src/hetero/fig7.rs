//! Figure 7: both programs with boards and without, as their input grows.

use anyhow::Result;

use super::world::{HeteroWorld, Program, SIZES};
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};

/// Times with boards and without, by size.
struct Both {
    with: Vec<f64>,
    without: Vec<f64>,
}

impl Both {
    fn play(world: &HeteroWorld, program: Program) -> Result<Self> {
        let rate = world.without(program)?;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for size in SIZES {
            with.push(world.alone(world.accelerated(program, size))?);
            without.push(world.alone(world.maps(size, rate))?);
        }
        Ok(Self { with, without })
    }

    fn times(&self) -> Vec<f64> {
        let both = self.without.iter().zip(&self.with);
        both.map(|(without, with)| without / with).collect()
    }
}

pub(super) fn figure(world: &HeteroWorld) -> Result<PaperFigure> {
    let programs = [Program::KMeans, Program::Bayes];
    let [kmeans, bayes] = programs.map(|program| Both::play(world, program));
    let (kmeans, bayes) = (kmeans?, bayes?);
    let columns: Vec<String> = SIZES.iter().map(|size| format!("{size} GB")).collect();
    let table = |title: &str, unit, rows| FigureTable {
        title: title.to_owned(),
        unit,
        columns: columns.clone(),
        rows,
    };
    let [of_kmeans, of_bayes] = programs.map(Program::name);
    let (faster, faster_bayes) = (kmeans.times(), bayes.times());
    let above = faster
        .iter()
        .zip(&faster_bayes)
        .all(|(one, other)| one > other);
    let ends = |times: &[f64]| {
        let shown: Vec<String> = times.iter().map(|time| format!("{time:.1}")).collect();
        shown.join(", ")
    };
    let claims = vec![
        Claim::new(
            "the speed-up grows with the data",
            "on the rise",
            format!("{}; {}", ends(&faster), ends(&faster_bayes)),
            grows(&faster) && grows(&faster_bayes),
        ),
        Claim::new(
            "K-means gains more than Naive Bayes",
            "7.5, 2.3 times at the end (calibrated: ours are set to it)",
            format!(
                "above at {} of {} sizes",
                if above { SIZES.len() } else { 0 },
                SIZES.len()
            ),
            above,
        ),
    ];
    let speed_up = table(
        "how many times faster with boards",
        "times",
        vec![
            FigureRow::new(of_kmeans, faster),
            FigureRow::new(of_bayes, faster_bayes),
        ],
    );
    Ok(PaperFigure {
        name: "fig7",
        title: "both programs with boards and without",
        caption: vec![world.caption()],
        claims,
        drawings: vec![Drawing {
            name: "hetero-fig7".to_owned(),
            svg: chart::svg(&speed_up),
        }],
        tables: vec![
            table(
                "from submission to end",
                "s",
                vec![
                    FigureRow::new(format!("{of_kmeans}, boards"), kmeans.with),
                    FigureRow::new(format!("{of_kmeans}, CPU"), kmeans.without),
                    FigureRow::new(format!("{of_bayes}, boards"), bayes.with),
                    FigureRow::new(format!("{of_bayes}, CPU"), bayes.without),
                ],
            ),
            speed_up,
        ],
    })
}

/// Each is at least what was before, but for rounding to whole waves of tasks, and the last is above the first.
pub(super) fn grows(times: &[f64]) -> bool {
    let pairs = times.iter().zip(times.iter().skip(1));
    let mut steps = pairs.map(|(one, next)| *next >= one * 0.98);
    let ends = times.first().zip(times.last());
    steps.all(|step| step) && ends.is_some_and(|(first, last)| last > first)
}
