//! Long programs, native and by `gerbil-run`: pairs of runs, one after the other, in turns of who is first.
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
const PAIRS: usize = 20;
const QUICK_PAIRS: usize = 2;
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

/// Seconds of one run.
#[derive(Clone, Copy)]
pub(crate) struct Once {
    /// The whole command.
    pub(crate) whole: f64,
    /// Between `MPI_Init` and `MPI_Finalize`.
    pub(crate) mpi: f64,
}

/// All runs of one program.
#[derive(Default)]
pub(crate) struct Row {
    /// Native and by `gerbil-run`.
    pub(crate) pairs: Vec<(Once, Once)>,
    /// Of the jobs of the pairs.
    pub(crate) phases: Vec<Vec<f64>>,
    /// What others used while it ran natively, and by `gerbil-run`.
    pub(crate) accounts: (Account, Account),
}

impl Row {
    /// Of `gerbil-run`'s time to native, a number for each pair.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        let pairs = self.pairs.iter();
        pairs.map(|(native, ours)| ours.mpi / native.mpi).collect()
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
    let pairs = if quick { QUICK_PAIRS } else { PAIRS };
    for pair in 0..pairs {
        let mut words = Vec::new();
        for (place, (program, row)) in PROGRAMS.iter().zip(&mut rows).enumerate() {
            let (native, ours) = bench.pair(program, (pair + place) % 2 == 0)?;
            row.pairs.push((native, ours));
            row.phases.push(phases::of(&bench.programs.report()?));
            let more = 100.0 * (ours.mpi / native.mpi - 1.0);
            words.push(format!(
                "{} {:.3} s and {:.3} s ({more:+.2} %)",
                program.name, native.mpi, ours.mpi
            ));
        }
        say(&format!("{:2} of {pairs}: {}", pair + 1, words.join(", ")))?;
    }
    for (program, row) in PROGRAMS.iter().zip(&mut rows) {
        let least = row.pairs.iter().map(|(native, _)| native.mpi);
        let window = WATCHED_SHARE * least.fold(f64::INFINITY, f64::min);
        let window = Duration::try_from_secs_f64(window).context("no pair")?;
        let account = |side| bench.account(side, program, window);
        row.accounts = (account(Side::Native)?, account(Side::Gerbil)?);
    }
    let setting = setting.finish()?;
    let all = all(&rows)?;
    Ok(vec![
        figure_6(&rows, all, setting.clone())?,
        figure_7(&rows, setting),
    ])
}

/// Over all programs: the runs of one round of all are one value.
fn all(rows: &[Row]) -> Result<Ratio> {
    let ratios: Vec<Vec<f64>> = rows.iter().map(Row::ratios).collect();
    let rounds = ratios.iter().map(Vec::len).min().unwrap_or(0);
    let round = |round: usize| {
        let of_all: Vec<f64> = ratios.iter().map(|ratios| ratios[round]).collect();
        Ratio::together(&of_all)
    };
    let rounds: Vec<f64> = (0..rounds).map(round).collect();
    Ratio::of(&rounds)
}

impl Bench {
    /// Native and by `gerbil-run`, whichever is first.
    fn pair(&self, program: &Program, native_first: bool) -> Result<(Once, Once)> {
        if native_first {
            let native = self.once(Side::Native, program)?;
            return Ok((native, self.once(Side::Gerbil, program)?));
        }
        let ours = self.once(Side::Gerbil, program)?;
        Ok((self.once(Side::Native, program)?, ours))
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
        let once = |mpi| Once { whole: mpi, mpi };
        let row = |ratios: [f64; 2]| Row {
            pairs: ratios.map(|ratio| (once(5.0), once(5.0 * ratio))).to_vec(),
            ..Row::default()
        };
        let all = all(&[row([1.25, 1.0]), row([0.8, 1.0])]).unwrap();
        // What one program lost in a round the other has gained.
        assert!((all.mean - 1.0).abs() < 1e-9 && (all.high - 1.0).abs() < 1e-9);
    }
}
