//! Waiting for whatever a command does next, and reading it.

use std::os::fd::AsFd;
use std::time::Instant;

use gerbil_mapreduce::{ErrorContext as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::ended::Ended;
use super::{Listener, Pump};
use crate::reporter::{Reported, reported};

/// How often a command that says nothing is looked at.
const LOOK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

impl Pump {
    /// Waits until something can be done, and reads what there is.
    pub(super) fn wait(&mut self, writes: bool, to: &mut impl Listener) -> Result<()> {
        let ready = {
            let stdin = self.stdin.as_ref().filter(|_| writes);
            let pidfd = Some(&self.pidfd).filter(|_| self.ended.is_none());
            let wanted = [
                (self.stdout.as_ref(), PollFlags::IN, Stream::Output),
                (self.stderr.as_ref(), PollFlags::IN, Stream::Complaints),
                (stdin, PollFlags::OUT, Stream::Input),
                (pidfd, PollFlags::IN, Stream::End),
            ];
            let wanted = wanted.into_iter().filter_map(|(fd, flags, of)| {
                Some((PollFd::from_borrowed_fd(fd?.as_fd(), flags), of))
            });
            let (mut all, of): (Vec<_>, Vec<_>) = wanted.unzip();
            match poll(&mut all, Some(&LOOK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error).context(|| self.name()),
            }
            let ready = all.iter().zip(of);
            let ready = ready.filter(|(fd, _)| !fd.revents().is_empty());
            ready.map(|(_, which)| which).collect::<Vec<_>>()
        };
        if let Some(ended) = &mut self.ended {
            ended.is_drained |= !ready.contains(&Stream::Output);
        }
        for stream in &ready {
            match stream {
                Stream::Output => self.read_output(to)?,
                Stream::Complaints => self.read_complaints(to)?,
                Stream::Input => {}
                Stream::End => {
                    let status = self.child.try_wait().context(|| self.name())?;
                    self.ended = status.map(|status| Ended {
                        status,
                        at: Instant::now(),
                        late: 0,
                        is_drained: false,
                        said_all: None,
                    });
                }
            }
        }
        if ready.is_empty()
            && (writes || self.ended.is_none())
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

    pub(super) fn is_alive(&mut self, to: &mut impl Listener) {
        self.moved = Instant::now();
        to.task().progress();
    }

    fn read_output(&mut self, to: &mut impl Listener) -> Result<()> {
        let Some(stdout) = &self.stdout else {
            return Ok(());
        };
        let room = self.printed.room();
        match rustix::io::read(stdout, room) {
            Ok(0) => self.stdout = None,
            Ok(count) => {
                self.printed.came(count);
                if let Some(ended) = &mut self.ended {
                    ended.late = ended.late.saturating_add(count);
                }
                self.is_alive(to);
                self.hand_over(false, to)?;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error).context(|| self.name()),
        }
        Ok(())
    }

    /// Hands over what the command has printed.
    pub(super) fn hand_over(&mut self, at_end: bool, to: &mut impl Listener) -> Result<()> {
        match self.printed.hand_over(at_end, &self.terms, to)? {
            Some(broken) => Err(self.failure(&broken)),
            None => Ok(()),
        }
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
                _ if to.is_deaf() => {}
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
}

/// Of a command, or that there is no more of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Input,
    Output,
    Complaints,
    End,
}

/// A line into the task's log.
fn say(line: &str) {
    use std::io::Write as _;
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}
