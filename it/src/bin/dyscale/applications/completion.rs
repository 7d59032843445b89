//! Figure 6: how long each application takes on fast and on slow cores.

use anyhow::Result;
use it::cores::Periods;
use it::results::{Axis, Chart, Figure, Setting, Table};

use super::measured::{ApplicationRun, Measured};
use super::reach::{Reach, series};
use super::{ApplicationsOptions, all_within, claim, command, method};

/// The paper's ratios of completion times, all of them and most of them.
const ALL: (f64, f64) = (1.2, 2.1);
const MOST: (f64, f64) = (1.6, 2.1);

/// The table and its picture.
pub(super) fn figure(
    options: &ApplicationsOptions,
    setting: Setting,
    all: &[Measured],
) -> Result<Figure> {
    let mut table = Table::new(&[
        "application",
        "fast, s: mean (least–most)",
        "slow, s",
        "slow / fast",
        "periods used up, fast, %",
        "slow, %",
        "attempts without success",
    ]);
    let mut ratios: Vec<(&str, Reach)> = Vec::new();
    for measured in all {
        let took = |runs: &[ApplicationRun]| {
            Reach::of(&runs.iter().map(|run| run.took).collect::<Vec<_>>())
        };
        let ratio = measured.ratio(|run| run.took)?;
        let without = measured.fast.iter().chain(&measured.slow);
        table.row([
            measured.application.name.to_owned(),
            took(&measured.fast)?.words(),
            took(&measured.slow)?.words(),
            ratio.words(),
            format!("{:.0}", used_up(&measured.fast)),
            format!("{:.0}", used_up(&measured.slow)),
            without.map(|run| run.without).sum::<u32>().to_string(),
        ]);
        ratios.push((measured.application.name, ratio));
    }
    let means: Vec<(&str, f64)> = ratios.iter().map(|(name, of)| (*name, of.mean)).collect();
    let (are_all, all_words) = all_within(&means, ALL.0, ALL.1);
    let (_, most_words) = all_within(&means, MOST.0, MOST.1);
    let most = means
        .iter()
        .filter(|(_, of)| (MOST.0..=MOST.1).contains(of));
    let is_most = most.count() * 2 > means.len();
    let findings = vec![
        claim(
            "jobs are 1.2 to 2.1 times as fast on fast cores",
            are_all,
            &all_words,
        ),
        claim("most of them 1.6 to 2.1 times", is_most, &most_words),
    ];
    Ok(Figure {
        name: "dyscale-figure-06".to_owned(),
        title: "DyScale's applications on fast and on slow cores: completion times".to_owned(),
        command: command(options),
        method: format!(
            "{} Counted is from when the session has a job until its output is there, by the ApplicationMaster, of Grep's two \
             jobs together. *Slow / fast*: the mean of the rounds' ratios, the least and the most. *Periods used up*: of those \
             of 20 ms in which something ran, in how many a task had to wait for the next one.",
            method(options)
        ),
        paper: "few jobs are 1.2 to 1.3 times as fast with 3.3 as with 1.6 GHz, the majority 1.6 to 2.1 times (DyScale, \
                Figure 6)."
            .to_owned(),
        findings,
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("slow / fast"),
            names: ratios.iter().map(|(name, _)| (*name).to_owned()).collect(),
            stacked: false,
            series: vec![series("completion time", &ratios)],
        },
    })
}

/// Percent of all periods of these runs.
fn used_up(runs: &[ApplicationRun]) -> f64 {
    let sum = |of: fn(&Periods) -> u64| runs.iter().map(|run| of(&run.periods)).sum::<u64>();
    sum(|of| of.used_up) as f64 / sum(|of| of.all) as f64 * 100.0
}
