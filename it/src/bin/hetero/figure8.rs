//! Figure 8: tasks at a time on a node.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Series, Spread, Table};
use sim::figure::FigureWorld as _;
use sim::hetero::HeteroWorld;

use crate::bench::Bench;
use crate::kmeans::{KmeansJob, KmeansRun, KmeansWay};
use crate::shape::{DEVICES, NODES};
use crate::{HeteroOptions, command, compare, so, spread};

/// Of a node.
const TASKS: [usize; 8] = [1, 2, 3, 4, 8, 16, 20, 24];
/// Where the processors compute the same once more in each round, for its output.
const COMPARED: usize = 2;
/// One for each device.
const MAPS: u64 = (NODES * DEVICES) as u64;
/// So near to the best it is flat, as in the simulator.
const FLAT: f64 = 1.05;

pub(crate) fn figure(bench: &Bench, options: &HeteroOptions) -> Result<Figure> {
    let setting = bench.setting()?;
    let mut runs = TASKS.map(|_| Vec::new());
    let mut wanted = None;
    for _ in 0..options.rounds {
        for (runs, tasks) in runs.iter_mut().zip(TASKS) {
            let session = bench.session(tasks)?;
            let job = |way| KmeansJob {
                k: 16,
                maps: MAPS,
                way,
            };
            let (run, files) = session.run(job(KmeansWay::Board))?;
            writeln!(std::io::stderr(), "{tasks} tasks: {:.2} s", run.seconds)?;
            compare(&mut wanted, files)?;
            if tasks == COMPARED {
                let (_, files) = session.run(job(KmeansWay::Processor))?;
                compare(&mut wanted, files)?;
            }
            runs.push(run);
            session.stop()?;
        }
    }
    let spreads = |of: fn(&KmeansRun) -> f64| -> Result<Vec<Spread>> {
        let all = runs.iter();
        all.map(|runs| spread(&runs.iter().map(of).collect::<Vec<_>>()))
            .collect()
    };
    let (seconds, rates) = (spreads(|run| run.seconds)?, spreads(KmeansRun::rate)?);
    let mut table = Table::new(&[
        "tasks a node",
        "tasks in all",
        "the job, s: median (range)",
        "MB/s: median (range)",
        "of the shortest",
    ]);
    let medians: Vec<f64> = seconds.iter().map(|of| of.median).collect();
    let best = medians.iter().copied().fold(f64::INFINITY, f64::min);
    for ((tasks, seconds), rates) in TASKS.iter().zip(&seconds).zip(&rates) {
        table.row([
            tasks.to_string(),
            (NODES * tasks).to_string(),
            seconds.words(),
            rates.whole(),
            format!("{:.2}", seconds.median / best),
        ]);
    }
    let cores = std::thread::available_parallelism()?.get();
    let shape = CurveShape::of(&medians, best).context("no time at all")?;
    let in_all = |at: usize| TASKS.get(at).map_or(0, |tasks| NODES * tasks);
    // The first number that is at least a task more than cores, or the one before it.
    let about = TASKS.iter().position(|tasks| NODES * tasks > cores);
    let is_near = about.is_some_and(|at| shape.knee == at || shape.knee + 1 == at);
    let simulated = HeteroWorld::FIGURES.make("fig8", &HeteroWorld::default())?;
    let claims = simulated.iter().flat_map(|figure| &figure.claims);
    let simulated: Vec<&str> = claims.map(|claim| claim.ours.as_str()).collect();
    let points: Vec<(f64, Spread)> = (TASKS.iter().zip(&seconds))
        .map(|(tasks, of)| (*tasks as f64, *of))
        .collect();
    Ok(Figure {
        name: "hetero-figure-8".to_owned(),
        title: "HeteroYARN's Figure 8: how many tasks at a time on a node".to_owned(),
        command: command("figure8", options),
        method: format!(
            "One round of K-means with 16 centroids over {} MB of text on boards, {MAPS} maps, {NODES} nodes that are \
             addresses of one machine of {cores} cores, with a board of {DEVICES} devices each; a session of so many slots \
             on each node for each run, in turns; from when the session takes the job until its output is there. Boards are \
             modelled: they answer no sooner than a card of 200 MHz with a link of 1000 MB/s would, and what they answer is \
             computed by the same cores. In each round processors compute it once more, uncounted; all outputs are equal, \
             byte by byte.",
            options.mb
        ),
        paper: "the time has significantly shortened when tasks approach about 20 on nodes of 16 threads (HeteroYARN, \
                Figure 8)."
            .to_owned(),
        findings: vec![
            format!(
                "The time falls until about one task more than cores ({} in all here), then it is flat: {}. It falls until then: \
                 {}; within 5 % of the shortest from {} in all on: {}; flat from then on: {}.",
                cores + 1,
                so(shape.falls && shape.is_flat && is_near),
                so(shape.falls),
                in_all(shape.knee),
                so(is_near),
                so(shape.is_flat)
            ),
            format!(
                "The simulator, for two nodes of 16 threads: {}.",
                simulated.join("; ")
            ),
        ],
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear("tasks at a time on a node"),
            y: Axis::linear("the job, s"),
            names: Vec::new(),
            stacked: false,
            series: vec![Series::spread("boards", &points)],
        },
    })
}

/// How times go on with tasks.
#[derive(Debug, PartialEq, Eq)]
struct CurveShape {
    /// The first that is flat.
    knee: usize,
    /// Each is shorter than the one before, up to there.
    falls: bool,
    /// All from there on are near to the best.
    is_flat: bool,
}

impl CurveShape {
    fn of(times: &[f64], best: f64) -> Option<Self> {
        let is_flat = |time: &f64| *time <= best * FLAT;
        let knee = times.iter().position(is_flat)?;
        let steps = times.iter().zip(times.iter().skip(1));
        Some(Self {
            knee,
            falls: steps.take(knee).all(|(one, next)| next < one),
            is_flat: times.iter().skip(knee).all(is_flat),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_falls_to_its_knee_and_is_flat_or_not() {
        let shape = |times: &[f64]| CurveShape::of(times, 1.0).unwrap();
        let wanted = |knee, falls, is_flat| CurveShape {
            knee,
            falls,
            is_flat,
        };
        assert_eq!(shape(&[2.0, 1.5, 1.04, 1.0, 1.05]), wanted(2, true, true));
        assert_eq!(shape(&[1.5, 2.0, 1.0, 1.2]), wanted(2, false, false));
        assert_eq!(CurveShape::of(&[], 1.0), None);
    }
}
