//! Figures 8 and 9: how long map and reduce tasks and their phases take on fast and on slow cores.

use anyhow::Result;
use gerbil_task::TaskPhase;
use it::results::{Axis, Chart, Figure, Series, Setting, Table};

use super::measured::{ApplicationRun, Measured};
use super::reach::{Reach, series};
use super::{ApplicationsOptions, all_within, claim, command, method};
use crate::recorded::mean;

/// Phases that are shown together. Of records some are timed, and a quota's pauses are in few of these: where a map's
/// time went of reading, mapping and collecting is told too roughly for a ratio, and all of it together exactly.
type Shown = &'static [TaskPhase];

const OF_MAPS: [Shown; 3] = [
    &[TaskPhase::Read, TaskPhase::Map, TaskPhase::Collect],
    &[TaskPhase::Spill],
    &[TaskPhase::Merge],
];
/// The last one is exact, where its parts are not.
const OF_REDUCES: [Shown; 5] = [
    &[TaskPhase::Shuffle],
    &[TaskPhase::Sort],
    &[TaskPhase::Reduce],
    &[TaskPhase::Write],
    &[TaskPhase::Reduce, TaskPhase::Write],
];
/// What depends on the network and on HDFS.
const MOVING: [TaskPhase; 2] = [TaskPhase::Shuffle, TaskPhase::Write];
/// Less than that of a phase, of all tasks of a run on fast cores, is no measure of a ratio; seconds.
const LEAST: f64 = 0.05;
/// "Close to two", and "on average 20 percent".
const NEAR_TWO: (f64, f64) = (1.8, 2.2);
const NEAR_FIFTH: (f64, f64) = (1.1, 1.3);

impl Measured {
    /// Seconds of these phases of all tasks of a run, in the mean, on fast and on slow cores.
    fn seconds(&self, of: &[TaskPhase]) -> (f64, f64) {
        let all = |runs: &[ApplicationRun]| {
            mean((runs.iter()).map(|run| of.iter().map(|phase| run.phase(*phase)).sum()))
        };
        (all(&self.fast), all(&self.slow))
    }

    /// Slow beside fast; `None`: they are too short for that.
    fn phases_ratio(&self, of: &[TaskPhase]) -> Option<f64> {
        let (fast, slow) = self.seconds(of);
        (fast >= LEAST).then_some(slow / fast)
    }

    /// "3.21 s, 2.05×"
    fn cell(&self, of: &[TaskPhase]) -> String {
        let (fast, _) = self.seconds(of);
        match self.phases_ratio(of) {
            Some(ratio) => format!("{fast:.2} s, {ratio:.2}×"),
            None => format!("{fast:.2} s"),
        }
    }
}

/// Its name in the paper's Figure 7.
const fn word(phase: TaskPhase) -> &'static str {
    match phase {
        TaskPhase::Read => "read",
        TaskPhase::Map => "map",
        TaskPhase::Collect => "collect",
        TaskPhase::Spill => "spill",
        TaskPhase::Merge => "merge",
        TaskPhase::Shuffle => "shuffle",
        TaskPhase::Sort => "sort",
        TaskPhase::Reduce => "reduce",
        TaskPhase::Write => "write",
        _ => "other",
    }
}

/// "reduce, write"
fn words_of(phases: &[TaskPhase]) -> String {
    let each: Vec<&str> = phases.iter().map(|phase| word(*phase)).collect();
    each.join(", ")
}

/// A task's times at both speeds, their ratio, and phases.
fn table_of(
    task: &str,
    phases: &[Shown],
    all: &[Measured],
    of: fn(&ApplicationRun) -> f64,
) -> Result<(Table, Vec<(&'static str, Reach)>)> {
    let mut columns = vec![
        "application".to_owned(),
        format!("a {task}, fast, s: mean (least–most)"),
        "slow, s".to_owned(),
        "slow / fast".to_owned(),
    ];
    columns.extend(phases.iter().map(|phases| words_of(phases)));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(&columns);
    let mut ratios = Vec::new();
    for measured in all {
        let took = |runs: &[ApplicationRun]| Reach::of(&runs.iter().map(of).collect::<Vec<_>>());
        let ratio = measured.ratio(of)?;
        let mut row = vec![
            measured.application.name.to_owned(),
            took(&measured.fast)?.words(),
            took(&measured.slow)?.words(),
            ratio.words(),
        ];
        row.extend(phases.iter().map(|phases| measured.cell(phases)));
        table.row(row);
        ratios.push((measured.application.name, ratio));
    }
    Ok((table, ratios))
}

fn means<'a>(ratios: &[(&'a str, Reach)]) -> Vec<(&'a str, f64)> {
    ratios.iter().map(|(name, of)| (*name, of.mean)).collect()
}

/// The ratio of some phases, in the mean of those applications that have them.
fn mean_ratio(all: &[Measured], of: &[TaskPhase]) -> Option<(f64, usize)> {
    let ratios: Vec<f64> = all.iter().filter_map(|one| one.phases_ratio(of)).collect();
    (!ratios.is_empty()).then(|| (mean(ratios.iter().copied()), ratios.len()))
}

/// What each phase's ratio is, in the mean.
fn phase_means(all: &[Measured], phases: &[Shown]) -> String {
    let each = phases.iter().filter_map(|phases| {
        let (ratio, count) = mean_ratio(all, phases)?;
        Some(format!("{} {ratio:.2} (of {count})", words_of(phases)))
    });
    let each: Vec<String> = each.collect();
    format!(
        "Slow / fast of each phase, in the mean of the applications that are in it for {LEAST} s at least: {}.",
        each.join("; ")
    )
}

/// Of both figures.
fn words(options: &ApplicationsOptions) -> String {
    format!(
        "{} A task is counted from when its launcher is told to start it until its end is known, in the mean of a run. Phases: \
         seconds of all tasks of a run on fast cores together, by the tasks' own counters, and how many times as many on slow \
         ones, where they come to {LEAST} s. Tasks time some records only, and few of those meet a pause of the quota: read, map and \
         collect are exact together, as are reduce and write; shuffle, sort, spill and merge are timed whenever they happen.",
        method(options)
    )
}

/// Figure 8.
pub(super) fn maps(
    options: &ApplicationsOptions,
    setting: Setting,
    all: &[Measured],
) -> Result<Figure> {
    let (table, ratios) = table_of("map", &OF_MAPS, all, |run| run.map)?;
    let (holds, of) = all_within(&means(&ratios), NEAR_TWO.0, NEAR_TWO.1);
    let near = format!("{of}, from {} to {}", NEAR_TWO.0, NEAR_TWO.1);
    Ok(Figure {
        name: "dyscale-figure-08".to_owned(),
        title: "DyScale's applications on fast and on slow cores: map tasks".to_owned(),
        command: command(options),
        method: words(options),
        paper: "map tasks of all 13 applications are close to twice as fast with 3.3 as with 1.6 GHz (DyScale, Figure 8)."
            .to_owned(),
        findings: vec![
            claim("map tasks are close to twice as fast on fast cores", holds, &near),
            phase_means(all, &OF_MAPS),
        ],
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("slow / fast"),
            names: ratios.iter().map(|(name, _)| (*name).to_owned()).collect(),
            stacked: false,
            series: vec![series("map task", &ratios)],
        },
    })
}

/// Figure 9.
pub(super) fn reduces(
    options: &ApplicationsOptions,
    setting: Setting,
    all: &[Measured],
) -> Result<Figure> {
    let (table, ratios) = table_of("reduce", &OF_REDUCES, all, |run| run.reduce)?;
    let moving = mean_ratio(all, &MOVING);
    let words_of_paper = "shuffle and write are 1.2 times as fast on fast cores, on average";
    let finding = match moving {
        Some((ratio, count)) => {
            let (least, most) = NEAR_FIFTH;
            let of = format!(
                "{ratio:.2} in the mean of {count} applications; from {least} to {most} is near"
            );
            claim(words_of_paper, (least..=most).contains(&ratio), &of)
        }
        None => {
            format!("The paper: {words_of_paper}. Here no application is in them for {LEAST} s.")
        }
    };
    let bars = |phase: TaskPhase| {
        let at = all.iter().enumerate();
        at.filter_map(|(place, one)| Some((place as f64, one.phases_ratio(&[phase])?)))
            .collect()
    };
    Ok(Figure {
        name: "dyscale-figure-09".to_owned(),
        title: "DyScale's applications on fast and on slow cores: reduce tasks".to_owned(),
        command: command(options),
        method: words(options),
        paper: "shuffle and write are 1.2 times as fast on average with 3.3 as with 1.6 GHz (DyScale, Figure 9).".to_owned(),
        findings: vec![
            finding,
            phase_means(all, &OF_REDUCES),
        ],
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("slow / fast"),
            names: ratios.iter().map(|(name, _)| (*name).to_owned()).collect(),
            stacked: false,
            series: vec![
                series("reduce task", &ratios),
                Series::measured("shuffle", bars(TaskPhase::Shuffle)),
                Series::measured("reduce", bars(TaskPhase::Reduce)),
                Series::measured("write", bars(TaskPhase::Write)),
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use it::cores::Periods;

    use super::super::measured::Volume;
    use super::super::suite::SUITE;
    use super::*;

    fn run(shuffle: f64, write: f64) -> ApplicationRun {
        let mut phases = [0.0; TaskPhase::ALL.len()];
        phases[TaskPhase::Shuffle as usize] = shuffle;
        phases[TaskPhase::Write as usize] = write;
        ApplicationRun {
            took: 1.0,
            map: 1.0,
            reduce: 1.0,
            phases,
            volume: Volume::default(),
            without: 0,
            periods: Periods { all: 1, used_up: 0 },
        }
    }

    #[test]
    fn phases_are_compared_where_they_are_long_enough() {
        let measured = Measured {
            application: SUITE[0],
            fast: vec![run(0.5, 0.01), run(1.5, 0.03)],
            slow: vec![run(1.0, 0.07), run(1.4, 0.03)],
        };
        assert_eq!(measured.cell(&[TaskPhase::Shuffle]), "1.00 s, 1.20×");
        assert_eq!(measured.cell(&[TaskPhase::Write]), "0.02 s");
        assert_eq!(measured.cell(&MOVING), "1.02 s, 1.23×");
        let short = Measured {
            fast: vec![run(0.04, 0.0)],
            slow: vec![run(0.9, 0.0)],
            ..measured.clone()
        };
        let all = [measured, short];
        let (ratio, count) = mean_ratio(&all, &MOVING).unwrap();
        assert!((ratio - 1.2255).abs() < 1e-3 && count == 1);
        assert_eq!(
            phase_means(&all, &OF_REDUCES),
            "Slow / fast of each phase, in the mean of the applications that are in it for 0.05 s at least: shuffle 1.20 (of 1)."
        );
    }
}
