//! What a process of this binary takes from where it was started: its folder, its environment, its file.
//!
//! They are read once, in the beginning, and handed on from there: nothing else in this crate asks for the
//! folder or the variables of its own process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::Command;

use job::Role;

/// Where a launcher is.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The container's working directory, absolute.
    pub folder: PathBuf,
    /// The environment that the container was given.
    pub environment: BTreeMap<OsString, OsString>,
    /// The file that has the launcher's other roles, as [`job::Role`] names them.
    pub executable: PathBuf,
}

impl Surroundings {
    /// Those of this process, as YARN has made them.
    ///
    /// # Errors
    ///
    /// The working directory has gone, or the system does not tell this process's file.
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self {
            folder: std::env::current_dir()?,
            environment: std::env::vars_os().collect(),
            executable: std::env::current_exe()?,
        })
    }

    /// The executable in another role, started from here.
    pub(crate) fn command(&self, role: Role) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .arg(role.argument())
            .current_dir(&self.folder)
            .env_clear()
            .envs(&self.environment);
        command
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// The same, where it is text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.variable(name)?.to_str()
    }
}
