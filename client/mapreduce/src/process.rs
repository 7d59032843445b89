//! A process of the program in one of its roles.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use gerbil_task::{Connection, FrameError, LAUNCHER_VARIABLE, ROLE_VARIABLE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::error::MapReduceError;

/// For a process to say hello.
pub const HELLO: Duration = Duration::from_secs(30);
/// What is asked where it does not.
pub const FIRST: &str = "is `main()` of the job the first statement of main?";

/// A process in a role, at the head of a group of its own, so that whatever ends this command here ends it in
/// order. It asks the kernel to be killed with the thread that has started it, which is therefore to live as
/// long. Dropping it kills the group.
#[derive(Debug)]
pub struct RoleProcess {
    child: Child,
    /// What it says and hears.
    pub connection: Connection,
}

impl RoleProcess {
    /// Starts `program` in `role`.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn start(
        program: &Path,
        role: &str,
        words: &[OsString],
        out: Stdio,
    ) -> Result<Self, MapReduceError> {
        let failed = |source| MapReduceError::Start {
            program: program.to_owned(),
            source,
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let child = Command::new(program)
            .args(words)
            .env(ROLE_VARIABLE, role)
            .env(LAUNCHER_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(out)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Self {
            child,
            connection: Connection::new(ours).of_driver(),
        })
    }

    /// How it has ended, if it has.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// How it ended, if it does so within `wait`.
    pub fn ended(&mut self, wait: Duration) -> Option<ExitStatus> {
        if let Ok(descriptor) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
            let wait = Timespec::try_from(wait).ok();
            let mut descriptors = [PollFd::new(&descriptor, PollFlags::IN)];
            // Readable is ended; a signal that came in between only looks earlier.
            let _looked = poll(&mut descriptors, wait.as_ref()).is_ok();
        }
        self.has_ended()
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        // The group may have members that outlive its head.
        let _gone = kill_process_group(Pid::from_child(&self.child), Signal::KILL).is_err();
        let _gone = self.child.kill().is_err();
        let _reaped = self.child.wait().is_ok();
    }
}

/// How a process ended, in words that follow its name.
#[must_use]
pub fn how(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "has closed its socket".to_owned();
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "has ended".to_owned(),
    }
}

/// What such an end makes this command return, as a shell says it.
#[must_use]
pub fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128_i32.saturating_add(signal));
    let code = status.code().or(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Why a process is none of a job, which has not said hello.
#[must_use]
pub fn no_hello(program: &Path, error: &FrameError) -> MapReduceError {
    let why = match error {
        FrameError::Closed => format!("ended before it said hello: {FIRST}"),
        FrameError::Silent => format!("said nothing for {} s: {FIRST}", HELLO.as_secs()),
        other => format!("said no hello: {other}"),
    };
    MapReduceError::NoJob {
        program: program.to_owned(),
        why,
    }
}
