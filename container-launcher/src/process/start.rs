//! What a process is started with, put together piece by piece.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use nix::sched::CpuSet;

use super::Id;
use super::streams::ProcessStreams;

/// What all processes of one program have in common.
#[derive(Debug, Default)]
pub(crate) struct ProgramCommand {
    /// The program's path; a relative one begins in `folder`.
    pub(crate) program: PathBuf,
    /// Where it starts.
    pub(crate) folder: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// Names of the variables among these that the user has set.
    pub(crate) given: BTreeSet<String>,
}

/// One process that is to be started.
#[derive(Debug)]
pub(crate) struct ProcessStart {
    pub(super) id: Id,
    pub(super) command: Arc<ProgramCommand>,
    /// What is this process's alone, on top of the command's environment; of two values the later holds.
    variables: Vec<(String, OsString)>,
    /// The processors that it may run on; none: all of the container's.
    pub(super) processors: Option<CpuSet>,
    pub(super) streams: ProcessStreams,
    /// Become its descriptors from [`super::exec::INHERITED_FD`] on, in this order.
    pub(super) inherited: Vec<OwnedFd>,
}

impl ProcessStart {
    pub(crate) fn new(id: Id, command: &Arc<ProgramCommand>, streams: ProcessStreams) -> Self {
        Self {
            id,
            command: Arc::clone(command),
            variables: Vec::new(),
            processors: None,
            streams,
            inherited: Vec::new(),
        }
    }

    pub(crate) const fn id(&self) -> Id {
        self.id
    }

    /// Sets variables, whatever the user has set.
    pub(crate) fn set<N: Into<String>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        self.variables.extend(variables);
        self
    }

    /// Sets variables that the user has not set.
    pub(crate) fn suggest<N: Into<String>, V: Into<OsString>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let command = Arc::clone(&self.command);
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value));
        self.set(variables.filter(|(name, _)| !command.given.contains(name)))
    }

    /// Binds it to these processors.
    pub(crate) const fn bind(mut self, processors: Option<CpuSet>) -> Self {
        self.processors = processors;
        self
    }

    /// Hands it a descriptor, which has the first number that none has yet.
    pub(crate) fn inherit(mut self, descriptor: impl Into<OwnedFd>) -> Self {
        self.inherited.push(descriptor.into());
        self
    }

    /// What it finds in its environment.
    pub(super) fn environment(&self) -> BTreeMap<&OsStr, Cow<'_, OsStr>> {
        let common = self.command.environment.iter();
        let common = common.map(|(name, value)| (name.as_os_str(), Cow::from(value)));
        let own = self.variables.iter();
        let own = own.map(|(name, value)| (OsStr::new(name), Cow::from(value)));
        common.chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_set_stays_unless_it_must_not() {
        let variables = [("A", "user"), ("B", "common"), ("PMI_RANK", "user")];
        let command = ProgramCommand {
            environment: variables
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            given: ["A".to_owned(), "PMI_RANK".to_owned()].into(),
            ..ProgramCommand::default()
        };
        let id = Id {
            job: job::JobId::OF_APPLICATION,
            number: 7,
        };
        let (stdout, stderr) = (std::io::pipe().unwrap().1, std::io::pipe().unwrap().1);
        let streams = ProcessStreams::Plain {
            stdin: None,
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        let start = ProcessStart::new(id, &Arc::new(command), streams)
            .suggest([("A", "own"), ("B", "own"), ("C", "own")])
            .set([("PMI_RANK", "3")]);
        let environment = start.environment();
        let value = |name: &str| {
            environment
                .get(OsStr::new(name))
                .map(|v| v.to_string_lossy())
        };
        let of = |name: &str| value(name).unwrap_or_default().into_owned();
        let all = ["A", "B", "C", "PMI_RANK"].map(of);
        assert_eq!(all, ["user", "own", "own", "3"]);
    }
}
