//! From the words of the command line to the exit code, under either name of the file.

use std::path::Path;
use std::process::ExitCode;

use crate::subcommands::{self, CommandWords};
use crate::{accelerators, clean, generate, hadoop, mapreduce, probe, ps, run, sessions};

/// The first name of the file.
const RUN: &str = "gerbil-run";

/// The whole command.
pub(crate) fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let own_name = words.next().unwrap_or_default();
    match Path::new(&own_name).file_name() {
        Some(name) if name == subcommands::NAME => {}
        Some(name) if name == hadoop::NAME => return hadoop::main(words.collect()),
        Some(_) | None => return run::main(std::env::args_os()),
    }
    match subcommands::translated(words.collect()) {
        Ok(CommandWords::Run(words)) => run::main(std::iter::once(RUN.into()).chain(words)),
        Ok(CommandWords::MapReduce(given)) => mapreduce::main(*given),
        Ok(CommandWords::Past(given)) => mapreduce::past(given),
        Ok(CommandWords::Ps { json }) => ps::main(json),
        Ok(CommandWords::Probe(given)) => probe::main(&given),
        Ok(CommandWords::Clean(given)) => clean::main(given),
        Ok(CommandWords::Man(words)) => generate::print_page(&words),
        Ok(CommandWords::Session(task)) => sessions::main(task),
        Ok(CommandWords::Hadoop(words)) => hadoop::main(words),
        Ok(CommandWords::Accelerators(words)) => accelerators::main(words),
        Err(error) => error.show(),
    }
}
