//! Runs the examples, as a user runs them.

#![allow(dead_code, reason = "each test file takes what it needs")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder for one test.
pub struct Bed(tempfile::TempDir);

impl Bed {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn at(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The bytes of all part files, in the order of their names.
    pub fn parts(&self, name: &str) -> Vec<u8> {
        let mut parts: Vec<PathBuf> = std::fs::read_dir(self.path(name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        parts.retain(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("part-")
        });
        parts.sort();
        parts
            .iter()
            .flat_map(|part| std::fs::read(part).unwrap())
            .collect()
    }
}

/// Where Cargo has put the example.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    target.join("examples").join(name)
}

pub fn command(
    name: &str,
    options: &[&str],
    operands: &[&str],
    environment: &[(&str, &str)],
) -> Command {
    let mut command = Command::new(example(name));
    command
        .args(options)
        .args(operands)
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    command
}

/// Runs an example to its end: its exit code, and all that it said.
pub fn program(
    name: &str,
    options: &[&str],
    operands: &[&str],
    environment: &[(&str, &str)],
) -> (i32, String) {
    let done = command(name, options, operands, environment)
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    (
        done.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&said).into_owned(),
    )
}
