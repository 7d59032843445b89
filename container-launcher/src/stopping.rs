//! Stops a process with all that it has started, and lets it go on.
//!
//! What is stopped begins nothing. So all are told to stop again and again, until a walk finds every thread stopped: what
//! one had begun before it heard of that is found by then. A process that begins others faster than that goes on.
//! `SIGKILL` ends what is stopped, too.
//!
//! What begins another in its own memory (`vfork`, and `posix_spawn` by it) waits in the kernel until that has its program,
//! and does not stop before. Where the other has been stopped on the way there, it goes on for a moment.

use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::affinity::{NotMoved, numbers_in, pause, tree};

/// All are stopped within this, or go on: a thread in the kernel's hands stops when it is back.
const STOPS: Duration = Duration::from_millis(500);

/// What the kernel holds for so long waits for something that is stopped.
const HELD: Duration = Duration::from_millis(10);
/// In which a process begins its program.
const MOMENT: Duration = Duration::from_millis(2);

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
    let mut held = began;
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
            _ if held.elapsed() > HELD && processes.iter().any(|process| is_held(*process)) => {
                let_on(&processes)?;
                held = Instant::now();
            }
            _ => pause(),
        }
    }
}

/// Those of these that have stopped go on for a moment; the others stop as soon as they can.
fn let_on(processes: &[i32]) -> Result<(), NotMoved> {
    for process in processes.iter().filter(|process| has_stopped(**process)) {
        signal(*process, Signal::SIGCONT)?;
    }
    let began = Instant::now();
    while began.elapsed() < MOMENT {
        pause();
    }
    Ok(())
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
    states(process).all(|state| "TtZXx".contains(state))
}

/// Whether a thread of a process waits in the kernel for what no signal but `SIGKILL` ends.
fn is_held(process: i32) -> bool {
    states(process).any(|state| state == 'D')
}

/// Of a process's threads.
fn states(process: i32) -> impl Iterator<Item = char> {
    let threads = numbers_in(&format!("/proc/{process}/task")).into_iter();
    threads.filter_map(move |thread| state(&format!("/proc/{process}/task/{thread}/stat")))
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
    use crate::c_program;

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
    fn what_has_begun_another_in_its_own_memory_stops() {
        let folder = tempfile::tempdir().unwrap();
        // The other is there for a millisecond, and has no program as long.
        let text = "#include <unistd.h>\n#include <sys/wait.h>\nint main(void) { for (;;) {\n\
                    pid_t child = vfork(); if (child == 0) { usleep(1000); _exit(0); } waitpid(child, 0, 0); } }";
        let file = c_program::built(folder.path(), text);
        let shell = Shell::start(&format!("exec {}", file.display()));
        let mut stopped = 0;
        for _ in 0..20 {
            // It begins others nearly all the time.
            std::thread::park_timeout(Duration::from_micros(700));
            match stop(shell.pid()) {
                Ok(()) => stopped += 1,
                Err(NotMoved::NotStopped) => {}
                Err(other) => panic!("{other}"),
            }
            go_on(shell.pid()).unwrap();
        }
        assert!(stopped >= 15, "{stopped} of 20");
    }

    #[test]
    fn what_has_ended_is_neither_stopped_nor_continued() {
        let shell = Shell::start("exit 0");
        until(|| is_gone(shell.pid()));
        assert_eq!(stop(shell.pid()), Err(NotMoved::Gone));
        assert_eq!(go_on(shell.pid()), Err(NotMoved::Gone));
    }
}
