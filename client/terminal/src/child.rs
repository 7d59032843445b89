//! Processes that this command starts, and that are not to outlive it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

/// What becomes of a child when the thread that has started it ends, also where this command is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphan {
    /// It is told to end.
    Told,
    /// It is killed.
    Killed,
}

/// Has the kernel see to it that what `command` starts does not outlive the thread that starts it.
pub fn ends_with_us(command: &mut Command, orphan: Orphan) {
    let signal = match orphan {
        Orphan::Told => Signal::SIGTERM,
        Orphan::Killed => Signal::SIGKILL,
    };
    let parent = Pid::this();
    let with_parent = move || {
        set_pdeathsig(signal)?;
        match getppid() == parent {
            true => Ok(()),
            // It has ended in between.
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    };
    #[expect(
        unsafe_code,
        reason = "what runs between fork and exec has no safe face"
    )]
    // SAFETY: two system calls; nothing is allocated, locked or shared.
    unsafe {
        command.pre_exec(with_parent)
    };
}
