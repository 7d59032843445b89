//! What README tells users to type.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::cargo;

/// Where README lies.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A shell as a user has it.
#[must_use]
pub fn shell() -> Command {
    let mut shell = Command::new("bash");
    cargo::forget(&mut shell);
    shell
}

/// The lines of README's `sh` blocks, one entry a block.
///
/// # Errors
///
/// It cannot be read, or a block has no end.
pub fn blocks() -> Result<Vec<String>> {
    let text = fs::read_to_string(repository().join("README.md")).context("reading README")?;
    let after_fences = text.split("```sh\n").skip(1);
    after_fences
        .map(|rest| {
            let (block, _) = rest.split_once("```").context("a block without an end")?;
            Ok(block.to_owned())
        })
        .collect()
}
