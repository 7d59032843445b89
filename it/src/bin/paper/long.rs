//! Long programs, native and by `gerbil-run`: rounds of runs, one after the other, in turns of who is first.
//! A round has a second native run of each program, whose ratio to the first tells what the machine alone
//! makes of two equal runs.
//!
//! Both start one process on each of two nodes, which are loopback addresses of this machine: Hydra forks
//! its proxies, `gerbil-run` asks the NodeManagers for containers. The processes find each other by the
//! same library, which chooses the same transport. Each run waits until nothing is left of the one before.

use std::time::Duration;

use anyhow::{Context as _, Result};
use it::results::{Figure, Ratio, Setting};
use it::{Cluster, Run, wait};

use crate::accounting::Account;
use crate::figures_6_7::{figure_6, figure_7};
use crate::programs::{DEADLINE, Programs};
use crate::spans::Spans;
use crate::{phases, say};

/// One on each node, and a core for each: MPI's processes wait by looking.
pub(crate) const RANKS: usize = 2;
const ROUNDS: usize = 20;
const QUICK_ROUNDS: usize = 2;
/// The daemons finish their own work after a job.
const SETTLE: Duration = Duration::from_secs(1);
/// Of a run, while the accounts of the other processes are taken.
const WATCHED_SHARE: f64 = 0.6;

/// A program of `examples`.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// What most of its time goes into.
    pub(crate) kind: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
    /// For `--quick`.
    short: &'static [&'static str],
}

pub(crate) const PROGRAMS: [Program; 3] = [
    Program {
        name: "Heat",
        kind: "three messages or reductions every few microseconds",
        file: "heat",
        arguments: &["1600000"],
        short: &["50000"],
    },
    Program {
        name: "2D-FFT",
        kind: "transposing 64 MiB between the processes, again and again",
        file: "fft2d",
        arguments: &["2048", "40"],
        short: &["1024", "4"],
    },
    Program {
        name: "MatrixMultiply",
        kind: "computing, with a message at the begin and one at the end",
        file: "matmul",
        arguments: &["2500"],
        short: &["1000"],
    },
];

/// How a program is started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Native,
    Gerbil,
}

/// The runs of a program in one round; the last is the control.
const ROUND: [Side; 3] = [Side::Native, Side::Gerbil, Side::Native];

/// Seconds of one run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Once {
    /// The whole command.
    pub(crate) whole: f64,
    /// Between `MPI_Init` and `MPI_Finalize`.
    pub(crate) mpi: f64,
}

/// One round of a program.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) native: Once,
    pub(crate) ours: Once,
    /// Native once more.
    pub(crate) control: Once,
}

/// All runs of one program.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) rounds: Vec<Round>,
    /// Of the jobs of the rounds.
    pub(crate) phases: Vec<Vec<f64>>,
    /// What others used while it ran natively, and by `gerbil-run`.
    pub(crate) accounts: (Account, Account),
}

impl Row {
    /// Of `gerbil-run`'s time to native, a number for each round.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        self.to_native(|round| round.ours)
    }

    /// The same of the second native run.
    pub(crate) fn controls(&self) -> Vec<f64> {
        self.to_native(|round| round.control)
    }

    fn to_native(&self, of: impl Fn(&Round) -> Once) -> Vec<f64> {
        let rounds = self.rounds.iter();
        rounds
            .map(|round| of(round).mpi / round.native.mpi)
            .collect()
    }
}

struct Bench {
    cluster: Cluster,
    programs: Programs,
    spans: Spans,
    quick: bool,
}

pub(crate) fn measure(quick: bool) -> Result<Vec<Figure>> {
    let programs = Programs::compile(&PROGRAMS.map(|program| program.file))?;
    let bench = Bench {
        spans: Spans::beside(&programs)?,
        programs,
        cluster: Cluster::builder().nodes(RANKS).start()?,
        quick,
    };
    let setting = Setting::begin(&bench.cluster.version()?)?;
    for program in &PROGRAMS {
        // The first by `gerbil-run` stages the program, and all caches are warm.
        bench.once(Side::Native, program)?;
        bench.once(Side::Gerbil, program)?;
    }
    let mut rows: [Row; PROGRAMS.len()] = Default::default();
    let rounds = if quick { QUICK_ROUNDS } else { ROUNDS };
    for number in 0..rounds {
        let mut words = Vec::new();
        for (place, (program, row)) in PROGRAMS.iter().zip(&mut rows).enumerate() {
            let round = bench.round(program, number + place)?;
            row.rounds.push(round);
            row.phases.push(phases::of(&bench.programs.report()?));
            let more = |once: Once| 100.0 * (once.mpi / round.native.mpi - 1.0);
            words.push(format!(
                "{} {:.3} s and {:.3} s ({:+.2} %), again {:+.2} %",
                program.name,
                round.native.mpi,
                round.ours.mpi,
                more(round.ours),
                more(round.control)
            ));
        }
        say(&format!(
            "{:2} of {rounds}: {}",
            number + 1,
            words.join("; ")
        ))?;
    }
    for (program, row) in PROGRAMS.iter().zip(&mut rows) {
        let least = row.rounds.iter().map(|round| round.native.mpi);
        let window = WATCHED_SHARE * least.fold(f64::INFINITY, f64::min);
        let window = Duration::try_from_secs_f64(window).context("no round")?;
        let account = |side| bench.account(side, program, window);
        row.accounts = (account(Side::Native)?, account(Side::Gerbil)?);
    }
    let setting = setting.finish()?;
    let of_all = OfAll {
        ours: all(rows.iter().map(Row::ratios))?,
        control: all(rows.iter().map(Row::controls))?,
    };
    Ok(vec![
        figure_6(&rows, of_all, setting.clone())?,
        figure_7(&rows, setting),
    ])
}

/// To native, over all programs.
#[derive(Clone, Copy)]
pub(crate) struct OfAll {
    pub(crate) ours: Ratio,
    pub(crate) control: Ratio,
}

/// Over all programs: the runs of one round of all are one value.
fn all(ratios: impl Iterator<Item = Vec<f64>>) -> Result<Ratio> {
    let ratios: Vec<Vec<f64>> = ratios.collect();
    let rounds = ratios.iter().map(Vec::len).min().unwrap_or(0);
    let round = |round: usize| {
        let of_all: Vec<f64> = ratios.iter().map(|ratios| ratios[round]).collect();
        Ratio::together(&of_all)
    };
    let rounds: Vec<f64> = (0..rounds).map(round).collect();
    Ratio::of(&rounds)
}

impl Bench {
    /// One of each of [`ROUND`], beginning with `first` of them.
    fn round(&self, program: &Program, first: usize) -> Result<Round> {
        let mut runs = [Once::default(); ROUND.len()];
        for step in 0..ROUND.len() {
            let place = (first + step) % ROUND.len();
            runs[place] = self.once(ROUND[place], program)?;
        }
        let [native, ours, control] = runs;
        Ok(Round {
            native,
            ours,
            control,
        })
    }

    fn once(&self, side: Side, program: &Program) -> Result<Once> {
        self.settle()?;
        let finished = self.run(side, program)?.finish()?.success(program.name)?;
        Ok(Once {
            whole: finished.wall.as_secs_f64(),
            mpi: self.spans.longest(RANKS)?.as_secs_f64(),
        })
    }

    /// What others use over `window` of one more run.
    fn account(&self, side: Side, program: &Program, window: Duration) -> Result<Account> {
        self.settle()?;
        let running = self.run(side, program)?.start()?;
        wait::until("every rank past MPI_Init", DEADLINE, || {
            Ok((self.spans.begun()? == RANKS).then_some(()))
        })?;
        let account = Account::over(window, &self.cluster, running.id())?;
        running.finish()?.success(program.name)?;
        Ok(account)
    }

    fn settle(&self) -> Result<()> {
        wait::until("every container to end", DEADLINE, || {
            Ok(self.cluster.container_processes()?.is_empty().then_some(()))
        })?;
        wait::pause(SETTLE);
        self.spans.clear()
    }

    fn run(&self, side: Side, program: &Program) -> Result<Run> {
        let (ranks, nodes) = (RANKS.to_string(), self.cluster.nodes());
        let hosts: Vec<String> = nodes.iter().map(|node| node.host.to_string()).collect();
        let hosts = hosts.join(",");
        let spans = self.spans.options();
        let mut options = vec!["-ppn", "1", "-n", &ranks, "-hosts", &hosts];
        options.extend(spans.iter().map(String::as_str));
        let arguments = match self.quick {
            true => program.short,
            false => program.arguments,
        };
        let (programs, file) = (&self.programs, program.file);
        match side {
            Side::Native => {
                options.extend(["-launcher", "fork"]);
                Ok(programs.native_run(&options, file, arguments))
            }
            Side::Gerbil => programs.gerbil_run(&self.cluster, &options, file, arguments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_of_all_programs_is_one_value() {
        let all = all([vec![1.25, 1.0], vec![0.8, 1.0]].into_iter()).unwrap();
        // What one program lost in a round the other has gained.
        assert!((all.mean - 1.0).abs() < 1e-9 && (all.high - 1.0).abs() < 1e-9);
    }
}
