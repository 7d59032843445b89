//! Figures 6 and 7, from the pairs of runs of all programs.

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Ratio, Series, Setting, Spread, Table};

use crate::accounting::Role;
use crate::command;
use crate::long::{Accounts, Alone, LongRow, OfAll, PROGRAMS, RANKS, Round};
use crate::phases::{self, EXECUTION};

/// More than native, at most.
const TARGET: f64 = 1.003;
const PAPER: &str = "+0.3 %";

/// Of one side of a program's rounds.
fn spread(row: &LongRow, value: impl Fn(&Round) -> f64) -> Result<Spread> {
    let values: Vec<f64> = row.rounds.iter().map(value).collect();
    Spread::of(&values).context("no round")
}

/// Of the runs by themselves.
fn around(row: &LongRow, value: impl Fn(&(Alone, Alone)) -> Alone) -> Result<Spread> {
    let alone = row.alone.iter();
    let values: Vec<f64> = alone.map(|both| value(both).start_and_end()).collect();
    Spread::of(&values).context("no run")
}

fn names() -> Vec<String> {
    PROGRAMS.map(|program| program.name.to_owned()).to_vec()
}

fn verdict(all: Ratio) -> &'static str {
    if all.high <= TARGET {
        "is kept"
    } else if all.mean <= TARGET {
        "is kept by the mean, while its bound reaches beyond"
    } else if all.low <= TARGET {
        "is missed by the mean, while its bound reaches below"
    } else {
        "is missed"
    }
}

fn kinds() -> String {
    let kinds = PROGRAMS.map(|program| format!("{}: {}", program.name, program.kind));
    kinds.join("; ")
}

pub(crate) fn figure_6(
    rows: &[LongRow],
    all: OfAll,
    accounts: &Accounts,
    setting: Setting,
) -> Result<Figure> {
    let mut table = Table::new(&[
        "program",
        "native mpiexec, s",
        "gerbil-run, s",
        "more than native",
        "native again, more than native",
        "the paper's, mean",
        "start and end of mpiexec, s",
        "of gerbil-run, s",
    ]);
    let (mut native, mut ours, mut launches) = (Vec::new(), Vec::new(), Vec::new());
    for (place, (program, row)) in PROGRAMS.iter().zip(rows).enumerate() {
        let sides = [
            spread(row, |round| round.native)?,
            spread(row, |round| round.ours)?,
        ];
        let around = [around(row, |both| both.0)?, around(row, |both| both.1)?];
        table.row([
            program.name.to_owned(),
            sides[0].words(),
            sides[1].words(),
            Ratio::of(&row.ratios())?.words(),
            Ratio::of(&row.controls())?.words(),
            String::new(),
            around[0].words(),
            around[1].words(),
        ]);
        native.push((place as f64, sides[0].median));
        ours.push((place as f64, sides[1].median));
        launches.push(around[1].median - around[0].median);
    }
    let empty = String::new;
    table.row([
        "all".to_owned(),
        empty(),
        empty(),
        all.ours.words(),
        all.control.words(),
        PAPER.to_owned(),
        empty(),
        empty(),
    ]);
    let launch = Spread::of(&launches).context("no program")?;
    Ok(Figure {
        name: "figure-06".to_owned(),
        title: "Figure 6: long programs, native and under YARN".to_owned(),
        command: command("figures-6-7"),
        method: method(rows),
        paper: "0.3 % more than native on average over six applications of SPEC MPI 2007, 18 processes on \
                18 nodes."
            .to_owned(),
        findings: vec![
            format!(
                "Between MPI_Init and MPI_Finalize, in their own slices: mean {}; the second native run: \
                 mean {}.",
                all.ours.words(),
                all.control.words()
            ),
            beside(accounts),
            format!(
                "With that: mean {}. The target of +0.3 % at most {}.",
                with(all.ours, accounts).words(),
                verdict(with(all.ours, accounts))
            ),
            format!(
                "Start and end take {:.2} to {:.2} s more than those of `mpiexec`, however long the program \
                 is.",
                launch.min, launch.max
            ),
        ],
        setting,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("seconds, MPI_Init to MPI_Finalize"),
            names: names(),
            stacked: false,
            series: vec![
                Series::measured("native mpiexec", native),
                Series::measured("gerbil-run", ours),
            ],
        },
    })
}

fn method(rows: &[LongRow]) -> String {
    let count = |of: fn(&LongRow) -> usize| rows.first().map_or(0, of);
    format!(
        "{RANKS} processes of our examples, one on each of two NodeManagers of this machine, against MPICH's \
         own `mpiexec` over the same addresses with the same library and transport. {} rounds of each program: \
         one run by `gerbil-run` and two native ones at the same time, of which the ranks of one compute for \
         30 ms while those of the others are stopped (SIGSTOP), by turns; who is first takes turns too. So what \
         else this machine does touches all three alike: equal runs one after the other differ by percents \
         here. Seconds are what a run had of the time from its first rank past MPI_Init to the last at \
         MPI_Finalize, noted by a preloaded library: median (least–greatest). The ratio to the \
         mean of both native runs of a round, and of these to each other, is the geometric mean over rounds \
         with its 95 % bound by Student's t; over all programs a round of all is one value. \
         What works beside the ranks does so in everybody's slices, and is counted apart, as processor time, \
         from a job that runs for 90 s. Start and end are the rest of the command, of {} runs by themselves. \
         {}.",
        count(|row| row.rounds.len()),
        count(|row| row.alone.len()),
        kinds()
    )
}

/// `ratio`, and the cores that others take from the ranks, which have none to spare here.
fn with(ratio: Ratio, accounts: &Accounts) -> Ratio {
    let taken = (accounts.ours.all() - accounts.native.all()) / 100.0 / RANKS as f64;
    let and = |ratio: f64| ratio * (1.0 + taken);
    Ratio {
        mean: and(ratio.mean),
        low: and(ratio.low),
        high: and(ratio.high),
    }
}

fn beside(accounts: &Accounts) -> String {
    let (native, ours) = (&accounts.native, &accounts.ours);
    let more = |role| ours.of(role) - native.of(role);
    let gerbil = [Role::Command, Role::ApplicationMaster, Role::Launchers];
    format!(
        "Beside the ranks, in percent of one core: `gerbil-run` {:.2}, its ApplicationMaster {:.2}, its {RANKS} \
         launchers {:.2} together: {:.2}. Hadoop's daemons of the {RANKS} nodes use {:.2} more than while \
         `mpiexec` runs ({:.2} then), its masters {:.2} more ({:.2} then). `mpiexec` itself uses {:.2}. Of \
         the {RANKS} cores that the ranks fill, that is {:.2} % more than native.",
        ours.of(gerbil[0]),
        ours.of(gerbil[1]),
        ours.of(gerbil[2]),
        gerbil.iter().map(|role| ours.of(*role)).sum::<f64>(),
        more(Role::NodeDaemons),
        native.of(Role::NodeDaemons),
        more(Role::Masters),
        native.of(Role::Masters),
        native.of(Role::Command),
        (ours.all() - native.all()) / RANKS as f64,
    )
}

pub(crate) fn figure_7(rows: &[LongRow], setting: Setting) -> Figure {
    let medians: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| phases::medians(&row.phases))
        .collect();
    let programs: Vec<(String, &[f64])> = names()
        .into_iter()
        .zip(medians.iter().map(Vec::as_slice))
        .collect();
    let others = |phases: &Vec<f64>| phases.iter().sum::<f64>() - phases[EXECUTION];
    let others: Vec<f64> = medians.iter().map(others).collect();
    let others = Spread::of(&others).map_or(0.0, |spread| spread.max);
    Figure {
        name: "figure-07".to_owned(),
        title: "Figure 7: where the time of a long job goes".to_owned(),
        command: command("figures-6-7"),
        method: "The phases of the jobs of Figure 6, from the job reports, medians. The paper's names; staging \
                 and submit is the client's part, which it does not show."
            .to_owned(),
        paper: "against MPI execution all other phases are negligible.".to_owned(),
        findings: vec![format!(
            "All phases but MPI execution take {others:.2} s at most, whatever the program: {:.2} % of a job \
             of ten minutes.",
            100.0 * others / (600.0 + others)
        )],
        setting,
        table: phases::table(&programs),
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("seconds"),
            names: names(),
            stacked: true,
            series: phases::series(&programs),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_kept_or_missed_when_the_bound_says_so() {
        let all = |low, mean, high| verdict(Ratio { mean, low, high });
        assert_eq!(all(1.0, 1.001, 1.002), "is kept");
        assert!(all(0.998, 1.001, 1.004).starts_with("is kept by the mean,"));
        assert!(all(1.002, 1.004, 1.006).starts_with("is missed by the mean,"));
        assert_eq!(all(1.004, 1.005, 1.006), "is missed");
    }
}
