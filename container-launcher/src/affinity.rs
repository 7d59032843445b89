//! Moves a process to other cores while it runs: every thread of it, and of all that it has started.
//!
//! A thread begins on the cores that the thread which began it had when it set out to. So all are walked again and again,
//! until a walk finds none on the old cores. One that was moved while it began another is not done with that yet, and
//! the kernel lists the other only then, on a busy machine many walks later: each that ran when it was moved is given
//! the processor time that this takes, and all are walked once more. A process that begins threads faster than that stays
//! where it was.
//!
//! What a process has started is found below it, by `/proc/PID/task/TID/children`; what has lost its parent, among the
//! launcher's own children, by the process group. A kernel without such files is asked for all processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{Pid, getpgid};

use crate::processes;
use crate::samples;

/// Walks that find some on the old cores, at the most.
const PASSES: usize = 8;
/// Processor time in which a thread has begun another one, processes of many GB aside.
const BEGINS: Duration = Duration::from_micros(300);
/// Those that ran are waited for so long: on a machine that does not let them run they begin none either, until it does.
const SETTLES: Duration = Duration::from_millis(100);
/// Between two looks at them.
const LOOK: Duration = Duration::from_micros(100);

/// Why a process is where it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotMoved {
    #[error("it has ended")]
    Gone,
    #[error("it begins processes faster than they are stopped")]
    NotStopped,
    #[error("it begins threads faster than they are moved")]
    TooFast,
    #[error("the kernel does not let its threads be moved: {0}")]
    Kernel(Errno),
    #[error("the kernel keeps its threads off these cores")]
    Elsewhere,
}

/// Moves all of the process `leader`, which leads its process group, to these cores.
///
/// # Errors
///
/// Why not; all is where it was then, as far as it can be moved at all.
pub(crate) fn move_to(leader: i32, cores: &CpuSet) -> Result<(), NotMoved> {
    let before = sched_getaffinity(Pid::from_raw(leader)).map_err(|errno| match errno {
        Errno::ESRCH => NotMoved::Gone,
        other => NotMoved::Kernel(other),
    })?;
    let moved = walk(leader, cores);
    if moved.is_err() {
        // What ends or may not be moved is no worse off for that.
        drop(walk(leader, &before));
    }
    moved
}

fn walk(leader: i32, cores: &CpuSet) -> Result<(), NotMoved> {
    let mut running = Running::default();
    let mut not_clean = 0_usize;
    while not_clean < PASSES {
        let have_begun = running.have_begun();
        let mut found = 0_usize;
        let mut moved = 0_usize;
        for process in tree(leader) {
            for thread in numbers_in(&format!("/proc/{process}/task")) {
                match move_one(Pid::from_raw(thread), cores) {
                    Ok(was_elsewhere) => {
                        found = found.saturating_add(1);
                        if was_elsewhere {
                            moved = moved.saturating_add(1);
                            running.add(thread);
                        }
                    }
                    // It has ended meanwhile.
                    Err(NotMoved::Gone) => {}
                    Err(why) => return Err(why),
                }
            }
        }
        match (found, moved) {
            (0, _) => return Err(NotMoved::Gone),
            (_, 0) if have_begun => return Ok(()),
            (_, 0) => pause(),
            _ => not_clean = not_clean.saturating_add(1),
        }
    }
    Err(NotMoved::TooFast)
}

/// Threads that ran when they were moved, and may be about to begin others with the cores that they had.
#[derive(Default)]
struct Running {
    /// With the processor time that they have had, ns.
    threads: BTreeMap<i32, u64>,
    since: Option<Instant>,
}

impl Running {
    fn add(&mut self, thread: i32) {
        if let Some(had) = ran(thread) {
            self.threads.insert(thread, had);
            self.since = Some(Instant::now());
        }
    }

    /// Whether none of them can be about to any more.
    fn have_begun(&mut self) -> bool {
        let begins = u64::try_from(BEGINS.as_nanos()).unwrap_or(u64::MAX);
        self.threads.retain(|thread, had| {
            ran(*thread).is_some_and(|has| has.saturating_sub(*had) < begins)
        });
        self.threads.is_empty() || self.since.is_some_and(|since| since.elapsed() > SETTLES)
    }
}

/// The processor time that a thread has had so far, ns; `None`: it does not run, and does not wait for a processor.
fn ran(thread: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
    let (_, state) = stat.rsplit_once(") ")?;
    if !state.starts_with(['R', 'D']) {
        return None;
    }
    let times = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    times.split_ascii_whitespace().next()?.parse().ok()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the nursery's thread is no runtime's, and the kernel has no word for a thread that has run, or stopped"
)]
pub(crate) fn pause() {
    std::thread::sleep(LOOK);
}

/// Whether a thread was elsewhere; it is not any more.
fn move_one(thread: Pid, cores: &CpuSet) -> Result<bool, NotMoved> {
    let is_there = || match sched_getaffinity(thread) {
        Ok(now) => Ok(now == *cores),
        Err(Errno::ESRCH) => Err(NotMoved::Gone),
        Err(errno) => Err(NotMoved::Kernel(errno)),
    };
    if is_there()? {
        return Ok(false);
    }
    match sched_setaffinity(thread, cores) {
        Ok(()) if is_there()? => Ok(true),
        Ok(()) => Err(NotMoved::Elsewhere),
        Err(Errno::ESRCH) => Err(NotMoved::Gone),
        Err(errno) => Err(NotMoved::Kernel(errno)),
    }
}

/// The process, and those that it has started: parents before their children.
pub(crate) fn tree(leader: i32) -> Vec<i32> {
    let Some(own) = children("self") else {
        return tree_by_table(leader);
    };
    let mut all = vec![leader];
    let orphans = own.into_iter().filter(|pid| *pid != leader);
    all.extend(orphans.filter(|pid| {
        let group = getpgid(Some(Pid::from_raw(*pid)));
        group.is_ok_and(|group| group.as_raw() == leader)
    }));
    let mut known: BTreeSet<i32> = sort::set(all.iter().copied());
    let mut next = 0;
    while let Some(&process) = all.get(next) {
        next = next.saturating_add(1);
        let below = children(&process.to_string()).unwrap_or_default();
        all.extend(below.into_iter().filter(|pid| known.insert(*pid)));
    }
    all
}

/// Processes that threads of a process have started; `None`: the kernel does not tell.
fn children(process: &str) -> Option<Vec<i32>> {
    let folder = format!("/proc/{process}/task");
    let mut all = Vec::new();
    let mut tells = false;
    for thread in numbers_in(&folder) {
        if let Ok(text) = fs::read_to_string(format!("{folder}/{thread}/children")) {
            tells = true;
            all.extend(
                text.split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<i32>().ok()),
            );
        }
    }
    tells.then_some(all)
}

fn tree_by_table(leader: i32) -> Vec<i32> {
    let table = processes::all();
    let is_of_it = |pid: i32| samples::leader(pid, &table, |of| of == leader) == Some(leader);
    let of_it = table.keys().copied().filter(|pid| is_of_it(*pid));
    of_it.collect()
}

pub(crate) fn numbers_in(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, killpg};
    use tempfile::TempDir;

    use super::*;
    use crate::c_program;
    use crate::cores::{mask, numbers};

    /// So many threads that wait; or, with `churn`, that begin others all the time, and processes of threads.
    const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *wait_on(void *nothing) { for (;;) pause(); }
static void *pass(void *nothing) { usleep(200); return 0; }
static void *churn(void *nothing) {
  for (;;) {
    pthread_t more[4];
    for (int i = 0; i < 4; i++) pthread_create(&more[i], 0, pass, 0);
    usleep(500);
    for (int i = 0; i < 4; i++) pthread_join(more[i], 0);
  }
}
int main(int count, char **words) {
  int threads = atoi(words[1]);
  int churns = !strcmp(words[2], "churn");
  pthread_t one;
  for (int i = 1; i < threads; i++) pthread_create(&one, 0, churns ? churn : wait_on, 0);
  puts("there");
  fflush(stdout);
  for (;;) {
    if (!churns) { pause(); continue; }
    pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 2; i++) pthread_create(&one, 0, pass, 0);
      usleep(3000);
      _exit(0);
    }
    waitpid(child, 0, 0);
  }
}
"#;

    struct Program {
        child: Child,
        _folder: TempDir,
    }

    impl Program {
        fn start(threads: usize, what: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let file = c_program::built(folder.path(), PROGRAM);
            let mut child = Command::new(file)
                .args([&threads.to_string(), what])
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            let mut line = String::new();
            let mut out = BufReader::new(child.stdout.as_mut().unwrap());
            out.read_line(&mut line).unwrap();
            assert_eq!(line, "there\n");
            Self {
                child,
                _folder: folder,
            }
        }

        fn pid(&self) -> i32 {
            i32::try_from(self.child.id()).unwrap()
        }

        /// The cores of each of its threads, and of those of what it has started, as the kernel writes them.
        fn cores(&self) -> Vec<BTreeSet<u32>> {
            let processes = tree(self.pid()).into_iter();
            let threads =
                processes.flat_map(|process| numbers_in(&format!("/proc/{process}/task")));
            let cores = threads.filter_map(|thread| sched_getaffinity(Pid::from_raw(thread)).ok());
            cores.map(|cores| numbers(&cores)).collect()
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            killpg(Pid::from_raw(self.pid()), Signal::SIGKILL).ok();
            self.child.wait().ok();
        }
    }

    fn set(core: u32) -> CpuSet {
        let mut set = CpuSet::new();
        set.set(usize::try_from(core).unwrap()).unwrap();
        set
    }

    #[test]
    fn all_threads_of_a_process_move() {
        // With the longest time that is wanted of a move: half of them take less.
        for (threads, most) in [(1, 1), (100, 10)] {
            let program = Program::start(threads, "wait");
            let mut times = Vec::new();
            let own: Vec<u32> = mask().into_iter().collect();
            for core in own.into_iter().cycle().take(40) {
                let began = Instant::now();
                move_to(program.pid(), &set(core)).unwrap();
                times.push(began.elapsed());
                let cores = program.cores();
                assert_eq!(cores.len(), threads);
                assert!(cores.iter().all(|of| *of == BTreeSet::from([core])));
            }
            times.sort_unstable();
            let median: Duration = times[times.len() / 2];
            println!("a move of {threads} threads: {median:?}");
            assert!(median <= Duration::from_millis(most), "{median:?}");
        }
    }

    #[test]
    fn nothing_is_on_the_old_cores_that_was_begun_meanwhile() {
        let program = Program::start(4, "churn");
        let own: Vec<u32> = mask().into_iter().collect();
        let (mut moved, mut not_moved) = (0, 0);
        for step in 0..400_usize {
            // As good as chance: 7 and the number of cores have seldom a factor in common.
            let core = own[step * 7 % 11 % own.len()];
            match move_to(program.pid(), &set(core)) {
                Ok(()) => moved += 1,
                Err(NotMoved::TooFast) => {
                    // It goes back as far as it can be moved at all.
                    not_moved += 1;
                    continue;
                }
                Err(other) => panic!("{other}"),
            }
            for of in program.cores() {
                assert_eq!(of, BTreeSet::from([core]), "after {step} moves");
            }
        }
        println!("{moved} moves, {not_moved} undone");
        assert!(moved > 0);
    }

    #[test]
    fn what_has_ended_is_not_moved_and_what_the_kernel_has_not_is_no_place() {
        let program = Program::start(1, "wait");
        let before = program.cores();
        let nowhere = set(u32::try_from(CpuSet::count()).unwrap() - 1);
        if !mask().contains(&(u32::try_from(CpuSet::count()).unwrap() - 1)) {
            let refused = move_to(program.pid(), &nowhere);
            assert_eq!(refused, Err(NotMoved::Kernel(Errno::EINVAL)));
            assert_eq!(program.cores(), before);
        }
        let pid = program.pid();
        drop(program);
        assert_eq!(move_to(pid, &set(0)), Err(NotMoved::Gone));
    }
}
