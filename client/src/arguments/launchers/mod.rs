//! Every option of Hydra's mpiexec, the common ones of Open MPI's mpirun and of srun, and what becomes of
//! them here. The lexer reads by these rows; the page OPTIONS.md is written from them.

mod hydra;
mod meaning;
mod open_mpi;
mod page;
mod srun;

pub(super) use meaning::Meaning;
use meaning::Meaning::{NoEffect, Ours, Same};
pub(crate) use page::page;

/// What one option of another launcher is here.
struct Row {
    /// Without its dashes.
    word: &'static str,
    meaning: Meaning,
}

/// A launcher and its options.
struct Launcher {
    name: &'static str,
    /// Before a word of more than one letter.
    dashes: &'static str,
    rows: &'static [Row],
}

const LAUNCHERS: [Launcher; 3] = [
    Launcher {
        name: "Hydra's mpiexec",
        dashes: "-",
        rows: hydra::ROWS,
    },
    Launcher {
        name: "Open MPI's mpirun",
        dashes: "-",
        rows: open_mpi::ROWS,
    },
    Launcher {
        name: "srun",
        dashes: "--",
        rows: srun::ROWS,
    },
];

const STARTED_BY_YARN: &str = "YARN starts the processes, nothing logs in anywhere";
const BINDING: &str = "-bind-to and -map-by say which processors a process gets";
const MAPPING: &str = "the ranks of a node are consecutive; -ppn, -hosts and -r say how many are where, -bind-to \
    and -map-by on which processors";
const REPORT: &str = "processes are bound as -bind-to says; each can tell with: taskset -p $$";
const NO_GPUS: &str = "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for";

const fn row(word: &'static str, meaning: Meaning) -> Row {
    Row { word, meaning }
}

const fn nothing(values: usize, because: &'static str) -> Meaning {
    NoEffect { values, because }
}

fn rows() -> impl Iterator<Item = &'static Row> {
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

#[cfg(test)]
mod tests {
    use super::Meaning::{File, Is, LabelOrList, Refused};
    use super::*;
    use crate::arguments::known;

    #[test]
    fn every_row_says_what_is_so() {
        let known = known();
        let own = |word: &str| {
            let letter = |short: Option<char>| short.is_some_and(|c| c.to_string() == word);
            known.iter().any(|known| {
                known.long == word || letter(known.short) || known.aliases.iter().any(|a| a == word)
            })
        };
        for row in rows() {
            match row.meaning {
                Same | Ours(_) => assert!(own(row.word), "{} is no option", row.word),
                Is(other) => assert!(
                    own(other) && !own(row.word),
                    "{} is an option itself, or {other} is none",
                    row.word
                ),
                NoEffect { .. } | Refused(_) | LabelOrList | File => {
                    assert!(!own(row.word), "{} is an option itself", row.word);
                }
            }
        }
        for launcher in &LAUNCHERS {
            for row in launcher.rows {
                let same = launcher.rows.iter().filter(|other| other.word == row.word);
                assert_eq!(same.count(), 1, "{} is there twice", row.word);
            }
        }
        assert!(hydra::ROWS.len() >= 72, "{}", hydra::ROWS.len());
    }
}
