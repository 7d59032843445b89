//! What a command line is compared with on this machine.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What is looked for where the job is submitted.
pub trait Here {
    /// Whether there is a file of that name.
    fn is_file(&self, name: &str) -> bool;
    /// Whether there is something of that name.
    fn is_there(&self, name: &str) -> bool;
    /// Whether `program` is found by PATH.
    fn is_in_path(&self, program: &str) -> bool;
}

/// The machine itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Here for ThisMachine {
    fn is_file(&self, name: &str) -> bool {
        Path::new(name).is_file()
    }

    fn is_there(&self, name: &str) -> bool {
        Path::new(name).exists()
    }

    fn is_in_path(&self, program: &str) -> bool {
        let path = std::env::var("PATH").unwrap_or_default();
        !program.contains('/') && in_path(program, &path).is_some()
    }
}

/// The file that may be run of that name, in the folders of `path` that begin with a slash.
pub(crate) fn in_path(program: &str, path: &str) -> Option<PathBuf> {
    let mut all = path.split(':').filter(|folder| folder.starts_with('/'));
    all.find_map(|folder| {
        let file = Path::new(folder).join(program);
        let status = file.metadata().ok()?;
        (status.is_file() && status.permissions().mode() & 0o111 != 0).then_some(file)
    })
}
