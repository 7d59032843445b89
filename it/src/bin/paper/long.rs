//! Long programs, native and by `gerbil-run`: rounds of runs that take turns on the same cores, of which the
//! second native one tells what this machine makes of two equal runs; and a few runs by themselves, for
//! their phases and for what starts and ends a run.
//!
//! Both start one process on each of two nodes, which are loopback addresses of this machine: Hydra forks
//! its proxies, `gerbil-run` asks the NodeManagers for containers. The processes find each other by the
//! same library, which chooses the same transport. Each round waits until nothing is left of the one before.

use std::time::Duration;

use anyhow::Result;
use it::results::{Figure, Ratio, Setting};
use it::{Cluster, Run, wait};
use nix::sys::signal::Signal;

use crate::accounting::Account;
use crate::figures_6_7::{figure_6, figure_7};
use crate::programs::{DEADLINE, Programs};
use crate::spans::Spans;
use crate::turns::take_turns;
use crate::{phases, say};

/// One on each node, and a core for each: MPI's processes wait by looking.
pub(crate) const RANKS: usize = 2;
/// Each of a round's runs is the first in a third of them.
const ROUNDS: usize = 7 * ROUND.len();
/// Of runs by themselves.
const ALONE: usize = 5;
const QUICK_ROUNDS: usize = 2;
/// The daemons finish their own work after a job.
const SETTLE: Duration = Duration::from_secs(1);
/// What others use while a program runs is counted for so long, when it has run for so long: at the begin
/// of a job everybody has more to do.
const COUNTED: Duration = Duration::from_secs(60);
const COUNTED_AFTER: Duration = Duration::from_secs(30);
const QUICK: Duration = Duration::from_secs(5);

/// A program of `examples`.
pub(crate) struct LongProgram {
    pub(crate) name: &'static str,
    /// What most of its time goes into.
    pub(crate) kind: &'static str,
    file: &'static str,
    arguments: &'static [&'static str],
    /// For `--quick`.
    short: &'static [&'static str],
}

pub(crate) const PROGRAMS: [LongProgram; 3] = [
    LongProgram {
        name: "Heat",
        kind: "three messages or reductions every few microseconds",
        file: "heat",
        arguments: &["3000000"],
        short: &["50000"],
    },
    LongProgram {
        name: "2D-FFT",
        kind: "transposing 64 MiB between the processes, again and again",
        file: "fft2d",
        arguments: &["2048", "40"],
        short: &["1024", "4"],
    },
    LongProgram {
        name: "MatrixMultiply",
        kind: "computing, with a message at the begin and one at the end",
        file: "matmul",
        arguments: &["2300"],
        short: &["1000"],
    },
];

/// Runs for longer than anybody counts, and is ended then.
const ENDLESS: (&str, &[&str]) = ("heat", &["1000000000"]);

/// How a program is started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Native,
    Gerbil,
}

/// The runs of a program in one round; the last is the control.
const ROUND: [Side; 3] = [Side::Native, Side::Gerbil, Side::Native];

/// Seconds of one run by itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct Alone {
    /// The whole command.
    pub(crate) whole: f64,
    /// Between `MPI_Init` and `MPI_Finalize`.
    pub(crate) mpi: f64,
}

impl Alone {
    pub(crate) fn start_and_end(self) -> f64 {
        self.whole - self.mpi
    }
}

/// Seconds that each run of a round had of the time between `MPI_Init` and `MPI_Finalize`.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) native: f64,
    pub(crate) ours: f64,
    /// Native once more.
    pub(crate) control: f64,
}

/// All runs of one program.
#[derive(Default)]
pub(crate) struct LongRow {
    pub(crate) rounds: Vec<Round>,
    /// Natively, and by `gerbil-run`.
    pub(crate) alone: Vec<(Alone, Alone)>,
    /// Of the jobs by themselves.
    pub(crate) phases: Vec<Vec<f64>>,
}

impl LongRow {
    /// Of `gerbil-run`'s time to that of both native runs, a number for each round.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        let rounds = self.rounds.iter();
        rounds
            .map(|round| round.ours / Ratio::together(&[round.native, round.control]))
            .collect()
    }

    /// Of the second native run's time to the first's.
    pub(crate) fn controls(&self) -> Vec<f64> {
        let rounds = self.rounds.iter();
        rounds.map(|round| round.control / round.native).collect()
    }
}

struct Bench {
    cluster: Cluster,
    programs: Programs,
    /// For each run of a round.
    spans: [Spans; ROUND.len()],
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
    let mut rows: [LongRow; PROGRAMS.len()] = Default::default();
    let (rounds, alone) = match quick {
        true => (QUICK_ROUNDS, QUICK_ROUNDS),
        false => (ROUNDS, ALONE),
    };
    for (program, row) in PROGRAMS.iter().zip(&mut rows) {
        // The first by `gerbil-run` stages the program, and all caches are warm.
        bench.alone(Side::Native, program)?;
        bench.alone(Side::Gerbil, program)?;
        for _ in 0..alone {
            let native = bench.alone(Side::Native, program)?;
            let ours = bench.alone(Side::Gerbil, program)?;
            row.alone.push((native, ours));
            row.phases.push(phases::of(&bench.programs.report()?));
        }
    }
    for number in 0..rounds {
        let mut words = Vec::new();
        for (place, (program, row)) in PROGRAMS.iter().zip(&mut rows).enumerate() {
            let round = bench.round(program, number + place)?;
            row.rounds.push(round);
            let more = |seconds: f64| 100.0 * (seconds / round.native - 1.0);
            words.push(format!(
                "{} {:.3} s and {:.3} s ({:+.2} %), again {:+.2} %",
                program.name,
                round.native,
                round.ours,
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
    let accounts = Accounts {
        native: bench.account(Side::Native)?,
        ours: bench.account(Side::Gerbil)?,
    };
    let setting = setting.finish()?;
    let of_all = OfAll {
        ours: all(rows.iter().map(LongRow::ratios))?,
        control: all(rows.iter().map(LongRow::controls))?,
    };
    Ok(vec![
        figure_6(&rows, of_all, &accounts, setting.clone())?,
        figure_7(&rows, setting),
    ])
}

/// What others use while a program runs.
pub(crate) struct Accounts {
    pub(crate) native: Account,
    pub(crate) ours: Account,
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
    /// One of each of [`ROUND`], by turns, beginning with `first` of them.
    fn round(&self, program: &LongProgram, first: usize) -> Result<Round> {
        self.settle()?;
        let places = (0..ROUND.len()).map(|step| (first + step) % ROUND.len());
        let places: Vec<usize> = places.collect();
        let run = |place: &usize| {
            let spans = &self.spans[*place];
            let arguments = self.arguments(program);
            Ok((
                self.run(ROUND[*place], program.file, arguments, spans)?,
                spans,
            ))
        };
        let runs: Vec<(Run, &Spans)> = places.iter().map(run).collect::<Result<_>>()?;
        let mut had = [0.0; ROUND.len()];
        for (place, of_run) in places.iter().zip(take_turns(runs, RANKS)?) {
            had[*place] = of_run.as_secs_f64();
        }
        let [native, ours, control] = had;
        Ok(Round {
            native,
            ours,
            control,
        })
    }

    fn alone(&self, side: Side, program: &LongProgram) -> Result<Alone> {
        self.settle()?;
        let spans = &self.spans[0];
        let run = self.run(side, program.file, self.arguments(program), spans)?;
        let finished = run.finish()?.success(program.name)?;
        Ok(Alone {
            whole: finished.wall.as_secs_f64(),
            mpi: spans.span(RANKS)?.length().as_secs_f64(),
        })
    }

    /// What others use while a program runs for long.
    fn account(&self, side: Side) -> Result<Account> {
        self.settle()?;
        let (file, arguments) = ENDLESS;
        let spans = &self.spans[0];
        let mut running = self.run(side, file, arguments, spans)?.start()?;
        wait::until("every rank past MPI_Init", DEADLINE, || {
            Ok((spans.begun()?.len() == RANKS).then_some(()))
        })?;
        let (after, window) = match self.quick {
            true => (QUICK, QUICK),
            false => (COUNTED_AFTER, COUNTED),
        };
        wait::pause(after);
        let account = Account::over(window, &self.cluster, running.id())?;
        running.signal(Signal::SIGINT)?;
        running.finish()?;
        Ok(account)
    }

    fn settle(&self) -> Result<()> {
        wait::until("every container to end", DEADLINE, || {
            Ok(self.cluster.container_processes()?.is_empty().then_some(()))
        })?;
        wait::pause(SETTLE);
        self.spans.iter().try_for_each(Spans::clear)
    }

    const fn arguments(&self, program: &LongProgram) -> &'static [&'static str] {
        match self.quick {
            true => program.short,
            false => program.arguments,
        }
    }

    fn run(&self, side: Side, file: &str, arguments: &[&str], spans: &Spans) -> Result<Run> {
        let (ranks, nodes) = (RANKS.to_string(), self.cluster.nodes());
        let hosts: Vec<String> = nodes.iter().map(|node| node.host.to_string()).collect();
        let hosts = hosts.join(",");
        let spans = spans.options();
        let mut options = vec!["-ppn", "1", "-n", &ranks, "-hosts", &hosts];
        options.extend(spans.iter().map(String::as_str));
        let programs = &self.programs;
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
