//! What processes have started, however far it has gone: groups and sessions of its own do not hide it.
//!
//! Of a process that lives, descendants are found by their parents. Who has lost a parent is handed to this
//! process, which is a subreaper while it runs jobs, and ends with the command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// How often those that are left are looked for, and how long between: what is killed may have started others.
const ROUNDS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A process: its id, and when it was started, by which it is told from another of the same id.
type Born = (i32, u64);

/// All processes: who is whose child.
fn processes() -> BTreeMap<i32, Vec<Born>> {
    let mut children: BTreeMap<i32, Vec<Born>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some((pid, (parent, start))) = pid.and_then(|pid| Some((pid, status(pid)?))) {
            children.entry(parent).or_default().push((pid, start));
        }
    }
    children
}

/// The parent of a process, and when it was started, in ticks since the machine was.
fn status(pid: i32) -> Option<(i32, u64)> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parsed(&String::from_utf8_lossy(&text))
}

/// `PID (NAME) STATE PARENT …`; the name may hold anything, and the 22nd word is the start.
fn parsed(text: &str) -> Option<(i32, u64)> {
    let (_, rest) = text.rsplit_once(") ")?;
    let mut words = rest.split(' ').skip(1);
    let parent = words.next()?.parse().ok()?;
    Some((parent, words.nth(17)?.parse().ok()?))
}

/// All that descends from a process that lives.
pub(super) fn of(pid: u32) -> Vec<Born> {
    let children = processes();
    let mut found = Vec::new();
    let mut next: Vec<i32> = i32::try_from(pid).ok().into_iter().collect();
    while let Some(parent) = next.pop() {
        let here = children.get(&parent).map(Vec::as_slice).unwrap_or_default();
        next.extend(here.iter().map(|(pid, _)| *pid));
        found.extend_from_slice(here);
    }
    found
}

/// Ends those of `born` that are still there.
pub(super) fn end(born: &[Born]) {
    for (pid, start) in born {
        if status(*pid).is_some_and(|(_, now)| now == *start) {
            kill(*pid);
        }
    }
}

fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        kill_process(pid, Signal::KILL).ok();
    }
}

/// Those who lost their parents, once this process was made the one that gets them.
pub(super) struct Orphans {
    /// Children that this process had before.
    others: BTreeSet<Born>,
}

fn own() -> Vec<Born> {
    let this = rustix::process::getpid().as_raw_nonzero().get();
    processes().remove(&this).unwrap_or_default()
}

impl Orphans {
    /// From now on this process gets them.
    pub(super) fn adopt() -> Self {
        let this = rustix::process::getpid();
        // A kernel that refuses leaves them to the first process, and what is found by descent is ended all the same.
        rustix::process::set_child_subreaper(Some(this)).ok();
        Self {
            others: own().into_iter().collect(),
        }
    }

    /// Ends them all; this process has no other children any more.
    pub(super) fn end(self) {
        for _ in 0..ROUNDS {
            let left: Vec<Born> = own()
                .into_iter()
                .filter(|born| !self.others.contains(born))
                .collect();
            if left.is_empty() {
                return;
            }
            for (pid, _) in left {
                kill(pid);
                if let Some(pid) = Pid::from_raw(pid) {
                    waitpid(Some(pid), WaitOptions::NOHANG).ok();
                }
            }
            std::thread::park_timeout(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{end, of, parsed};

    #[test]
    fn a_name_may_hold_what_looks_like_its_end() {
        let rest = "S 7 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 4711 1000";
        assert_eq!(parsed(&format!("12 (a) b) {rest}")), Some((7, 4711)));
        assert_eq!(parsed("12 (a) S 7"), None);
    }

    #[test]
    fn a_child_in_a_session_of_its_own_is_found_and_ended_and_no_other_of_its_id() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "setsid sleep 600 & wait"])
            .spawn()
            .unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let found = loop {
            let found = of(shell.id());
            let command = |pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if found
                .iter()
                .any(|(pid, _)| command(*pid).starts_with(b"sleep"))
            {
                break found;
            }
            assert!(std::time::Instant::now() < until, "{found:?}");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        };
        let later: Vec<_> = found.iter().map(|(pid, start)| (*pid, start + 1)).collect();
        end(&later);
        assert_eq!(of(shell.id()), found, "another of the same id was ended");
        end(&found);
        shell.wait().unwrap();
    }
}
