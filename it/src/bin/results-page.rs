//! Makes the page of results of the figures in a folder.

use std::path::PathBuf;
use std::process::ExitCode;

use it::results;

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(results::folder);
    match results::page::write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("results-page: {error:#}");
            ExitCode::FAILURE
        }
    }
}
