//! Stops a process with all that it has started, and lets it go on.
//!
//! What is stopped begins nothing. So all are told to stop again and again, until a walk finds every thread stopped: what
//! one had begun before it heard of that is found by then. A process that begins others faster than that goes on.
//! `SIGKILL` ends what is stopped, too.

use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::affinity::{NotMoved, numbers_in, pause, tree};

/// All are stopped within this, or go on: a thread in the kernel's hands stops when it is back.
const STOPS: Duration = Duration::from_millis(500);

/// Stops all of the process `leader`, which leads its process group.
///
/// # Errors
///
/// Why not; all of it goes on then.
pub(crate) fn stop(leader: i32) -> Result<(), NotMoved> {
    let stopped = walk(leader);
    if stopped.is_err() {
        // What has ended goes on no more.
        drop(go_on(leader));
    }
    stopped
}

fn walk(leader: i32) -> Result<(), NotMoved> {
    let began = Instant::now();
    loop {
        let processes = tree(leader);
        let mut runs = false;
        for process in &processes {
            if !has_stopped(*process) {
                runs = true;
                signal(*process, Signal::SIGSTOP)?;
            }
        }
        match runs {
            false if processes.iter().all(|process| is_gone(*process)) => {
                return Err(NotMoved::Gone);
            }
            // None ran when it was looked at, and none of them has begun another since.
            false if tree(leader) == processes => return Ok(()),
            _ if began.elapsed() > STOPS => return Err(NotMoved::NotStopped),
            _ => pause(),
        }
    }
}

/// Lets all of the process `leader` go on.
///
/// # Errors
///
/// It has ended, or the kernel does not let it be told.
pub(crate) fn go_on(leader: i32) -> Result<(), NotMoved> {
    let processes = tree(leader);
    // Children first: a parent that looks after them finds them at work.
    for process in processes.iter().rev() {
        signal(*process, Signal::SIGCONT)?;
    }
    match processes.iter().all(|process| is_gone(*process)) {
        true => Err(NotMoved::Gone),
        false => Ok(()),
    }
}

/// One that has ended meanwhile needs no telling.
fn signal(process: i32, signal: Signal) -> Result<(), NotMoved> {
    match kill(Pid::from_raw(process), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(errno) => Err(NotMoved::Kernel(errno)),
    }
}

/// Whether no thread of a process runs, or can.
fn has_stopped(process: i32) -> bool {
    let threads = numbers_in(&format!("/proc/{process}/task"));
    let state = |thread: i32| state(&format!("/proc/{process}/task/{thread}/stat"));
    threads
        .into_iter()
        .all(|thread| state(thread).is_none_or(|state| "TtZXx".contains(state)))
}

fn is_gone(process: i32) -> bool {
    state(&format!("/proc/{process}/stat")).is_none_or(|state| "ZXx".contains(state))
}

/// `pid (name) state …`; `None`: it is gone.
fn state(file: &str) -> Option<char> {
    let stat = fs::read_to_string(file).ok()?;
    let (_, state) = stat.rsplit_once(") ")?;
    state.chars().next()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::*;

    struct Shell(Child);

    impl Shell {
        fn start(script: &str) -> Self {
            let mut command = Command::new("sh");
            command.args(["-c", script]).process_group(0);
            Self(command.spawn().unwrap())
        }

        fn pid(&self) -> i32 {
            i32::try_from(self.0.id()).unwrap()
        }

        /// Processor time of all of it so far, clock ticks.
        fn ticks(&self) -> u64 {
            let of = |pid: &i32| {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
                let (_, after) = stat.rsplit_once(") ").unwrap();
                let mut fields = after.split(' ').skip(11);
                let mut next = || fields.next().unwrap().parse::<u64>().unwrap();
                next() + next()
            };
            tree(self.pid()).iter().map(of).sum()
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            // What is stopped begins no more; one is in a group of its own.
            stop(self.pid()).ok();
            for process in tree(self.pid()) {
                kill(Pid::from_raw(process), Signal::SIGKILL).ok();
            }
            self.0.wait().ok();
        }
    }

    fn until(what: impl Fn() -> bool) {
        let began = Instant::now();
        while !what() {
            assert!(began.elapsed() < Duration::from_secs(20));
            pause();
        }
    }

    #[test]
    fn all_that_a_process_has_started_stops_and_goes_on() {
        // One that computes beside another, in a group of its own.
        let shell = Shell::start("setsid sh -c 'while :; do :; done' & while :; do :; done");
        until(|| tree(shell.pid()).len() == 2);
        for _ in 0..5 {
            // A busy machine may not let it run, and so stop, in time.
            until(|| stop(shell.pid()).is_ok());
            let all = tree(shell.pid());
            assert!(all.len() == 2 && all.iter().all(|process| has_stopped(*process)));
            let before = shell.ticks();
            std::thread::park_timeout(Duration::from_millis(60));
            assert_eq!(shell.ticks(), before);
            // Twice is as once.
            stop(shell.pid()).unwrap();
            go_on(shell.pid()).unwrap();
            until(|| shell.ticks() > before);
        }
    }

    #[test]
    fn what_begins_others_all_the_time_stops_whole_or_goes_on() {
        let shell = Shell::start("while :; do (:) & (:); done");
        let mut stopped = 0;
        for _ in 0..20 {
            match stop(shell.pid()) {
                Ok(()) => {
                    let all = tree(shell.pid());
                    assert!(all.iter().all(|process| has_stopped(*process)));
                    stopped += 1;
                }
                Err(NotMoved::NotStopped) => {}
                Err(other) => panic!("{other}"),
            }
            go_on(shell.pid()).unwrap();
        }
        assert!(stopped > 0);
    }

    #[test]
    fn what_has_ended_is_neither_stopped_nor_continued() {
        let shell = Shell::start("exit 0");
        until(|| is_gone(shell.pid()));
        assert_eq!(stop(shell.pid()), Err(NotMoved::Gone));
        assert_eq!(go_on(shell.pid()), Err(NotMoved::Gone));
    }
}
