//! Makes the page of results, the charts and README's few figures of the figures in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use it::{readme, results};

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
    match write(&options.folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("results-page: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// README's figures only where `folder` is the repository's own.
fn write(folder: &Path) -> Result<()> {
    results::page::write(folder)?;
    if folder == results::folder() {
        let path = readme::repository().join("README.md");
        let readme = fs::read_to_string(&path)?;
        let table = results::headline::text(&results::page::read(folder)?)?;
        fs::write(path, results::headline::put(&readme, &table)?)?;
    }
    Ok(())
}
