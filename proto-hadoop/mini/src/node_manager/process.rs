//! The first process of a container.
//!
//! One thread starts it and lives until it has ended: the kernel kills it with SIGKILL when that
//! thread ends, and a thread ends early only with the whole process. It leads a session of its own;
//! when it has ended, whatever is left of its process group is killed. What the first process has
//! started itself does not get that signal of the kernel; a pipe that ends with this process tells
//! the launch script to kill its whole group.
//!
//! Caveat: a process of a container that leaves both session and process group is the container's
//! own to end, as the launchers' wardens do.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, getppid, setsid};
use tokio::sync::oneshot;

/// What the launch script says, as stock nodes name it.
pub(super) const PRELAUNCH: &str = "prelaunch.err";
/// Stack of the waiting thread, bytes.
const STACK: usize = 128 << 10;
/// Highest signal number of Linux.
const SIGNAL_MAX: i32 = 64;

/// A container's first process.
#[derive(Debug)]
pub(super) struct ContainerProcess {
    life: Arc<Mutex<Life>>,
    ended: oneshot::Receiver<io::Result<i32>>,
}

/// What its thread and its owner share.
#[derive(Debug, Default)]
struct Life {
    /// None before it was started and after it was reaped.
    pid: Option<Pid>,
    /// Its owner is gone: it must not begin.
    doomed: bool,
}

impl ContainerProcess {
    /// Starts `script` in `work`, with no variables but what the script sets. What the script itself
    /// says goes to `prelaunch.err` in `logs`.
    pub(super) fn start(script: &Path, work: &Path, logs: &Path) -> io::Result<Self> {
        let said = File::create(logs.join(PRELAUNCH))?;
        let (lifeline, held) = io::pipe()?;
        let mut command = Command::new("/bin/bash");
        command
            .arg(script)
            .current_dir(work)
            .env_clear()
            .stdin(lifeline)
            .stdout(Stdio::null())
            .stderr(said);
        in_a_session_of_its_own(&mut command);
        let life = Arc::<Mutex<Life>>::default();
        let shared = Arc::clone(&life);
        let (say, ended) = oneshot::channel();
        thread::Builder::new()
            .name("container".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                // Nobody waits for a container whose node is gone.
                let _unheard = say.send(live(command, &shared)).is_err();
                drop(held);
            })?;
        Ok(Self { life, ended })
    }

    /// Signals all of its process group, unless it has ended.
    pub(super) fn signal(&self, signal: Signal) {
        let life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = life.pid {
            // It may end in this moment; its number is not given to another before it is reaped.
            let _gone = killpg(group, signal).is_err();
        }
    }

    /// Its exit code, 128 + N for signal N; an error when it could not be started.
    pub(super) async fn ended(&mut self) -> io::Result<i32> {
        let thread_is_gone = || Err(io::Error::other("the thread that waits for it is gone"));
        (&mut self.ended).await.unwrap_or_else(|_| thread_is_gone())
    }
}

impl Drop for ContainerProcess {
    fn drop(&mut self) {
        let life = self.life.lock();
        life.unwrap_or_else(PoisonError::into_inner).doomed = true;
        self.signal(Signal::SIGKILL);
    }
}

fn live(mut command: Command, life: &Mutex<Life>) -> io::Result<i32> {
    let lock = || life.lock().unwrap_or_else(PoisonError::into_inner);
    let mut held = lock();
    if held.doomed {
        return Err(io::Error::other("its node is gone"));
    }
    let mut child = command.spawn()?;
    // Our copy of its standard input.
    drop(command);
    let id = Pid::from_raw(child.id().cast_signed());
    held.pid = Some(id);
    drop(held);
    // Ended but not reaped: its number still is its own, and that of its group.
    while let Err(Errno::EINTR) = waitid(Id::Pid(id), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
    }
    let mut held = lock();
    let _none_left = killpg(id, Signal::SIGKILL).is_err();
    held.pid = None;
    let status = child.wait()?;
    drop(held);
    let code = status.code();
    Ok(code.unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

#[expect(
    unsafe_code,
    reason = "what a container inherits is set between fork and exec"
)]
fn in_a_session_of_its_own(command: &mut Command) {
    let parent = Pid::this();
    // SAFETY: between fork and exec only system calls are made, which are async-signal-safe and
    // allocate nothing.
    unsafe {
        command.pre_exec(move || {
            set_pdeathsig(Signal::SIGKILL)?;
            // A parent that died before the line above leaves the child without that signal.
            if getppid() != parent {
                return Err(Errno::ESRCH.into());
            }
            setsid()?;
            // Ignored signals stay ignored over an exec; numbers that cannot be set do not matter.
            for number in 1..=SIGNAL_MAX {
                nix::libc::signal(number, nix::libc::SIG_DFL);
            }
            Ok(())
        });
    }
}
