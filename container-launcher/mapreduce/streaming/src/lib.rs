//! Hadoop Streaming's options and contract, as a program of maps and reduces: mapper and reducer are commands.
//!
//! # The life of a job
//!
//! [`mod@asked`] understands the command line: a plan for tasks (`plan`), words for the engine, files to bring along. The driver
//! submits the only job with the plan as its params. Each task starts its command (`child`) in a folder of its own
//! (`folder`), with settings and what the task is as variables (`environment`), and pumps (`pump`): blocks of lines go to
//! the command as they stand in the file (`input`), the lines that it prints are cut into key and value (`cut`) and
//! emitted, what it complains of is read for counters and statuses (`reporter`), and kept for the sentence if it fails.
//!
//! Invariants:
//! - Everything goes through the engine's own traits and the task protocol.
//! - Nothing is allocated for each line, and each buffer has a bound.
//! - A command that does not end, or leaves something behind, ends with a sentence.

mod aggregate;
mod archive;
mod asked;
mod child;
mod cut;
mod emitting;
mod environment;
mod folder;
mod form;
mod help;
mod here;
mod input;
mod key_fields;
mod mapper;
mod options;
mod order;
mod output;
mod partition;
mod plan;
mod pump;
mod reducer;
mod reporter;
mod settings;
mod shown;
mod stage;
mod suspects;
#[cfg(test)]
mod tests;
mod typed;
mod words;
mod writable;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use gerbil_mapreduce::{App, Job, Ready, Text};
use gerbil_task::ROLE_VARIABLE;
use gerbil_task::settings::COMBINE;

pub use asked::{Asked, asked};
pub use child::exit_code;
pub use here::{Here, ThisMachine};
pub use plan::Brought;

use mapper::CommandMapper;
use output::PartOutput;
use partition::KeyPartitioner;
use plan::StreamPlan;
use reducer::CommandReducer;

/// What lists call the program, and its job.
const NAME: &str = "streaming";
/// Where the driver of a run on this machine finds the job's folder.
const FOLDER_VARIABLE: &str = "GERBIL_STREAMING_FOLDER";
/// Exit code of a command line that makes no job.
const USAGE: u8 = 64;
/// Exit code where this machine does not do what is needed.
const SYSTEM: u8 = 71;

/// What the process does whose first argument, which chose this program out of its executable, is `argument`.
#[must_use]
pub fn main(argument: &'static str) -> ExitCode {
    let role = std::env::var(ROLE_VARIABLE).ok();
    if role.as_deref().is_some_and(|role| role != "drive") {
        return app(argument).main();
    }
    let words: Vec<OsString> = std::env::args_os().skip(2).collect();
    let asked = match asked(&words, &ThisMachine) {
        Ok(asked) => asked,
        Err(sentence) => {
            say(&sentence);
            return ExitCode::from(USAGE);
        }
    };
    if asked.help {
        drop(std::io::stdout().write_all(help::help().as_bytes()));
        return ExitCode::SUCCESS;
    }
    let words = engine_words(&asked);
    match (role.is_some(), asked.is_local) {
        (true, is_local) => {
            if !words.iter().any(|word| word == "--quiet") {
                asked.notes.iter().for_each(|note| say(note));
            }
            drive(argument, asked, is_local).main_with(words)
        }
        // The files are this process's as long as the job runs.
        (false, true) => match folder::JobFolder::new(&asked.files, &asked.archives) {
            Ok(folder) => app(argument)
                .variable(FOLDER_VARIABLE, folder.path())
                .main_with(words),
            Err(error) => {
                say(&error.to_string());
                ExitCode::from(SYSTEM)
            }
        },
        (false, false) => app(argument).main_with(words),
    }
}

/// The job: the same in each process.
fn job() -> Ready<Text, Text> {
    Job::new(NAME)
        // A file is a split at least, as commands that look at its name count on.
        .set("gerbil.split.pack", "1")
        // Only where one was asked for.
        .set(COMBINE, "false")
        // Nothing is known of commands, and nothing is looked for in this executable.
        .needs("map", "cpu")
        .needs("combine", "cpu")
        .needs("reduce", "cpu")
        .map(CommandMapper::default)
        .partition(KeyPartitioner::default)
        .combine_groups(CommandReducer::combiner)
        .reduce(CommandReducer::new)
        .output::<PartOutput>()
        .output_of_maps::<Text, Text, PartOutput>()
}

/// The program.
fn app(argument: &'static str) -> App {
    App::new(NAME)
        .chosen_by(argument)
        .exit_code(exit_code)
        .job(job())
}

/// The same, with what its tasks are told.
fn drive(argument: &'static str, asked: Asked, is_local: bool) -> App {
    app(argument).prepare(move |submit| {
        let folder = std::env::var(FOLDER_VARIABLE).ok().filter(|_| is_local);
        let plan = StreamPlan {
            folder,
            ..asked.plan.clone()
        };
        submit
            .set_default("mapreduce.job.reduces", "1")
            .params(&plan)
    })
}

/// What the engine's own command line would be.
fn engine_words(asked: &Asked) -> Vec<OsString> {
    let operands = asked.inputs.iter().chain([&asked.output]);
    let options = asked.options.iter().map(OsString::from);
    let operands = operands.map(OsString::from);
    options.chain(["--".into()]).chain(operands).collect()
}

/// A line for the user.
fn say(line: &str) {
    drop(writeln!(
        std::io::stderr().lock(),
        "gerbil mr streaming: {line}"
    ));
}
