//! Finds and kills every process of a container, whatever it has done to get away.
//!
//! A process belongs to the container when it descends from the launcher (orphans are handed to
//! the launcher, a subreaper), or when it carries YARN's id of the container in its environment.
//! Never touched: the process that sweeps, the shells above it that YARN started, and those named
//! as spared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::processes::{self, Process};

/// YARN sets it to the container's id in the environment of what it starts.
pub(crate) const MARK_VARIABLE: &str = "CONTAINER_ID";
/// The number of a session's job, in the environment of its ranks.
pub(crate) const JOB_VARIABLE: &str = "GERBIL_JOB";
/// Most of an environment that is looked at, bytes. The kernel's limit for arguments and
/// environment together is a quarter of the stack limit: 2 MiB, unless raised.
const ENVIRONMENT_MAX: u64 = 2 * 1024 * 1024;

/// Who belongs to this container and who must be left alone.
#[derive(Clone, Debug)]
pub(crate) struct Kin {
    container: String,
    spared: BTreeSet<i32>,
}

impl Kin {
    /// Spares this process and all its ancestors.
    pub(crate) fn of_this_process(container: &str) -> Self {
        let parents = processes::all();
        let mut spared = BTreeSet::new();
        let mut pid = Some(Pid::this().as_raw());
        while let Some(current) = pid.filter(|&pid| pid > 0 && spared.insert(pid)) {
            pid = parents.get(&current).map(|process| process.parent);
        }
        Self {
            container: container.to_owned(),
            spared,
        }
    }

    /// Given by another process of the container.
    pub(crate) fn named(container: String, spared: impl IntoIterator<Item = i32>) -> Self {
        Self {
            container,
            spared: spared.into_iter().collect(),
        }
    }

    /// Spares one process more.
    pub(crate) fn sparing(mut self, pid: Pid) -> Self {
        self.spared.insert(pid.as_raw());
        self
    }

    pub(crate) fn container(&self) -> &str {
        &self.container
    }

    pub(crate) fn spared(&self) -> impl Iterator<Item = i32> {
        self.spared.iter().copied()
    }

    /// Kills all that belong to the container once, and tells how many there were. Zero: all are
    /// gone, or are zombies that only wait to be reaped.
    pub(crate) fn kill_all(&self) -> usize {
        let this = Pid::this().as_raw();
        let processes = processes::all();
        let mut killed = 0_usize;
        for (&pid, process) in &processes {
            let ours = !process.is_zombie
                && pid != this
                && !self.spared.contains(&pid)
                && (descends(pid, this, &processes) || self.is_marked(pid));
            if ours && kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok() {
                killed = killed.saturating_add(1);
            }
        }
        killed
    }

    fn is_marked(&self, pid: i32) -> bool {
        let Ok(file) = File::open(format!("/proc/{pid}/environ")) else {
            return false;
        };
        let mut environment = Vec::new();
        // A process that ends meanwhile leaves nothing to read.
        if file
            .take(ENVIRONMENT_MAX)
            .read_to_end(&mut environment)
            .is_err()
        {
            return false;
        }
        let marked = |entry: &[u8]| {
            entry
                .strip_prefix(MARK_VARIABLE.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                == Some(self.container.as_bytes())
        };
        environment.split(|&byte| byte == 0).any(marked)
    }
}

/// Kills all that descend from these processes, which are not killed themselves.
pub(crate) fn kill_descendants(of: &[i32]) {
    let processes = processes::all();
    for (&pid, process) in &processes {
        let ours = of.iter().any(|&leader| descends(pid, leader, &processes));
        if ours && !process.is_zombie {
            // It may have ended in this moment.
            kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
        }
    }
}

fn descends(pid: i32, ancestor: i32, processes: &BTreeMap<i32, Process>) -> bool {
    let mut current = pid;
    // As many steps as there are processes: pids may have changed hands while they were read.
    for _ in 0..processes.len() {
        let Some(process) = processes.get(&current) else {
            return false;
        };
        if process.parent == ancestor {
            return true;
        }
        current = process.parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn this_process_and_its_ancestors_are_spared() {
        let kin = Kin::of_this_process("container_x");
        let spared: Vec<i32> = kin.spared().collect();
        assert!(spared.contains(&Pid::this().as_raw()));
        assert!(spared.contains(&nix::unistd::getppid().as_raw()));
    }

    #[test]
    fn the_mark_is_the_whole_value() {
        let marked = |container: &str| {
            let mut child = Command::new("sleep")
                .arg("60")
                .env(MARK_VARIABLE, "container_sweep_1")
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            // The kernel lets the parent go on a moment before the environment can be read.
            while std::fs::read(format!("/proc/{pid}/environ"))
                .unwrap()
                .is_empty()
            {
                std::thread::yield_now();
            }
            let found = Kin::named(container.to_owned(), []).is_marked(pid);
            child.kill().unwrap();
            child.wait().unwrap();
            found
        };
        assert!(marked("container_sweep_1"));
        assert!(!marked("container_sweep_"));
        assert!(!marked("container_sweep_12"));
    }

    #[test]
    fn one_process_s_descendants_die_and_nobody_else_s() {
        let start = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "sh -c 'sleep 60; exit' & wait; exit 7"]);
            shell.stdout(Stdio::null()).spawn().unwrap()
        };
        let (mut own, mut other) = (start(), start());
        let pid = |child: &std::process::Child| i32::try_from(child.id()).unwrap();
        let descendants = |of: i32| {
            let all = processes::all();
            all.keys().filter(|&&pid| descends(pid, of, &all)).count()
        };
        while descendants(pid(&own)) < 2 || descendants(pid(&other)) < 2 {
            std::thread::yield_now();
        }
        kill_descendants(&[pid(&own)]);
        assert_eq!(own.wait().unwrap().code(), Some(7));
        assert_eq!(descendants(pid(&other)), 2);
        assert!(other.try_wait().unwrap().is_none());
        kill_descendants(&[pid(&other)]);
        other.wait().unwrap();
    }
}
