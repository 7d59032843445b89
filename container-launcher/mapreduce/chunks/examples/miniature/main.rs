//! SPMario's Figures 2, 3 and 4 and its Table II in miniature: true processes, threads and files, and a disk and a GPU
//! that take the time of a model, beside what the simulator says of the same.
//!
//! ```text
//! cargo run -p gerbil-chunks --example miniature -- figures    each job alone: 1, 2, 4 processes; 1, 2, 3 tasks
//! cargo run -p gerbil-chunks --example miniature -- table2     two jobs: rr of 16 chunks, and spmario
//! cargo run -p gerbil-chunks --example miniature -- token      how long a token takes from one engine to another
//! cargo run -p gerbil-chunks --example miniature -- failures   an engine that has the token is killed, and a broker
//! ```
//!
//! Each engine is a process, whose tasks are threads. They ask a broker for tokens over its socket and read a file in chunks
//! of 8 MiB, at 200 MB/s in all.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example for people, whose processes talk over their output"
)]

mod engine;
mod failures;
mod figures;
mod play;
mod table2;

use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("miniature: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["figures"] => figures::print(),
        ["table2"] => table2::print(),
        ["token"] => failures::token(),
        ["failures"] => failures::print(),
        ["engine", rest @ ..] => engine::run(rest),
        ["holder", folder] => failures::hold(folder.as_ref()),
        ["broker", folder, order] => failures::broker(folder.as_ref(), order),
        _ => bail!("one of figures, table2, token, failures is wanted"),
    }
}
