//! Small C programs of tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds one in a folder; its file.
pub(crate) fn built(folder: &Path, text: &str) -> PathBuf {
    let (source, file) = (folder.join("program.c"), folder.join("program"));
    fs::write(&source, text).unwrap();
    let built = Command::new("cc")
        .args(["-w", "-pthread", "-o"])
        .args([&file, &source])
        .status();
    let built = built.expect("a C compiler: it/setup installs one");
    assert!(built.success(), "{text}");
    file
}
