//! A process of the program in one of its roles, and what is said with a task.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gerbil_task::{
    Connection, FromTask, LAUNCHER_VARIABLE, Partition, ROLE_VARIABLE, ToTask, VERSION,
};

use crate::Result;
use crate::way::{Way, Written};

/// How long a task process may be silent.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A process of the program, in one of its roles.
pub struct Task {
    pub child: Child,
    pub connection: Connection,
    /// Where files of its present attempt are made.
    attempt: PathBuf,
    way: Way,
    /// Those files.
    written: Vec<Written>,
}

impl Task {
    /// Starts the program and hears its hello; the digest of its plan comes with it.
    pub fn start(program: &Path, role: &str, attempt: PathBuf, way: Way) -> Result<(Self, String)> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new(program)
            .env(ROLE_VARIABLE, role)
            .env(LAUNCHER_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        let connection = Connection::new(ours);
        connection.set_deadline(Some(PATIENCE))?;
        let mut task = Self {
            child,
            connection,
            attempt,
            way,
            written: Vec::new(),
        };
        match task.connection.receive()? {
            FromTask::Hello { version, plan } if version == VERSION => Ok((task, plan)),
            FromTask::Hello { version, .. } => {
                let sentence = format!(
                    "the program speaks version {version} of the protocol, this launcher {VERSION}"
                );
                let refused = ToTask::Refused {
                    sentence: sentence.clone(),
                };
                // Whoever only said its plan has ended already.
                drop(task.connection.send(&refused));
                Err(sentence.into())
            }
            other => Err(format!("no hello but {other:?}").into()),
        }
    }

    /// Gives one order and serves the task to its end; what it says then, and the map's output.
    pub fn run(
        &mut self,
        order: &ToTask,
        outputs: &[(OwnedFd, Vec<Partition>)],
    ) -> Result<(FromTask, Option<OwnedFd>)> {
        self.connection.send(order)?;
        loop {
            let mut answer = ToTask::Opened;
            let opened: OwnedFd = match (self.connection.receive()?, order) {
                (FromTask::OpenInput { piece, from }, ToTask::Map(order)) => {
                    if self.way == Way::Pipes {
                        answer = ToTask::Streamed;
                    }
                    let file = File::open(&order.pieces[piece as usize].name)?;
                    self.way.input(file, from)?
                }
                (FromTask::OpenSource { source }, ToTask::Reduce(order)) => {
                    let map = order.sources[source as usize].map;
                    outputs[map as usize].0.try_clone()?
                }
                (FromTask::OpenOutput { name }, _) if !name.contains('/') => {
                    std::fs::create_dir_all(&self.attempt)?;
                    let file = File::create_new(self.attempt.join(name))?;
                    let (opened, written) = self.way.output(file)?;
                    self.written.push(written);
                    opened
                }
                (FromTask::Status { text }, _) => {
                    writeln!(std::io::stderr(), "{text}")?;
                    continue;
                }
                (FromTask::Failed { sentence, .. }, _) => return Err(sentence.into()),
                (done @ FromTask::MapDone { .. }, ToTask::Map(order)) => {
                    let output = if order.partitions > 0 {
                        Some(self.connection.descriptor()?)
                    } else {
                        None
                    };
                    return Ok((done, output));
                }
                (done @ FromTask::ReduceDone { .. }, ToTask::Reduce(_)) => return Ok((done, None)),
                (other, _) => return Err(format!("{other:?} makes no sense here").into()),
            };
            self.connection.send_with(&answer, &[opened.as_fd()])?;
        }
    }

    /// The attempt has ended well: its files get their places.
    pub fn commit(&mut self, out: &Path) -> Result<()> {
        for written in self.written.drain(..) {
            written.wait()?;
        }
        if self.attempt.exists() {
            for file in std::fs::read_dir(&self.attempt)? {
                let file = file?;
                std::fs::rename(file.path(), out.join(file.file_name()))?;
            }
            std::fs::remove_dir(&self.attempt)?;
        }
        Ok(())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // It has left by itself, or something went wrong.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
