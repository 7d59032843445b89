//! The command line: the framework's options, and those that jobs add.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use gerbil_task::inputs::{check_output, paths};
use gerbil_task::nearest::nearest;
use gerbil_task::renamed::{current, remark};
use gerbil_task::settings::{Standing, standing};
use gerbil_task::{BroughtFile, brought};
use lexopt::ValueExt as _;
use lexopt::prelude::{Long, Short, Value};

use crate::app::App;
use crate::error::{Context as _, Error, Result};
use crate::job::{JobOption, option_setting};
use crate::options::OptionKey;
use crate::settings::{KNOWN, QUIET, RECURSIVE, REDUCES, SKIP, SKIP_GROUPS, Settings};

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) help: bool,
    pub(crate) local: bool,
    /// On one thread of this process.
    pub(crate) inline: bool,
    pub(crate) quiet: bool,
    pub(crate) slots: Option<usize>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) operands: Vec<String>,
    /// Files that every job brings to its tasks.
    pub(crate) brings: Vec<BroughtFile>,
    /// What the user should know of the settings, a sentence each.
    notes: Vec<String>,
}

const OPTIONS: &[(&str, &str)] = &[
    ("--local", "run on this machine, without a cluster"),
    (
        "--inline",
        "the same on one thread of one process, one task after the other, for a debugger",
    ),
    (
        "--slots N",
        "tasks at a time, with --local; without it one a core",
    ),
    (
        "--reduces N",
        "number of reduces; without it one a GiB of input, 0: none",
    ),
    ("--recursive", "read folders inside of input folders, too"),
    (
        "--files F[#NAME],...",
        "files of this machine, or of a file system that they name, that tasks open by NAME",
    ),
    (
        "--archives F[#NAME],...",
        "archives that are unpacked into a folder NAME on each node of a cluster",
    ),
    (
        "--report FILE",
        "write what became of the job to FILE, as JSON, with --local",
    ),
    (
        "--skip-bad N",
        "records of each map, and groups of each reduce, that may be left out because the job's code failed on them",
    ),
    ("--quiet", "say nothing but what fails"),
    ("-D NAME=VALUE", "a setting, see below"),
    ("--help", "this text"),
];

impl Arguments {
    pub(crate) fn parse(app: &App, words: impl Iterator<Item = OsString>) -> Result<Self> {
        let options: Vec<&JobOption> = app.specs().iter().flat_map(|spec| &spec.options).collect();
        unique(&options)?;
        let mut arguments = Self::default();
        for option in &options {
            if let Some(default) = option.default {
                arguments
                    .settings
                    .insert(option_setting(option.name), default.to_owned());
            }
        }
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Long("help") | Short('h') => arguments.help = true,
                Long("local") => arguments.local = true,
                Long("inline") => {
                    arguments.local = true;
                    arguments.inline = true;
                }
                Long("quiet") => {
                    arguments.quiet = true;
                    arguments.set(QUIET, "true");
                }
                Long("recursive") => arguments.set(RECURSIVE, "true"),
                Long("slots") => {
                    let text = parser.value()?.string()?;
                    let slots = text.parse().ok().filter(|slots| (1..=64).contains(slots));
                    arguments.slots = Some(
                        slots.ok_or_else(|| Error::new(format!("--slots {text}: from 1 to 64")))?,
                    );
                }
                Long("reduces") => {
                    let text = parser.value()?.string()?;
                    arguments.set(REDUCES, &text);
                }
                Long("skip-bad") => {
                    let text = parser.value()?.string()?;
                    if text.parse::<u32>().is_err() {
                        return Err(Error::new(format!(
                            "--skip-bad {text}: a number of records, from 0"
                        )));
                    }
                    arguments.set(SKIP, &text);
                    arguments.set(SKIP_GROUPS, &text);
                }
                Long(option @ ("files" | "archives")) => {
                    let unpack = option == "archives";
                    let text = parser.value()?.string()?;
                    for file in text.split(',') {
                        let file = brought::named(file, unpack).map_err(Error::new)?;
                        arguments.brings.push(file);
                    }
                }
                Long("report") => arguments.report = Some(parser.value()?.into()),
                Short('D') => {
                    let text = parser.value()?.string()?;
                    let pair = text
                        .split_once('=')
                        .map(|(name, value)| (name.trim(), value));
                    let Some((name, value)) = pair.filter(|(name, _)| !name.is_empty()) else {
                        return Err(Error::new(format!("-D {text}: a setting is NAME=VALUE")));
                    };
                    arguments.notes.extend(remark(name));
                    arguments.set(current(name), value);
                }
                Value(operand) => arguments.operands.push(operand.string()?),
                Long(name) => {
                    let Some(option) = options.iter().find(|option| option.name == name) else {
                        return Err(unknown(name, &options));
                    };
                    let value = parser.value()?.string()?;
                    if !(option.check)(&value) {
                        return Err(Error::new(format!(
                            "--{} {value}: it takes {}",
                            option.name, option.kind.1
                        )));
                    }
                    arguments.set(&option_setting(option.name), &value);
                }
                Short(letter) => {
                    return Err(Error::new(format!(
                        "-{letter} is no option; --help lists those that there are"
                    )));
                }
            }
        }
        if !arguments.help {
            arguments.check(&options)?;
        }
        Ok(arguments)
    }

    /// An option that was given and that means nothing without `--local`.
    pub(crate) fn only_here(&self) -> Option<&'static str> {
        let slots = self.slots.is_some().then_some("--slots");
        slots.or(self.report.is_some().then_some("--report"))
    }

    /// Whether a report can be written, before a job has run for nothing.
    pub(crate) fn check_report(&self) -> Result<()> {
        let Some(file) = &self.report else {
            return Ok(());
        };
        let wrong = || format!("--report {} cannot be written", file.display());
        match OpenOptions::new().write(true).create_new(true).open(file) {
            Ok(_new) => std::fs::remove_file(file).context(wrong),
            // A pipe is not opened twice.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && !file.is_dir() => Ok(()),
            Err(error) => Err(error).context(wrong),
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.settings.insert(name.to_owned(), value.to_owned());
    }

    /// Says what becomes of settings. On a cluster the client says of those that do nothing.
    pub(crate) fn remark(&self, program: &str) {
        let idle = self
            .settings
            .keys()
            .filter_map(|name| match standing(name) {
                Standing::Idle(why) => Some(format!("{name} does nothing here: {why}")),
                Standing::Known | Standing::Own | Standing::Unknown(_) => None,
            });
        let said = self
            .notes
            .iter()
            .cloned()
            .chain(idle.filter(|_| self.local));
        said.filter(|_| !self.quiet)
            .for_each(|note| crate::say(&format!("{program}: {note}")));
    }

    fn check(&self, options: &[&JobOption]) -> Result<()> {
        if let Some(missing) = options
            .iter()
            .find(|option| !self.settings.contains_key(&option_setting(option.name)))
        {
            return Err(Error::new(format!(
                "--{} is needed: {}",
                missing.name, missing.meaning
            )));
        }
        if self.inline && self.slots.is_some() {
            return Err(Error::new(
                "--slots and --inline: one task at a time is all that one thread has",
            ));
        }
        let Some((output, inputs)) = self
            .operands
            .split_last()
            .filter(|(_, inputs)| !inputs.is_empty())
        else {
            return Err(Error::new(
                "input and output are needed: PROGRAM [OPTIONS] IN... OUT; --help tells more",
            ));
        };
        check_output(output)?;
        paths(inputs)?;
        Settings::new(self.settings.clone()).check()
    }

    /// Prints what there is to know.
    pub(crate) fn print_help(&self, app: &App) -> ExitCode {
        let name = app.name();
        let mut text = format!(
            "Usage: {name} [OPTIONS] IN... OUT\n\nReads files, folders, lists and patterns, and writes the new folder OUT.\n"
        );
        let options = app
            .specs()
            .iter()
            .flat_map(|spec| spec.options.iter().map(move |option| (spec, option)));
        for (number, (spec, option)) in options.enumerate() {
            if number == 0 {
                text.push_str("\nOptions of the job:\n");
            }
            let default = match option.default {
                None => " (needed)".to_owned(),
                Some("") => String::new(),
                Some(default) => format!(" [{default}]"),
            };
            let word = format!("--{} {}", option.name, option.kind.0);
            let of = if app.specs().len() > 1 {
                format!(" ({})", spec.planned.name)
            } else {
                String::new()
            };
            text.push_str(&format!("  {word:<20} {}{default}{of}\n", option.meaning));
        }
        text.push_str("\nOptions:\n");
        for (word, meaning) in OPTIONS {
            text.push_str(&format!("  {word:<20} {meaning}\n"));
        }
        let typed = app.specs().iter().flat_map(|spec| &spec.typed);
        let keys: Vec<OptionKey> = typed.flat_map(|typed| (typed.keys)()).collect();
        for (number, key) in keys.iter().enumerate() {
            if number == 0 {
                text.push_str("\nSettings of the job, for -D:\n");
            }
            if keys.iter().take(number).any(|other| other == key) {
                continue;
            }
            let default = match key.default {
                None => " (needed)".to_owned(),
                Some("") => String::new(),
                Some(default) => format!(" [{default}]"),
            };
            let word = format!("{}={}", key.key, key.kind.0);
            text.push_str(&format!("  {word:<20} {}{default}\n", key.meaning));
        }
        text.push_str("\nSettings, for -D:\n");
        for known in KNOWN {
            let default = if known.default.is_empty() {
                String::new()
            } else {
                format!(" [{}]", known.default.escape_debug())
            };
            text.push_str(&format!(
                "  {}\n        {}{default}\n",
                known.name, known.meaning
            ));
        }
        drop(std::io::stdout().write_all(text.as_bytes()));
        ExitCode::SUCCESS
    }
}

/// The framework's options that have names, without the hyphens and what follows.
fn names() -> impl Iterator<Item = &'static str> {
    let name = |(word, _): &(&'static str, &str)| word.split(' ').next()?.strip_prefix("--");
    OPTIONS.iter().filter_map(name)
}

/// Refuses options of jobs that mean two things.
fn unique(options: &[&JobOption]) -> Result<()> {
    for (number, option) in options.iter().enumerate() {
        let mut others = options.iter().take(number);
        if names().any(|name| name == option.name) || others.any(|other| other.name == option.name)
        {
            return Err(Error::new(format!(
                "the option --{} is registered twice, or one of the framework's: give it another name",
                option.name
            )));
        }
    }
    Ok(())
}

fn unknown(name: &str, options: &[&JobOption]) -> Error {
    let all = names().chain(options.iter().map(|option| option.name));
    let hint = nearest(name, all).map_or_else(String::new, |name| format!(" (is --{name} meant?)"));
    Error::new(format!(
        "--{name} is no option{hint}; --help lists those that there are"
    ))
}
