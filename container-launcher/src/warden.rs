//! A small process beside the launcher that cleans up when the launcher is killed.
//!
//! It has a session of its own, so that a signal to the container's process group does not reach
//! it, and reads a pipe from the launcher: lines with the names of key-value spaces, `+` before those
//! whose shared memory is to be removed when the job is over, `-` before those whose ranks have ended;
//! and at last an empty line, with which the launcher leaves in order. The end of the pipe without it
//! says that the launcher is dead, and nothing else does: then everything that carries the container's
//! mark is killed first.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use job::Role;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Pid, setsid};

use crate::mpi::shared_memory;
use crate::say;
use crate::surroundings::Surroundings;
use crate::sweep::Kin;

/// Most that a sweep may take. Only processes stuck in the kernel need more than a moment.
const SWEEP_MAX: Duration = Duration::from_secs(10);
/// Between two looks at the process table.
const SWEEP_PAUSE: Duration = Duration::from_millis(20);
/// How long a launcher that leaves waits for its warden.
const DISMISS_MAX: Duration = Duration::from_millis(200);
/// Between two looks at it.
const DISMISS_PAUSE: Duration = Duration::from_millis(2);
/// Longest line, bytes: what is longer is cut. A name is at most 256 (`pmi::KVS_NAME_MAX`).
const LINE_MAX: u64 = 1024;
/// Looks without a find until all is taken for gone: a process may fork between two of them.
const QUIET_LOOKS: u32 = 2;

/// The launcher's hold on its warden.
#[derive(Debug)]
pub(crate) struct Warden {
    child: Child,
}

impl Warden {
    /// Starts the executable in the role of the warden.
    pub(crate) fn start(kin: &Kin, around: &Surroundings) -> std::io::Result<Self> {
        let mut command = around.command(Role::Warden);
        command
            .arg(kin.container())
            .args(kin.spared().map(|pid| pid.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        in_its_own_session(&mut command);
        let child = command.spawn()?;
        if let Some(pipe) = &child.stdin {
            // A warden that stands still is not waited for.
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self { child })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Names a key-value space that ranks are about to use.
    pub(crate) fn note_space(&self, kvs_name: &str) {
        self.write(&format!("+{kvs_name}\n"));
    }

    /// The ranks of a key-value space have ended: what they have left is removed.
    pub(crate) fn forget_space(&self, kvs_name: &str) {
        shared_memory::remove(kvs_name);
        self.write(&format!("-{kvs_name}\n"));
    }

    /// All processes are gone; the warden removes their shared memory and ends. Returns when it
    /// has, or after a moment.
    pub(crate) fn dismiss(mut self) {
        self.write("\n");
        drop(self.child.stdin.take());
        let deadline = Instant::now() + DISMISS_MAX;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            park_timeout(DISMISS_PAUSE);
        }
    }

    fn write(&self, line: &str) {
        if let Some(mut pipe) = self.child.stdin.as_ref() {
            // A warden that was killed is missed only if the launcher is killed too.
            drop(pipe.write_all(line.as_bytes()));
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
    let (spaces, in_order) = listen(std::io::stdin().lock());
    let code = if in_order {
        ExitCode::SUCCESS
    } else {
        sweep(&kin)
    };
    for name in spaces {
        shared_memory::remove(&name);
    }
    code
}

/// Until the launcher leaves or is dead: the spaces whose memory is still to be removed, and whether it
/// left in order.
fn listen(mut launcher: impl BufRead) -> (BTreeSet<String>, bool) {
    let mut spaces = BTreeSet::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match launcher
            .by_ref()
            .take(LINE_MAX)
            .read_until(b'\n', &mut line)
        {
            Ok(1..) => {}
            Ok(0) | Err(_) => return (spaces, false),
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches('\n');
        match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(name), _) => {
                spaces.insert(name.to_owned());
            }
            (None, Some(name)) => {
                spaces.remove(name);
            }
            (None, None) if text.is_empty() => return (spaces, true),
            (None, None) => {}
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> (Vec<String>, bool) {
        let (spaces, in_order) = listen(text.as_bytes());
        (spaces.into_iter().collect(), in_order)
    }

    #[test]
    fn only_the_end_of_the_pipe_is_a_death() {
        let names = |from: u32, to: u32, sign: char| -> String {
            let line = |n| format!("{sign}kvs_of_a_name_that_is_long_enough_{n}\n");
            (from..to).map(line).collect()
        };
        // Far more than a pipe holds.
        let many = names(0, 10_000, '+') + &names(1, 10_000, '-');
        let (left, in_order) = heard(&format!("{many}\n"));
        assert_eq!(left, ["kvs_of_a_name_that_is_long_enough_0"]);
        assert!(in_order);
        assert!(!heard(&many).1);
        // Its last words cut short.
        assert_eq!(
            heard("+a\n+b\n-a\n+c"),
            (vec!["b".into(), "c".into()], false)
        );
        let long = format!("+{}\n+d\n\n", "x".repeat(5000));
        assert!(heard(&long).0.contains(&"d".to_owned()));
    }
}
