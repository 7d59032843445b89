//! From the words of a command line to [`Arguments`].

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{CommandFactory as _, FromArgMatches as _, ValueHint};

use super::binding::MapBy;
use super::ranks::RankBy;
use super::{Arguments, Help, ParseError, lexer, session, words_on_disk};
use crate::subcommands;
use crate::usage::UsageError;

impl Arguments {
    /// Reads a command line, the command's own name first.
    ///
    /// # Errors
    /// What clap would print, also for `--help`.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, ParseError> {
        let mut words = words.into_iter();
        let own_name = words.next().unwrap_or_else(|| "gerbil-run".into());
        let words: Vec<OsString> = words.collect();
        match &words[..] {
            [] => {
                return Err(usage(false));
            }
            // A program of such a name is ./help.
            [word] if word == "help" => return Err(usage(true)),
            [word] if word == "version" => return Self::parse([own_name, "--version".into()]),
            [word, ..] if is_of_gerbil(word) => {
                let line: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                return Err(ParseError::Refused(format!(
                    "there is no program {}; as a command it stands behind the other name of this file: gerbil {} (ln -s \
                     gerbil-run gerbil)",
                    word.display(),
                    line.join(" ")
                )));
            }
            _ => {}
        }
        let files = lexer::FileLookups {
            is_list: &words_on_disk::is_list,
            is_program: &words_on_disk::is_program,
            configuration: &words_on_disk::configuration,
        };
        let lexed = lexer::lex(words, &known(), &files).map_err(ParseError::Refused)?;
        let mut command = Self::command();
        let matches =
            command.try_get_matches_from_mut(std::iter::once(own_name).chain(lexed.words))?;
        let mut given = Self::from_arg_matches(&matches)?;
        let typed = || {
            command.get_arguments().filter(|argument| {
                matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
            })
        };
        if given.usage {
            return Err(usage(true));
        }
        let checked = given.reporting.check(typed());
        checked.map_err(ParseError::Refused)?;
        let variable = session::variable().filter(|_name| given.is_a_job());
        let options = typed().filter_map(clap::Arg::get_long);
        let checked = given.session.check(variable.as_deref(), options);
        checked.map_err(ParseError::Refused)?;
        given.detached(typed().filter_map(clap::Arg::get_long))?;
        given.mapped()?;
        let is_placed =
            given.placement.rank_by.is_some() || given.placement.processes_per_node.is_some();
        if let (Some(name), true) = (&given.session.session, is_placed) {
            return Err(ParseError::Refused(format!(
                "-map-by with nodes or slots does not go with a session ({name}), which places its jobs itself"
            )));
        }
        given.notes = lexed.notes;
        given.further(lexed.further)?;
        let list = given.placement.list();
        given
            .notes
            .extend(list.into_iter().flat_map(|list| list.notes.iter().cloned()));
        Ok(given)
    }

    /// What `-map-by` says of nodes is said of their placement.
    fn mapped(&mut self) -> Result<(), ParseError> {
        let refused = |sentence: &str| ParseError::Refused(sentence.to_owned());
        let placement = &mut self.placement;
        let order = match self.bind.map_by {
            Some(MapBy::Unit(_)) if self.bind.bind_to.is_none() => {
                return Err(refused(
                    "-map-by with a unit of processors says in which order -bind-to takes them; write \
                     -bind-to too",
                ));
            }
            Some(MapBy::Unit(unit)) => {
                let other = |order: &RankBy| matches!(order, RankBy::Unit(own) if *own != unit);
                if placement.rank_by.as_ref().is_some_and(other) {
                    return Err(refused(
                        "-rank-by and -map-by name different units: the ranks of a node take the \
                         processors in the order of -map-by",
                    ));
                }
                return Ok(());
            }
            Some(MapBy::PerNode(number)) => {
                if placement.processes_per_node.is_some_and(|n| n != number) {
                    return Err(refused("-ppn and -map-by ppr say different numbers"));
                }
                placement.processes_per_node = Some(number);
                return Ok(());
            }
            Some(MapBy::Slot) => RankBy::Slot,
            Some(MapBy::Node) => RankBy::Node,
            None => return Ok(()),
        };
        if placement.rankmap.is_some() {
            return Err(refused("-rankmap says already which ranks a node has"));
        }
        placement.rank_by.get_or_insert(order);
        Ok(())
    }

    /// Whether a program is to run, and not something else to be done.
    fn is_a_job(&self) -> bool {
        let other = self.kill.is_some() || self.ps || self.generate.is_some();
        !other && self.reporting.list.is_none() && self.data.checkpoint.is_none()
    }

    /// Whether a program is named, or something else is asked for that needs none.
    ///
    /// # Errors
    /// One sentence for the user.
    pub(crate) fn named(&self) -> Result<(), UsageError> {
        let other = self.kill.is_some() || self.ps || self.data.checkpoint.is_some();
        match other || self.mpi.is_some() || !self.command.is_empty() {
            true => Ok(()),
            false => Err(UsageError::NothingNamed),
        }
    }
}

/// Whether a word is a command of `gerbil`, and no program here.
fn is_of_gerbil(word: &OsStr) -> bool {
    let may_be = |word: &&str| !word.starts_with('-');
    let Some(text) = word.to_str().filter(may_be) else {
        return false;
    };
    // The definition is made for a word that is to be refused anyway.
    !words_on_disk::is_program(word, &[]) && subcommands::command().find_subcommand(text).is_some()
}

/// What `-h` prints: what most want to know, on one screen.
const USAGE: &str = include_str!("usage.txt");

fn usage(asked: bool) -> ParseError {
    let text = Help::Usage(USAGE);
    ParseError::Help { text, asked }
}

/// All options, as the lexer needs them.
pub(super) fn known() -> Vec<lexer::KnownOption> {
    let mut command = Arguments::command();
    command.build();
    let known = command.get_arguments().filter_map(|argument| {
        Some(lexer::KnownOption {
            long: argument.get_long()?.to_owned(),
            aliases: argument
                .get_all_aliases()
                .unwrap_or_default()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            short: argument.get_short(),
            value: match argument.get_num_args() {
                Some(_) if PAIRS.contains(&argument.get_id().as_str()) => lexer::Value::Pair,
                Some(_) if SWITCHES.contains(&argument.get_id().as_str()) => lexer::Value::Switch,
                Some(range) if !range.takes_values() => lexer::Value::None,
                Some(range) if range.min_values() == 0 => match argument.get_value_hint() {
                    ValueHint::AnyPath => lexer::Value::OptionalFile,
                    _ => lexer::Value::Optional,
                },
                Some(_) | None => lexer::Value::Required,
            },
        })
    });
    known.collect()
}

/// Yes or no, or nothing: Open MPI's --oversubscribe and srun's --kill-on-bad-exit have no value.
const SWITCHES: [&str; 3] = ["oversubscribe", "kill_on_bad_exit", "in_place"];

/// Options with a name and a value.
const PAIRS: [&str; 6] = ["env", "genv", "mca", "gmca", "pmixmca", "gpmixmca"];
