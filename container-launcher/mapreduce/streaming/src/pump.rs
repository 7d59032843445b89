//! Everything that goes to a command and comes from it, on one thread: what is written never waits for what is to be read.
//!
//! Pipes do not block. While the command takes no more, its output and its complaints are read; each buffer has a bound.
//! Bytes in either direction are signs of life. A command that gives none for as long as a task may be silent is ended
//! with a sentence, before its launcher ends the task without one.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use gerbil_mapreduce::{Context, Error, ErrorContext as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::child;
use crate::reporter::{ErrorLines, Reported, reported};

/// Bytes of a pipe, where the kernel gives so many.
const PIPE: usize = 1 << 20;
/// Bytes that are read at once.
const PIECE: usize = 256 << 10;
/// How often a command that says nothing is looked at.
const LOOK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// How long the complaints of a command that has ended are waited for.
const COMPLAINTS_OPEN: Duration = Duration::from_secs(1);

/// Takes the lines of a command, and is its task.
pub(crate) trait Listener {
    /// A line of its output, without its end.
    fn line(&mut self, line: &[u8]) -> Result<()>;
    /// The task.
    fn task(&mut self) -> &mut Context;
}

/// How a command is treated.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// What lines for the framework begin with.
    pub(crate) prefix: String,
    /// Any exit code but 0 is a failure.
    pub(crate) fails_by_code: bool,
    /// The longest line.
    pub(crate) line_max: usize,
    /// How long it may be silent.
    pub(crate) silence: Option<Duration>,
    /// How long its output may be open without a byte, when it has ended.
    pub(crate) left_open: Duration,
}

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Pump {
    command: String,
    terms: Terms,
    child: Child,
    /// Readable when it has ended.
    ended: OwnedFd,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    /// What was read of its output, from `begun` on without a whole line.
    output: Vec<u8>,
    filled: usize,
    complaints: ErrorLines,
    /// Bytes that it was given.
    given: u64,
    moved: Instant,
}

/// What became of a try to write.
enum Wrote {
    All,
    Blocked(usize),
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
        let mut child = child::start(command, folder, variables)?;
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let stdin = child.stdin.take().map(OwnedFd::from);
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
            ended,
            stdin,
            stdout,
            stderr,
            output: vec![0; PIECE],
            filled: 0,
            complaints: ErrorLines::default(),
            given: 0,
            moved: Instant::now(),
        })
    }

    /// Hands `bytes` to the command.
    ///
    /// # Errors
    /// It takes no more, is silent for too long, or what it printed cannot be taken.
    pub(crate) fn write(&mut self, mut bytes: &[u8], to: &mut impl Listener) -> Result<()> {
        while let Some(stdin) = &self.stdin {
            let wrote = match rustix::io::write(stdin, bytes) {
                Ok(count) if count == bytes.len() => Wrote::All,
                Ok(count) => Wrote::Blocked(count),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Wrote::Blocked(0),
                Err(Errno::PIPE) => return Err(self.closed_early(to)),
                Err(error) => return Err(error).context(|| self.name()),
            };
            let count = match wrote {
                Wrote::All => bytes.len(),
                Wrote::Blocked(count) => count,
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
        }
        Ok(())
    }

    /// Ends the command's input, and waits until it has said all and ended.
    ///
    /// # Errors
    /// It fails, or does not end.
    pub(crate) fn finish(&mut self, to: &mut impl Listener) -> Result<()> {
        self.stdin = None;
        let mut status = None;
        while self.stdout.is_some() || self.stderr.is_some() || status.is_none() {
            self.wait(false, to)?;
            let is_first = status.is_none();
            if is_first {
                status = self.child.try_wait().context(|| self.name())?;
            }
            let Some(status) = status else {
                continue;
            };
            if is_first {
                self.moved = Instant::now();
            }
            let idle = self.moved.elapsed();
            if self.stdout.is_none() && idle > COMPLAINTS_OPEN {
                self.stderr = None;
            }
            if idle > self.terms.left_open {
                let how = how(status);
                return Err(self.failure(&format!(
                    "{how}, and a process that it has started holds its output open: let it wait for what it starts, or \
                     give that another output (>/dev/null)"
                )));
            }
        }
        self.lines(true, to)?;
        match status {
            Some(status) if status.success() || !self.is_failure(status) => Ok(()),
            Some(status) => Err(self.failure(&how(status))),
            None => Ok(()),
        }
    }

    fn is_failure(&self, status: ExitStatus) -> bool {
        self.terms.fails_by_code || status.signal().is_some()
    }

    /// Waits until something can be done, and reads what there is.
    fn wait(&mut self, writes: bool, to: &mut impl Listener) -> Result<()> {
        let ready = {
            let last = match writes {
                true => (self.stdin.as_ref(), PollFlags::OUT, Stream::Input),
                false => (Some(&self.ended), PollFlags::IN, Stream::End),
            };
            let wanted = [
                (self.stdout.as_ref(), PollFlags::IN, Stream::Output),
                (self.stderr.as_ref(), PollFlags::IN, Stream::Complaints),
                last,
            ];
            let wanted = wanted.into_iter().filter_map(|(fd, flags, of)| {
                Some((PollFd::from_borrowed_fd(fd?.as_fd(), flags), of))
            });
            let (mut all, of): (Vec<_>, Vec<_>) = wanted.unzip();
            // A process that has ended stays so: without its output there is nothing to wait for.
            match poll(&mut all, Some(&LOOK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error).context(|| self.name()),
            }
            let ready = all.iter().zip(of);
            let ready = ready.filter(|(fd, _)| !fd.revents().is_empty());
            ready.map(|(_, which)| which).collect::<Vec<_>>()
        };
        for stream in &ready {
            match stream {
                Stream::Output => self.read_output(to)?,
                Stream::Complaints => self.read_complaints(to)?,
                Stream::Input | Stream::End => {}
            }
        }
        if ready == [Stream::End] && self.child.try_wait().is_ok_and(|status| status.is_some()) {
            // The pipes have nothing, and it is known that it has ended: look at them now and then.
            let mut rest: Vec<_> = [&self.stdout, &self.stderr]
                .into_iter()
                .flatten()
                .map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN))
                .collect();
            if rest.is_empty() {
                return Ok(());
            }
            let _looked = poll(&mut rest, Some(&LOOK)).is_ok();
        }
        if ready.is_empty()
            && let Some(silence) = self.terms.silence
            && self.moved.elapsed() > silence
        {
            let seconds = silence.as_secs();
            return Err(self.failure(&format!(
                "has read nothing, printed nothing and reported nothing for {seconds} s: it hangs, or needs a \
                 reporter:status: line now and then, or a longer mapreduce.task.timeout"
            )));
        }
        Ok(())
    }

    fn is_alive(&mut self, to: &mut impl Listener) {
        self.moved = Instant::now();
        to.task().progress();
    }

    fn read_output(&mut self, to: &mut impl Listener) -> Result<()> {
        let Some(stdout) = &self.stdout else {
            return Ok(());
        };
        if self.output.len() - self.filled < PIECE / 2 {
            self.output.resize(self.output.len() * 2, 0);
        }
        let room = self.output.get_mut(self.filled..).unwrap_or_default();
        match rustix::io::read(stdout, room) {
            Ok(0) => self.stdout = None,
            Ok(count) => {
                self.filled += count;
                self.is_alive(to);
                self.lines(false, to)?;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error).context(|| self.name()),
        }
        Ok(())
    }

    /// Hands over the lines that are whole; at the end the rest, too. They end with LF, CR LF or CR.
    fn lines(&mut self, at_end: bool, to: &mut impl Listener) -> Result<()> {
        let held = self.output.get(..self.filled).unwrap_or_default();
        let whole = match at_end {
            true => held.len(),
            false => memchr::memrchr(b'\n', held).map_or(0, |at| at + 1),
        };
        if held.len() - whole > self.terms.line_max {
            let most = self.terms.line_max;
            return Err(self.failure(&format!("has printed a line of more than {most} bytes")));
        }
        let mut rest = held.get(..whole).unwrap_or_default();
        let has_returns = memchr::memchr(b'\r', rest).is_some();
        while !rest.is_empty() {
            let end = match has_returns {
                false => memchr::memchr(b'\n', rest),
                true => memchr::memchr2(b'\n', b'\r', rest),
            };
            let end = end.unwrap_or(rest.len());
            let (line, behind) = rest.split_at(end);
            to.line(line)?;
            let ends_twice = behind.starts_with(b"\r\n");
            rest = behind
                .get(1 + usize::from(ends_twice)..)
                .unwrap_or_default();
        }
        self.output.copy_within(whole..self.filled, 0);
        self.filled -= whole;
        Ok(())
    }

    fn read_complaints(&mut self, to: &mut impl Listener) -> Result<()> {
        let Some(stderr) = &self.stderr else {
            return Ok(());
        };
        let mut bytes = [0; 8 << 10];
        match rustix::io::read(stderr, &mut bytes) {
            Ok(0) => {
                self.stderr = None;
                self.complain(&[], true, to)
            }
            Ok(count) => {
                self.is_alive(to);
                self.complain(bytes.get(..count).unwrap_or_default(), false, to)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error).context(|| self.name()),
        }
    }

    fn complain(&mut self, bytes: &[u8], at_end: bool, to: &mut impl Listener) -> Result<()> {
        let prefix = self.terms.prefix.clone();
        let mut kept = Vec::new();
        let mut each = |line: &[u8]| -> Result<()> {
            let line = String::from_utf8_lossy(line);
            match reported(&prefix, &line) {
                Reported::Counter(group, name, by) => to.task().count(group, name, by),
                Reported::Status(status) => to.task().status(status)?,
                Reported::Broken(why) => say(&format!("{line} ({why})")),
                Reported::Text => {
                    say(&line);
                    kept.push(line.into_owned());
                }
            }
            Ok(())
        };
        let done = match at_end {
            true => self.complaints.end(&mut each),
            false => self.complaints.take(bytes, &mut each),
        };
        kept.iter().for_each(|line| self.complaints.keep(line));
        done
    }

    /// The command has closed its input before it was at its end: why, as far as it says so soon.
    fn closed_early(&mut self, to: &mut impl Listener) -> Error {
        self.stdin = None;
        let by = Instant::now() + COMPLAINTS_OPEN;
        let mut status = None;
        while status.is_none() && Instant::now() < by {
            if let Err(error) = self.wait(false, to) {
                return error;
            }
            status = self.child.try_wait().ok().flatten();
        }
        // What it has said before it ended is in the pipe.
        while self.stderr.is_some() && Instant::now() < by {
            if let Err(error) = self.read_complaints(to) {
                return error;
            }
        }
        let given = self.given;
        match status {
            Some(status) if !status.success() => {
                self.failure(&format!("{}, when it had been given {given} bytes", how(status)))
            }
            _ => self.failure(&format!(
                "has closed its input when it had been given {given} bytes, and there is more: let it read to the end \
                 (cat >/dev/null)"
            )),
        }
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

/// Of a command, or that there is no more of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Input,
    Output,
    Complaints,
    End,
}

/// How a process has ended.
fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "has ended".to_owned(),
    }
}

/// A line into the task's log.
fn say(line: &str) {
    use std::io::Write as _;
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}
