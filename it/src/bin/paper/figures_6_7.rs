//! Figures 6 and 7, from the pairs of runs of all programs.

use anyhow::{Context as _, Result};
use it::results::{Axis, Chart, Figure, Ratio, Series, Setting, Spread, Table};

use crate::accounting::{Account, Role};
use crate::command;
use crate::long::{OfAll, PROGRAMS, RANKS, Round, Row};
use crate::phases::{self, EXECUTION};

/// More than native, at most.
const TARGET: f64 = 1.003;
const PAPER: &str = "+0.3 %";

/// Of one side of a program's rounds.
fn spread(row: &Row, value: impl Fn(&Round) -> f64) -> Result<Spread> {
    let values: Vec<f64> = row.rounds.iter().map(value).collect();
    Spread::of(&values).context("no round")
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

pub(crate) fn figure_6(rows: &[Row], all: OfAll, setting: Setting) -> Result<Figure> {
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
            spread(row, |round| round.native.mpi)?,
            spread(row, |round| round.ours.mpi)?,
        ];
        let around = [
            spread(row, |round| round.native.whole - round.native.mpi)?,
            spread(row, |round| round.ours.whole - round.ours.mpi)?,
        ];
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
        method: format!(
            "{RANKS} processes of our examples, one on each of two NodeManagers of this machine, against \
             MPICH's own `mpiexec` over the same addresses with the same library and transport: {} rounds of \
             each program, one by `gerbil-run` and two native ones, in turns of who is first. Seconds are from the first rank past MPI_Init to the \
             last at MPI_Finalize, noted by a preloaded library: median (least–greatest). The ratio is the \
             geometric mean over rounds with its 95 % bound by Student's t; over all programs a round of \
             all is one value. Start and end are the rest of the command. {}.",
            rows.first().map_or(0, |row| row.rounds.len()),
            kinds()
        ),
        paper: "0.3 % more than native on average over six applications of SPEC MPI 2007, 18 processes on \
                18 nodes."
            .to_owned(),
        findings: vec![
            format!(
                "Between MPI_Init and MPI_Finalize: mean {}. The target of +0.3 % at most {}.",
                all.ours.words(),
                verdict(all.ours)
            ),
            format!(
                "The second native run against the first, which are equal: mean {}. What is within that bound \
                 is this machine's.",
                all.control.words()
            ),
            format!(
                "Start and end take {:.2} to {:.2} s more than those of `mpiexec`, however long the program \
                 is.",
                launch.min, launch.max
            ),
            accounts(rows),
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

fn accounts(rows: &[Row]) -> String {
    let mean = |of: fn(&Row) -> &Account| {
        let accounts: Vec<Account> = rows.iter().map(|row| of(row).clone()).collect();
        Account::mean(&accounts)
    };
    let (native, ours) = (mean(|row| &row.accounts.0), mean(|row| &row.accounts.1));
    format!(
        "While the programs run, `gerbil-run` uses {:.2} % of one core, its ApplicationMaster {:.2} %, its \
         {RANKS} launchers {:.2} % together, and Hadoop's daemons {:.2} % instead of {:.2} %: {:.2} % of one \
         core more that the ranks go without where they have no core to spare, as here.",
        ours.of(Role::Command),
        ours.of(Role::ApplicationMaster),
        ours.of(Role::Launchers),
        ours.of(Role::Daemons),
        native.of(Role::Daemons),
        ours.all() - native.all()
    )
}

pub(crate) fn figure_7(rows: &[Row], setting: Setting) -> Figure {
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
