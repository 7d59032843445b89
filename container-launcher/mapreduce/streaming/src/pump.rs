//! Everything that goes to a command and comes from it, on one thread: what is written never waits for what is to be read.
//!
//! Pipes do not block. While the command takes no more, its output and its complaints are read; each buffer has a bound.
//! Bytes in either direction are signs of life. A command that gives none for as long as a task may be silent is ended
//! with a sentence, before its launcher ends the task without one.

mod ended;
mod printed;
mod waiting;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use gerbil_mapreduce::{Context, Error, ErrorContext as _, Result};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, ioctl_fionread};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::child;
use crate::form::Form;
use crate::reporter::ErrorLines;
use crate::settings::UNREAD;
use ended::{Ended, how};
use printed::Printed;

/// Bytes of a pipe, where the kernel gives so many.
const PIPE: usize = 1 << 20;
/// Bytes that are read at once.
const PIECE: usize = 256 << 10;
/// How long the complaints of a command that has ended are waited for.
const COMPLAINTS_OPEN: Duration = Duration::from_secs(1);

/// Bytes of its input that a command may leave unread: as many as Hadoop keeps back, and does not miss when they are lost.
const UNREAD_MAX: u64 = 128 << 10;

/// Takes the records of a command, and is its task.
pub(crate) trait Listener {
    /// A line of its output, without its end.
    fn line(&mut self, line: &[u8]) -> Result<()>;
    /// A key of its output with a value.
    fn pair(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
    /// The task.
    fn task(&mut self) -> &mut Context;
    /// Whether what is reported and complained of is nothing to the task.
    fn is_deaf(&self) -> bool {
        false
    }
}

/// How a command is treated.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// What lines for the framework begin with.
    pub(crate) prefix: String,
    /// Any exit code but 0 is a failure.
    pub(crate) fails_by_code: bool,
    /// How it prints records.
    pub(crate) form: Form,
    /// The longest line, or record.
    pub(crate) record_max: usize,
    /// How long it may be silent.
    pub(crate) silence: Option<Duration>,
    /// How long others may hold its output open, when it has ended.
    pub(crate) left_open: Duration,
    /// How many records allow it to leave any of its input unread; none: no number does.
    pub(crate) unread_after: Option<u64>,
}

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Pump {
    command: String,
    terms: Terms,
    child: Child,
    /// Readable when it has ended.
    pidfd: OwnedFd,
    ended: Option<Ended>,
    stdin: Option<OwnedFd>,
    /// The other end of its input, held while it runs: what it leaves is in the pipe, and writing never fails by a race.
    far_end: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    printed: Printed,
    complaints: ErrorLines,
    /// Bytes that it was given, and bytes that nobody has read.
    given: u64,
    unread: u64,
    moved: Instant,
}

impl Pump {
    /// Starts `command`.
    ///
    /// # Errors
    /// It is not there, or cannot be started.
    pub(crate) fn start(
        command: &str,
        terms: Terms,
        folder: &Path,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let (far_end, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let input = far_end.try_clone()?;
        let mut child = child::start(command, input.into(), folder, variables)?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let stdin = Some(stdin);
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        for pipe in [&stdin, &stdout, &stderr].into_iter().flatten() {
            let flags = fcntl_getfl(pipe)?;
            fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?;
        }
        for pipe in [&stdin, &stdout].into_iter().flatten() {
            // Smaller ones do, too.
            let _size = fcntl_setpipe_size(pipe, PIPE).is_ok();
        }
        Ok(Self {
            command: command.to_owned(),
            terms,
            child,
            pidfd,
            ended: None,
            stdin,
            far_end: Some(far_end),
            stdout,
            stderr,
            printed: Printed::default(),
            complaints: ErrorLines::default(),
            given: 0,
            unread: 0,
            moved: Instant::now(),
        })
    }

    /// Hands `bytes` to the command. What it leaves unread when it ends is taken all the same, up to a bound.
    ///
    /// # Errors
    /// It fails, leaves too much, is silent for too long, or what it printed cannot be taken.
    pub(crate) fn write(&mut self, mut bytes: &[u8], to: &mut impl Listener) -> Result<()> {
        while let Some(stdin) = &self.stdin {
            let count = match rustix::io::write(stdin, bytes) {
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => 0,
                Err(Errno::PIPE) => {
                    self.unread = ioctl_fionread(stdin)?;
                    self.stdin = None;
                    break;
                }
                Err(error) => return Err(error).context(|| self.name()),
            };
            self.given += count as u64;
            if count > 0 {
                self.is_alive(to);
            }
            bytes = bytes.get(count..).unwrap_or_default();
            if bytes.is_empty() {
                return Ok(());
            }
            self.wait(true, to)?;
            if self.ended.is_some() {
                // Where nobody else reads, the kernel says so now.
                self.far_end = None;
            }
        }
        self.unread += bytes.len() as u64;
        self.check_unread(to)
    }

    /// Ends the command's input, and waits until it has said all and ended.
    ///
    /// # Errors
    /// It fails, or does not end.
    pub(crate) fn finish(&mut self, to: &mut impl Listener) -> Result<()> {
        self.stdin = None;
        while self.stdout.is_some() || self.stderr.is_some() || self.ended.is_none() {
            self.wait(false, to)?;
            let Some(ended) = &mut self.ended else {
                continue;
            };
            if self.stdout.is_none() {
                let said_all = ended.said_all.get_or_insert_with(Instant::now);
                if said_all.elapsed() > COMPLAINTS_OPEN {
                    self.stderr = None;
                }
            } else if ended.is_held() && ended.at.elapsed() > self.terms.left_open {
                let how = how(ended.status);
                return Err(self.failure(&format!(
                    "{how}, and a process that it has started holds its output open: let it wait for what it starts, or \
                     give that another output (>/dev/null)"
                )));
            }
        }
        self.hand_over(true, to)?;
        match self.ended {
            Some(ended) if self.is_failure(ended.status) => {
                return Err(self.failure(&how(ended.status)));
            }
            Some(_) | None => {}
        }
        if let Some(far_end) = self.far_end.take() {
            self.unread = ioctl_fionread(far_end)?;
        }
        let is_allowed = (self.terms.unread_after).is_some_and(|lines| self.printed.count >= lines);
        match self.unread > UNREAD_MAX && !is_allowed {
            true => Err(self.leaves_input()),
            false => Ok(()),
        }
    }

    /// Of a command that takes no more: why that is a failure, if it is one before its output is known.
    fn check_unread(&mut self, to: &mut impl Listener) -> Result<()> {
        let by = Instant::now() + COMPLAINTS_OPEN;
        while self.ended.is_none() {
            self.wait(false, to)?;
        }
        let status = self.ended.map(|ended| ended.status);
        let failed = status.filter(|status| self.is_failure(*status));
        let is_too_much = self.unread > UNREAD_MAX && self.terms.unread_after.is_none();
        if failed.is_none() && !is_too_much {
            return Ok(());
        }
        // What it has said before it ended is in the pipe.
        while self.stderr.is_some() && Instant::now() < by {
            self.wait(false, to)?;
        }
        Err(match failed {
            Some(status) => {
                let given = self.given;
                self.failure(&format!(
                    "{}, when it had been given {given} bytes",
                    how(status)
                ))
            }
            None => self.leaves_input(),
        })
    }

    fn leaves_input(&self) -> Error {
        self.failure(&format!(
            "has ended, and left more than {UNREAD_MAX} bytes of its input unread: let it read to the end (cat >/dev/null), \
             or allow that with -D {UNREAD}=0"
        ))
    }

    /// Whether it has ended as commands do that have failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.ended
            .is_some_and(|ended| self.is_failure(ended.status))
    }

    fn is_failure(&self, status: ExitStatus) -> bool {
        !status.success() && (self.terms.fails_by_code || status.signal().is_some())
    }

    fn name(&self) -> String {
        format!("`{}`", self.command)
    }

    fn failure(&self, what: &str) -> Error {
        let last = self.complaints.last();
        let said = match last.is_empty() {
            true => String::new(),
            false => format!("; the last that it said: {last}"),
        };
        Error::new(format!("`{}` {what}{said}", self.command))
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        // It has ended where all is well.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}
