//! Makes the page of results, and the charts, of the figures in a folder.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use it::results;

/// Makes the page of results, and the charts, of the figures in a folder.
#[derive(Debug, Parser)]
struct ResultsPageOptions {
    /// Where the figures' JSON is, and where the page goes.
    #[arg(default_value_os_t = results::folder())]
    folder: PathBuf,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    let options = ResultsPageOptions::parse();
    match results::page::write(&options.folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("results-page: {error:#}");
            ExitCode::FAILURE
        }
    }
}
