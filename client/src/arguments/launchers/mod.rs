//! Every option of Hydra's mpiexec, the common ones of Open MPI's mpirun and of srun, and what becomes of
//! them here. The lexer reads by these rows; the page OPTIONS.md is written from them.

use std::ffi::OsStr;

mod hydra;
mod meaning;
mod open_mpi;
mod page;
mod srun;

pub(super) use meaning::Meaning;
use meaning::Meaning::{NoEffect, Ours, Same};
pub(crate) use page::page;

/// What one option of another launcher is here.
struct LauncherOption {
    /// Without its dashes.
    word: &'static str,
    meaning: Meaning,
}

/// A launcher and its options.
struct OtherLauncher {
    name: &'static str,
    /// Before a word of more than one letter.
    dashes: &'static str,
    rows: &'static [LauncherOption],
}

const LAUNCHERS: [OtherLauncher; 3] = [
    OtherLauncher {
        name: "Hydra's mpiexec",
        dashes: "-",
        rows: hydra::ROWS,
    },
    OtherLauncher {
        name: "Open MPI's mpirun",
        dashes: "-",
        rows: open_mpi::ROWS,
    },
    OtherLauncher {
        name: "srun",
        dashes: "--",
        rows: srun::ROWS,
    },
];

const STARTED_BY_YARN: &str = "YARN starts the processes, nothing logs in anywhere";
const UNITS: &str = "-bind-to UNIT:N and -map-by say which processors a process gets, -ppn and -hosts how many \
    processes a node";
const NO_DAEMONS: &str =
    "there are no daemons; the launchers' logs are their containers' (yarn logs)";
const ALWAYS_SHIPPED: &str = "the program is always brought to the nodes";
const AS_IT_COMES: &str = "output is shown as it comes";
const LAUNCH_NODE: &str = "the launch node is no node of the job; --exclude leaves nodes out";
const BY_PROCESS: &str = "GPUs are given by the process: write -gpus-per-proc; nodes that have them may carry a label, \
    which --node-label asks for";
const CORES: &str = "-c means processes to Open MPI and cores of a process to Slurm; write -n for the one, \
    --vcores-per-proc for the other";
const NODES: &str = "-N means processes per node to Open MPI and nodes to Slurm; write -ppn for the one, --nodes for \
    the other";
const QUIET: &str = "-q means silence to Open MPI and a quality of service to Slurm; write --quiet, or --queue \
    for the queue";
const SHARED: &str = "the program is always brought to the nodes, and nodes are shared";

const fn row(word: &'static str, meaning: Meaning) -> LauncherOption {
    LauncherOption { word, meaning }
}

const fn nothing(values: usize, because: &'static str) -> Meaning {
    NoEffect { values, because }
}

fn rows() -> impl Iterator<Item = &'static LauncherOption> {
    LAUNCHERS.iter().flat_map(|launcher| launcher.rows)
}

/// All words that any of them knows.
pub(super) fn words<'a>() -> impl Iterator<Item = &'a str> {
    rows().map(|row| -> &'a str { row.word })
}

/// What the lexer is to do with a word, where that is anything else than to look for it among our own
/// options.
pub(super) fn meaning(word: &str) -> Option<&'static Meaning> {
    rows()
        .filter(|row| row.word == word)
        .map(|row| &row.meaning)
        .find(|meaning| !matches!(meaning, Same | Ours(_)))
}

/// What `--pm` calls a value of srun's `--mpi`; `None`: it is none.
pub(super) fn manager(value: &OsStr) -> Option<&'static str> {
    match value.to_str()? {
        "pmix" | "pmix_v2" | "pmix_v3" | "pmix_v4" | "pmix_v5" => Some("pmix"),
        "pmi" | "pmi1" | "pmi2" => Some("pmi"),
        "none" => Some("auto"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
