//! Forks and executes one rank.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid, setsid};

use crate::yielding::WAITS_VARIABLE;

/// Highest signal number of Linux.
const SIGNAL_MAX: i32 = 64;

/// Everything that a rank is started with.
pub(crate) struct Plan {
    /// Its number in the job.
    pub(crate) rank: u32,
    /// Its number in its `MPI_COMM_WORLD`.
    pub(crate) pmi_rank: u32,
    /// Its place among the ranks of this container.
    pub(crate) local_rank: usize,
    /// Its path; a relative one begins in the launcher's working directory.
    pub(crate) program: PathBuf,
    /// Where it starts; none: where the launcher is. With one the program's path is absolute.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) args: Arc<[String]>,
    /// What all ranks of the program have in common.
    pub(crate) environment: Arc<BTreeMap<OsString, OsString>>,
    /// What is this rank's alone, PMI's variables aside.
    pub(crate) own: Vec<(String, String)>,
    /// Where the shim notes how long the rank waited; none: it has no shim.
    pub(crate) waits: Option<PathBuf>,
    /// The processors that it may run on; none: all of the container's.
    pub(crate) processors: Option<CpuSet>,
    pub(crate) streams: Streams,
    pub(crate) pmi: UnixStream,
}

/// What a rank reads and writes.
pub(crate) enum Streams {
    Pipes {
        /// None: `/dev/null`.
        stdin: Option<PipeReader>,
        stdout: PipeWriter,
        stderr: PipeWriter,
    },
    /// Its own end of a terminal, which is then the one of its session.
    Terminal(OwnedFd),
}

/// Starts it, in a process group of its own, from the thread whose end is to kill it.
///
/// # Errors
///
/// What fork or execve said.
pub(crate) fn spawn(plan: Plan) -> std::io::Result<Pid> {
    let pmi_fd = plan.pmi.as_raw_fd();
    let mut command = Command::new(&plan.program);
    command
        .args(plan.args.iter())
        .env_clear()
        .envs(plan.environment.iter())
        .envs(plan.own)
        .env("PMI_FD", pmi_fd.to_string())
        .env("PMI_RANK", plan.pmi_rank.to_string())
        .env("MPI_LOCALRANKID", plan.local_rank.to_string());
    let terminal = matches!(plan.streams, Streams::Terminal(_));
    match plan.streams {
        Streams::Pipes {
            stdin,
            stdout,
            stderr,
        } => command
            .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0),
        // Whoever begins a session begins a process group with it.
        Streams::Terminal(end) => command
            .stdin(end.try_clone()?)
            .stdout(end.try_clone()?)
            .stderr(end),
    };
    if let Some(folder) = &plan.folder {
        command.current_dir(folder);
    }
    if let Some(file) = &plan.waits {
        command.env(WAITS_VARIABLE, file);
    }
    before_exec(&mut command, pmi_fd, Pid::this(), plan.processors, terminal);
    // The rank's end of the socket stays open here until the rank has its own.
    let child = command.spawn()?;
    drop(plan.pmi);
    Ok(Pid::from_raw(child.id().cast_signed()))
}

#[expect(
    unsafe_code,
    reason = "what a rank inherits is set between fork and exec"
)]
fn before_exec(
    command: &mut Command,
    pmi_fd: RawFd,
    launcher: Pid,
    processors: Option<CpuSet>,
    terminal: bool,
) {
    // SAFETY: the closure runs in the forked child, where only async-signal-safe calls are allowed:
    // it makes system calls alone and allocates nothing. `pmi_fd` is open: `spawn` holds it until
    // after the exec, and the child has a copy of every descriptor.
    unsafe {
        command.pre_exec(move || {
            set_pdeathsig(Signal::SIGKILL)?;
            // A launcher that died before the line above leaves the child without that signal.
            if getppid() != launcher {
                return Err(Errno::ESRCH.into());
            }
            if terminal {
                setsid()?;
                // Standard input is the terminal; it has no session yet.
                Errno::result(libc::ioctl(0, libc::TIOCSCTTY, 0))?;
            }
            if let Some(processors) = &processors {
                sched_setaffinity(Pid::from_raw(0), processors)?;
            }
            // Caught signals are reset by exec, ignored ones are not: YARN's daemons may have
            // been started with some ignored. Numbers that cannot be set do not matter.
            for number in 1..=SIGNAL_MAX {
                libc::signal(number, libc::SIG_DFL);
            }
            let descriptor = std::os::fd::BorrowedFd::borrow_raw(pmi_fd);
            fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
            Ok(())
        });
    }
}
