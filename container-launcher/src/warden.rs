//! A small process beside the launcher that cleans up when the launcher is killed.
//!
//! It has a session of its own, so that a signal to the container's process group does not reach
//! it, and waits on a pipe from the launcher. A byte says that the launcher leaves in order; the
//! end of the pipe without one says that it is dead, and then everything that carries the
//! container's mark is killed.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use job::Role;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Pid, setsid};

use crate::say;
use crate::sweep::Kin;

/// Most that a sweep may take. Only processes stuck in the kernel need more than a moment.
const SWEEP_MAX: Duration = Duration::from_secs(10);
/// Between two looks at the process table.
const SWEEP_PAUSE: Duration = Duration::from_millis(20);
/// Looks without a find until all is taken for gone: a process may fork between two of them.
const QUIET_LOOKS: u32 = 2;

/// The launcher's hold on its warden.
#[derive(Debug)]
pub(crate) struct Warden {
    child: Child,
}

impl Warden {
    /// Starts this same binary in the role of the warden.
    pub(crate) fn start(kin: &Kin) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg(Role::Warden.argument())
            .arg(kin.container())
            .args(kin.spared().map(|pid| pid.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        in_its_own_session(&mut command);
        Ok(Self {
            child: command.spawn()?,
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Nothing is left to sweep. The warden ends by itself.
    pub(crate) fn dismiss(mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            // A warden that is gone already needs no word.
            drop(pipe.write_all(b"."));
        }
    }
}

#[expect(
    unsafe_code,
    reason = "a session can only be opened between fork and exec"
)]
fn in_its_own_session(command: &mut Command) {
    // SAFETY: between fork and exec only setsid is called, which is async-signal-safe and
    // allocates nothing.
    unsafe {
        command.pre_exec(|| setsid().map(drop).map_err(std::io::Error::from));
    }
}

/// Runs the role of the warden: `args` are what follows the role on the command line, the
/// container's id and the pids to spare.
pub fn warden_main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args.map(|arg| arg.to_string_lossy().into_owned());
    let Some(container) = args.next() else {
        say("a warden needs the id of its container; only a launcher starts one");
        return ExitCode::from(job::exit::Exit::Usage.code());
    };
    let kin = Kin::named(container, args.filter_map(|pid| pid.parse().ok()));
    ignore_signals();
    let mut word = [0];
    match std::io::stdin().read(&mut word) {
        Ok(1..) => ExitCode::SUCCESS,
        Ok(0) | Err(_) => sweep(&kin),
    }
}

fn sweep(kin: &Kin) -> ExitCode {
    let deadline = Instant::now() + SWEEP_MAX;
    let mut quiet = 0;
    while quiet < QUIET_LOOKS {
        if kin.kill_all() == 0 {
            quiet += 1;
        } else {
            quiet = 0;
        }
        if Instant::now() > deadline {
            say("processes of this container could not be killed; they are stuck in the kernel");
            return ExitCode::FAILURE;
        }
        park_timeout(SWEEP_PAUSE);
    }
    ExitCode::SUCCESS
}

/// The signals by which YARN or a user ends a container are for the launcher.
#[expect(unsafe_code, reason = "dispositions are the kernel's")]
fn ignore_signals() {
    for number in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        // SAFETY: to ignore a signal installs no handler, so nothing can run at a bad moment.
        // These signals can be ignored: the call does not fail.
        unsafe { signal(number, SigHandler::SigIgn) }.ok();
    }
}
