//! A process of the executable in one of its roles: started, greeted, told to leave, ended.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use gerbil_task::{
    Connection, FrameError, FromTask, LAUNCHER_VARIABLE, ROLE_VARIABLE, ToTask, VERSION, said,
};

use super::blame::how;
use super::descent;
use super::slot::Slot;
use crate::error::{Context as _, Error, Result};

/// How often a silent process is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// How long a process may take to say hello, and to leave.
pub(super) const HELLO: Duration = Duration::from_secs(30);
pub(super) const LEAVE: Duration = Duration::from_secs(5);

/// A process in a role. It is waited for when its group is killed, not before: until then its id is its own.
pub(super) struct RoleProcess {
    child: Child,
    pub(super) connection: Connection,
}

impl RoleProcess {
    /// Starts this executable in `role`, at the head of a process group.
    pub(super) fn start(
        role: &str,
        arguments: &[OsString],
        variables: &[(String, OsString)],
        out: Stdio,
    ) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let program = std::env::current_exe()?;
        let mut command = Command::new(&program);
        #[cfg(feature = "fpga")]
        if role == "task" {
            command.env(gerbil_task::LEASE_VARIABLE, super::fpgad::socket());
        }
        let child = command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(ROLE_VARIABLE, role)
            .env(LAUNCHER_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(out)
            .process_group(0)
            .spawn()
            .context(|| format!("starting {} in the role {role}", program.display()))?;
        Ok(Self {
            child,
            connection: Connection::new(ours),
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How the process has ended, if it has.
    pub(super) fn has_ended(&self) -> Option<ExitStatus> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = rustix::process::Pid::from_child(&self.child);
        let status = waitid(WaitId::Pid(pid), options).ok()??;
        let code = status.exit_status().map(|code| code << 8);
        let core = if status.dumped() { 0x80 } else { 0 };
        let signal = status.terminating_signal().map(|signal| signal | core);
        code.or(signal).map(ExitStatus::from_raw)
    }

    /// Ends the process and whatever it has started.
    pub(super) fn kill(mut self) {
        let started = descent::of(self.child.id());
        self.kill_group();
        descent::end(&started);
    }

    fn kill_group(&mut self) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).ok();
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// How the process ended, if it does so within `wait`.
    pub(super) fn ended(&self, wait: Duration) -> Option<ExitStatus> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let pid = rustix::process::Pid::from_child(&self.child);
        if let Ok(descriptor) =
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
        {
            let wait = Timespec::try_from(wait).ok();
            // Readable is ended; a signal that came in between only looks earlier.
            poll(
                &mut [PollFd::new(&descriptor, PollFlags::IN)],
                wait.as_ref(),
            )
            .ok();
        }
        self.has_ended()
    }

    /// Waits for a process that was told to leave.
    pub(super) fn leave(mut self) {
        // Once it has ended nobody can tell whose they were.
        let started = descent::of(self.child.id());
        drop(self.connection.send(&ToTask::Leave));
        self.ended(LEAVE);
        // The group may have members that outlived it.
        self.kill_group();
        descent::end(&started);
    }
}

/// Why there is no task process.
pub(super) enum NotStarted {
    /// Somebody killed it before it said hello, a sentence: another may live.
    Killed(String),
    /// None will ever do.
    Never(Error),
}

impl Slot<'_> {
    /// Starts the executable in its task role.
    pub(super) fn start(&self) -> Result<RoleProcess, NotStarted> {
        // Whatever tasks print is for people, as what this process says.
        let out = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3);
        let out: OwnedFd = out.map_err(|error| NotStarted::Never(error.into()))?;
        let started = RoleProcess::start("task", self.choice, &[], out.into());
        let mut process = started.map_err(NotStarted::Never)?;
        let Err(error) = self.greet(&mut process) else {
            return Ok(process);
        };
        // One that has closed its end and lives on is killed below, and is nobody else's victim.
        let status = process.ended(LOOK);
        process.kill();
        Err(match status.filter(|status| status.signal().is_some()) {
            Some(killed) => {
                let how = how(Some(killed));
                NotStarted::Killed(format!("a task process {how} before it said hello"))
            }
            None => NotStarted::Never(error.context("a task process")),
        })
    }

    fn greet(&self, process: &mut RoleProcess) -> Result<()> {
        process.connection.set_deadline(Some(HELLO))?;
        let (version, plan) = match process.connection.receive() {
            Ok(FromTask::Hello { version, plan }) => (version, plan),
            Ok(other) => {
                let other = said::message(&other);
                return Err(Error::new(format!("said {other} before hello")));
            }
            Err(FrameError::Closed) => {
                return Err(Error::new(
                    "ended before it said hello: is `main()` of the job the first statement of main?",
                ));
            }
            Err(FrameError::Silent) => {
                let words =
                    "said nothing for 30 s: is `main()` of the job the first statement of main?";
                return Err(Error::new(words));
            }
            Err(error) => return Err(error.into()),
        };
        let refusal = if version != VERSION {
            format!("speaks version {version} of the task protocol, and this launcher {VERSION}")
        } else if plan != self.digest {
            "registers other jobs than this process did: registration must not depend on files, time or environment"
                .to_owned()
        } else {
            let given = [self.page_descriptor.as_fd(), self.scratch.as_fd()];
            process
                .connection
                .send_with(&ToTask::Welcome(self.welcome.clone()), &given)?;
            process.connection.set_deadline(Some(LOOK))?;
            return Ok(());
        };
        process.connection.send(&ToTask::Refused {
            sentence: refusal.clone(),
        })?;
        Err(Error::new(refusal))
    }
}
