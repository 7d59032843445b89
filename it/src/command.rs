//! One command with a deadline, its output caught.

use std::fs::File;
use std::io::{Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;

use crate::process::{self, ChildStreams};
use crate::wait;

/// Bytes of each stream that are kept for the caller; the rest is counted and thrown away.
const KEPT: usize = 16 << 20;

/// After the command's end its pipes must close: a process that still holds them has escaped.
const PIPES_CLOSE: Duration = Duration::from_secs(5);

/// A command to be run.
#[derive(Debug)]
pub struct Run {
    command: Command,
    deadline: Duration,
    stdin: Option<Vec<u8>>,
    stdout: Option<File>,
}

impl Run {
    /// Runs `command` (program, arguments, environment changes, folder) with empty stdin, output
    /// caught, and a minute's time.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self {
            command,
            deadline: Duration::from_secs(60),
            stdin: None,
            stdout: None,
        }
    }

    /// The command is killed when it takes longer than this.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// What the command reads.
    #[must_use]
    pub fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = Some(bytes);
        self
    }

    /// Sends stdout to a file instead of catching it.
    #[must_use]
    pub fn stdout_to(mut self, file: File) -> Self {
        self.stdout = Some(file);
        self
    }

    /// Sets one variable of the command's environment.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self
    }

    /// Starts the command.
    ///
    /// # Errors
    ///
    /// It is not there or cannot be started.
    pub fn start(self) -> Result<Running> {
        let label = format!("{:?}", self.command);
        let mut child = process::spawn(
            &self.command,
            ChildStreams {
                stdin: if self.stdin.is_some() {
                    Stdio::piped()
                } else {
                    Stdio::null()
                },
                stdout: self.stdout.map_or_else(Stdio::piped, Stdio::from),
                stderr: Stdio::piped(),
            },
        )?;
        if let (Some(bytes), Some(mut pipe)) = (self.stdin, child.stdin.take()) {
            // Ends with the command: a reader that goes away breaks the pipe.
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        let (stdout, stderr) = (Stream::default(), Stream::default());
        let mut readers = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            readers.push(stdout.read(pipe));
        }
        if let Some(pipe) = child.stderr.take() {
            readers.push(stderr.read(pipe));
        }
        let begin = Instant::now();
        Ok(Running {
            child,
            label,
            begin,
            deadline: self.deadline,
            stdout,
            stderr,
            readers,
        })
    }

    /// Starts the command and waits for its end.
    ///
    /// # Errors
    ///
    /// As [`Run::start`] and [`Running::finish`].
    pub fn finish(self) -> Result<Finished> {
        self.start()?.finish()
    }
}

/// A command that runs. Dropping it kills it and its process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    label: String,
    begin: Instant,
    deadline: Duration,
    stdout: Stream,
    stderr: Stream,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    ///
    /// # Errors
    ///
    /// The kernel does not say.
    pub fn is_over(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Sends a signal to the command alone, not to its group.
    ///
    /// # Errors
    ///
    /// The kernel refused.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        process::signal(&mut self.child, signal)
    }

    /// What it has written on stdout so far.
    #[must_use]
    pub fn stdout_so_far(&self) -> String {
        self.stdout.text()
    }

    /// What it has written on stderr so far.
    #[must_use]
    pub fn stderr_so_far(&self) -> String {
        self.stderr.text()
    }

    /// Waits until stdout holds `text`.
    ///
    /// # Errors
    ///
    /// The command ended or its deadline passed before.
    pub fn wait_for_stdout(&mut self, text: &str) -> Result<()> {
        self.wait_for(text, "stdout", &self.stdout.clone())
    }

    /// Waits until stderr holds `text`.
    ///
    /// # Errors
    ///
    /// As [`Running::wait_for_stdout`].
    pub fn wait_for_stderr(&mut self, text: &str) -> Result<()> {
        self.wait_for(text, "stderr", &self.stderr.clone())
    }

    fn wait_for(&mut self, text: &str, name: &str, stream: &Stream) -> Result<()> {
        let left = self.deadline.saturating_sub(self.begin.elapsed());
        let mut over = None;
        wait::until(
            &format!("{text:?} on {name} of {}", self.label),
            left,
            || {
                // The last that it wrote may be read after its end.
                let ended = self.child.try_wait()?.filter(|_status| {
                    let since = *over.get_or_insert_with(Instant::now);
                    self.readers.iter().all(JoinHandle::is_finished)
                        || since.elapsed() > PIPES_CLOSE
                });
                if stream.text().contains(text) {
                    return Ok(Some(()));
                }
                if let Some(status) = ended {
                    bail!(
                        "{} ended with {status} before it wrote {text:?}; stderr: {}",
                        self.label,
                        self.stderr.text()
                    );
                }
                Ok(None)
            },
        )
        .with_context(|| format!("stderr so far: {}", self.stderr.text()))
    }

    /// Waits for its end.
    ///
    /// # Errors
    ///
    /// It was not over by its deadline (it is killed then, and what it wrote is in the message), or
    /// its output stayed open after its end.
    pub fn finish(mut self) -> Result<Finished> {
        let left = self.deadline.saturating_sub(self.begin.elapsed());
        let waited = wait::until(&format!("the end of {}", self.label), left, || {
            Ok(self.child.try_wait()?)
        });
        let wall = self.begin.elapsed();
        let status = waited.with_context(|| {
            format!(
                "stdout so far: {}\nstderr so far: {}",
                self.stdout.tail(),
                self.stderr.tail()
            )
        })?;
        let closed = format!(
            "the output of {} to close after its end ({status})",
            self.label
        );
        wait::until(&closed, PIPES_CLOSE, || {
            Ok(self
                .readers
                .iter()
                .all(JoinHandle::is_finished)
                .then_some(()))
        })?;
        let (stdout, stdout_bytes) = self.stdout.take();
        let (stderr, stderr_bytes) = self.stderr.take();
        Ok(Finished {
            status,
            stdout,
            stdout_bytes,
            stderr,
            stderr_bytes,
            wall,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        drop(process::destroy(&mut self.child));
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// The first 16 MiB of its output.
    pub stdout: Vec<u8>,
    /// All bytes of its output, kept or not.
    pub stdout_bytes: u64,
    /// The first 16 MiB of its messages.
    pub stderr: Vec<u8>,
    /// All bytes of its messages, kept or not.
    pub stderr_bytes: u64,
    /// From its start to its end.
    pub wall: Duration,
}

impl Finished {
    /// Its exit code; 128 + the signal's number if a signal ended it, as a shell says it.
    #[must_use]
    pub fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt as _;

        self.status
            .code()
            .or_else(|| self.status.signal().map(|signal| 128 + signal))
            .unwrap_or(-1)
    }

    /// Its output as text.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Its messages as text.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The command's output, if it succeeded.
    ///
    /// # Errors
    ///
    /// It failed; the message holds its code and what it wrote.
    pub fn success(self, what: &str) -> Result<Self> {
        if !self.status.success() {
            bail!(
                "{what}: {}\n{}{}",
                self.status,
                self.stdout_text(),
                self.stderr_text()
            );
        }
        Ok(self)
    }
}

/// What a pipe has brought.
#[derive(Debug, Clone, Default)]
struct Stream(Arc<Mutex<(Vec<u8>, u64)>>);

impl Stream {
    fn read(&self, mut pipe: impl Read + Send + 'static) -> JoinHandle<()> {
        let stream = self.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let mut held = stream.0.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT.saturating_sub(held.0.len()).min(count);
                held.0.extend_from_slice(&buffer[..room]);
                held.1 += count as u64;
            }
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner).0)
            .into_owned()
    }

    /// The last 4 KiB, for messages.
    fn tail(&self) -> String {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&held.0[held.0.len().saturating_sub(4096)..]).into_owned()
    }

    fn take(&self) -> (Vec<u8>, u64) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_code_and_input_are_the_commands() {
        let finished = Run::new(shell("cat; echo oops >&2; exit 7"))
            .stdin(b"in".to_vec())
            .finish()
            .unwrap();
        assert_eq!(
            (
                finished.code(),
                finished.stdout_text().as_str(),
                finished.stderr_text().as_str()
            ),
            (7, "in", "oops\n")
        );
        assert_eq!(
            Run::new(shell("kill -TERM $$")).finish().unwrap().code(),
            143
        );
    }

    #[test]
    fn what_a_command_wrote_last_is_waited_for() {
        let mut running = Run::new(shell("{ sleep 0.5; echo late; } &"))
            .start()
            .unwrap();
        running.wait_for_stdout("late").unwrap();
        let mut silent = Run::new(shell("exit 3")).start().unwrap();
        let error = silent.wait_for_stdout("late").unwrap_err();
        assert!(format!("{error:#}").contains("exit status: 3"), "{error:#}");
    }

    #[test]
    fn a_command_is_killed_with_its_children_at_the_deadline() {
        let error = Run::new(shell("echo here; sleep 1000 & sleep 1000"))
            .deadline(Duration::from_millis(300))
            .finish()
            .unwrap_err();
        assert!(format!("{error:#}").contains("here"), "{error:#}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Run::new(Command::new("no-such-program"))
            .finish()
            .unwrap_err();
        assert!(
            format!("{error:#}").contains("no-such-program"),
            "{error:#}"
        );
    }
}
