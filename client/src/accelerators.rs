//! `gerbil fpga` and `gerbil fpgad`: the command of the accelerators' driver, a file of its own.
//!
//! That file carries simulated cards in C++, which whoever runs MPI programs does not need on every node.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use job::exit::Exit;
use terminal::say;

/// The file's name.
const DRIVER: &str = "fpgad";

/// Becomes the driver's command with these words; comes back only where it cannot be started.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = beside(&own);
    let error = Command::new(beside.as_deref().unwrap_or(Path::new(DRIVER)))
        .args(words)
        .exec();
    say(sentence(&error, beside.as_deref(), &own));
    ExitCode::from(Exit::Unavailable.code())
}

/// The driver in the folder of this file, if it is there; otherwise one is looked for in PATH.
fn beside(own: &Path) -> Option<PathBuf> {
    let there = own.with_file_name(DRIVER);
    there.is_file().then_some(there)
}

fn sentence(error: &io::Error, beside: Option<&Path>, own: &Path) -> String {
    match beside {
        Some(driver) => format!("cannot start {}: {error}", driver.display()),
        None => format!(
            "cannot start {DRIVER}: {error}; it is looked for beside {} and in PATH (cargo build --release -p \
             fpga-driver makes it)",
            own.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_beside_this_file_is_taken_before_any_in_path() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("gerbil-run");
        assert_eq!(beside(&own), None);
        let error = io::Error::from(io::ErrorKind::NotFound);
        let said = sentence(&error, None, &own);
        assert!(said.contains(own.to_str().unwrap()), "{said}");
        let driver = folder.path().join("fpgad");
        std::fs::write(&driver, "").unwrap();
        assert_eq!(beside(&own), Some(driver));
    }
}
