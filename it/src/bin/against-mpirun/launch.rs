//! How long a launch takes.

use std::fs;

use anyhow::Result;
use it::initialized::{Times, timed};

use crate::DEADLINE;
use crate::figure::{Better, Comparison};
use crate::nodes::NODES;
use crate::peers::{Bench, Peer, YIELDS};
use crate::say;

/// What else every peer is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    Nothing,
    /// Not to open the transport that sleeps for a second when it finds no network of its own, which `gerbil-run`
    /// leaves out by itself on nodes that have none.
    WithoutLibfabric,
}

impl Told {
    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Nothing => &[],
            Self::WithoutLibfabric => &["--mca", "btl", "^ofi"],
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::WithoutLibfabric => ", btl ^ofi",
        }
    }
}

/// Of a command that starts so many ranks on all nodes: until the last rank has begun, is past `MPI_Init`, and until
/// the command ends, milliseconds.
pub(crate) fn measure(
    bench: &Bench,
    rounds: usize,
    ranks: usize,
    told: Told,
) -> Result<Vec<Comparison>> {
    let program = bench.program("initialized")?;
    let each = ranks.div_ceil(NODES);
    let mut runs = 0;
    let mut joined = Vec::new();
    let all = bench.rounds(rounds, |peer| {
        runs += 1;
        let stamps = bench
            .folder
            .path()
            .join(format!("of-{ranks}-{told:?}-{runs}"));
        fs::create_dir(&stamps)?;
        let report = bench.folder.path().join("report.json");
        let reported = ["--report", &report.display().to_string()].map(str::to_owned);
        let reported = reported.each_ref().map(String::as_str);
        let more: &[&str] = match peer {
            Peer::Application => &reported,
            Peer::Mpirun | Peer::Session => &[],
        };
        let mut command = bench.command(peer, ranks, each, more)?;
        command
            .args(YIELDS)
            .args(told.options())
            .arg(&program)
            .arg(&stamps);
        let times = timed(command, &stamps, ranks, DEADLINE)?;
        if peer == Peer::Application {
            joined.push(times.since_joined(&report)? * 1e3);
        }
        say(&format!(
            "{ranks} ranks{}, {peer:?}: begun {:.0}, past MPI_Init {:.0}, whole {:.0} ms",
            told.words(),
            times.begun * 1e3,
            times.initialized * 1e3,
            times.whole * 1e3
        ))?;
        Ok(times)
    })?;
    let of = |what: &str, of: fn(&Times) -> f64| {
        let rounds = all.iter().map(|times| times.map(|times| of(&times) * 1e3));
        Comparison::new(
            &format!("{ranks} ranks{}: {what}", told.words()),
            "ms",
            Better::Less,
            rounds.collect(),
        )
    };
    let mut containers = of("last past MPI_Init, once containers are there", |times| {
        times.initialized
    });
    // The first round only warms.
    for (round, joined) in containers.rounds.iter_mut().zip(joined.iter().skip(1)) {
        round[2] = *joined;
    }
    Ok(vec![
        of("last has begun", |times| times.begun),
        of("last past MPI_Init", |times| times.initialized),
        containers,
        of("whole command", |times| times.whole).wanted(1.0),
    ])
}
