//! `gerbil mr --local`, and helps: the program itself, which does that without a client.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use ::job::Role;
use ::job::exit::Exit;
use gerbil_task::brought::word;
use staging::program::locate;
use terminal::say;

use super::streaming;
use crate::failure::Failure;
use crate::subcommands::MapReduceArguments;
use crate::system::system;
use crate::usage::UsageError;

/// The whole command.
pub(super) fn main(given: &MapReduceArguments) -> ExitCode {
    let failure = match command(given) {
        Ok(mut command) => {
            let source = command.exec();
            let exit = match source.kind() {
                ErrorKind::PermissionDenied => Exit::NotExecutable,
                _ => Exit::Staging,
            };
            system("start the program", exit)(source).into()
        }
        Err(failure) => failure,
    };
    say(&failure);
    ExitCode::from(failure.exit().code())
}

/// The program with its words, the options of `gerbil mr` among them.
fn command(given: &MapReduceArguments) -> Result<Command, Failure> {
    if let Some(option) = given.own.typed() {
        return Err(UsageError::SizedHere { option }.into());
    }
    if given.deadline.is_some() {
        return Err(UsageError::DeadlineHere.into());
    }
    if given.profile.is_some() {
        return Err(UsageError::ProfileAlone.into());
    }
    let own = streaming::words(&given.words)?;
    let (program, words): (PathBuf, Vec<OsString>) = match (own, given.words.split_first()) {
        (Some(words), _) => {
            let own = std::env::current_exe();
            let own = own.map_err(system("find my own file", Exit::Staging))?;
            let role = OsString::from(Role::Streaming.argument());
            (
                own,
                std::iter::once(role)
                    .chain(options(given))
                    .chain(words.iter().cloned())
                    .collect(),
            )
        }
        (None, Some((program, words))) if !program.is_empty() => {
            let path = std::env::var_os("PATH");
            let program = locate(program.as_ref(), path.as_deref())?;
            let program = std::path::absolute(program);
            let program = program.map_err(system("find the working folder", Exit::Staging))?;
            let words = options(given).into_iter().chain(words.iter().cloned());
            (program, words.collect())
        }
        (None, Some(_) | None) => return Err(UsageError::NoProgram.into()),
    };
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

/// The options that programs know themselves; of a help nothing but that is wanted.
fn options(given: &MapReduceArguments) -> Vec<OsString> {
    if !given.local {
        return Vec::new();
    }
    let mut words: Vec<OsString> = vec!["--local".into()];
    for setting in &given.settings {
        words.extend(["-D".into(), setting.into()]);
    }
    if let Some(most) = given.skip_bad {
        words.extend(["--skip-bad".into(), most.to_string().into()]);
    }
    if given.quiet {
        words.push("--quiet".into());
    }
    for (option, files) in [("--files", &given.files), ("--archives", &given.archives)] {
        for file in files {
            words.extend([option.into(), word(file).into()]);
        }
    }
    if let Some(report) = &given.report {
        words.extend(["--report".into(), report.into()]);
    }
    words
}
