//! Finds and kills every process of a container, whatever it has done to get away.
//!
//! A process belongs to the container when it descends from the launcher (orphans are handed to
//! the launcher, a subreaper), or when it carries YARN's id of the container in its environment.
//! Never touched: the process that sweeps, the shells above it that YARN started, and those named
//! as spared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;

use job::JobId;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::processes::{self, ProcessStat};

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

    /// Kills once all that are a job's, which is told by the processes that lead them or, where these are
    /// gone, by the job's number; and, where no process of another job leads any, those that are nobody's.
    /// How many there were.
    pub(crate) fn kill_of(&self, job: JobId, leaders: &BTreeMap<i32, JobId>) -> usize {
        let this = Pid::this().as_raw();
        let processes = processes::all();
        let is_alone = leaders.values().all(|of| *of == job);
        let mut killed = 0_usize;
        for (&pid, process) in &processes {
            if process.is_zombie || pid == this || self.spared.contains(&pid) {
                continue;
            }
            let above = descent(pid, &processes).take_while(|&pid| pid != this);
            let above: Vec<i32> = above.collect();
            let led = above.iter().find_map(|pid| leaders.get(pid).copied());
            let is_own = led.is_some() || descends(pid, this, &processes);
            // To read what everybody on the node was given takes its time.
            let is_kin = is_own || (is_alone && self.is_marked(pid));
            if !is_kin {
                continue;
            }
            let ours = match led.or_else(|| above.iter().find_map(|&pid| self.job_of(pid))) {
                Some(of) => of == job,
                None => is_alone,
            };
            if ours && kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok() {
                killed = killed.saturating_add(1);
            }
        }
        killed
    }

    fn is_marked(&self, pid: i32) -> bool {
        let environment = environment(pid);
        value(&environment, MARK_VARIABLE) == Some(self.container.as_bytes())
    }

    /// The session's job that a process of this container was started for, as its environment has it.
    fn job_of(&self, pid: i32) -> Option<JobId> {
        let environment = environment(pid);
        if value(&environment, MARK_VARIABLE) != Some(self.container.as_bytes()) {
            return None;
        }
        let number = std::str::from_utf8(value(&environment, JOB_VARIABLE)?).ok()?;
        number.parse().ok().map(JobId)
    }
}

/// What a process was given; nothing where it has ended.
fn environment(pid: i32) -> Vec<u8> {
    let mut environment = Vec::new();
    let Ok(file) = File::open(format!("/proc/{pid}/environ")) else {
        return environment;
    };
    match file.take(ENVIRONMENT_MAX).read_to_end(&mut environment) {
        Ok(_) => environment,
        Err(_) => Vec::new(),
    }
}

/// What a variable has there.
fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut entries = environment.split(|&byte| byte == 0);
    entries.find_map(|entry| {
        let rest = entry.strip_prefix(name.as_bytes())?;
        rest.strip_prefix(b"=")
    })
}

/// A process and all above it.
fn descent(pid: i32, processes: &BTreeMap<i32, ProcessStat>) -> impl Iterator<Item = i32> {
    let parent = |pid: &i32| processes.get(pid).map(|process| process.parent);
    // As many steps as there are processes: pids may have changed hands while they were read.
    std::iter::successors(Some(pid), parent).take(processes.len())
}

fn descends(pid: i32, ancestor: i32, processes: &BTreeMap<i32, ProcessStat>) -> bool {
    descent(pid, processes)
        .skip(1)
        .any(|above| above == ancestor)
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

    /// A shell with a child and an orphan, all of a job.
    fn start(container: &str, job: &str) -> std::process::Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'sleep 60 & sleep 60; exit' & wait; exit 7"]);
        shell.env(MARK_VARIABLE, container).env(JOB_VARIABLE, job);
        shell.stdout(Stdio::null()).spawn().unwrap()
    }

    /// Those below it that are alive.
    fn descendants(of: i32) -> usize {
        let all = processes::all();
        let alive = all.iter().filter(|(_, process)| !process.is_zombie);
        alive.filter(|&(&pid, _)| descends(pid, of, &all)).count()
    }

    #[test]
    fn what_is_one_job_s_dies_and_nobody_else_s() {
        const ALONE: &str = "GERBIL_SWEEP_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            // In a process of its own: what nobody leads is killed, too, and other tests have children here.
            let name = "sweep::tests::what_is_one_job_s_dies_and_nobody_else_s";
            let own = std::env::current_exe().unwrap();
            let mut alone = Command::new(own);
            alone.args(["--exact", name]).env(ALONE, "1");
            let told = alone.output().unwrap();
            let printed = String::from_utf8_lossy(&told.stdout);
            assert!(
                told.status.success() && printed.contains("1 passed"),
                "{printed}"
            );
            return;
        }
        // As a launcher is: whose parent has ended stays below it, and is looked at until it is gone.
        nix::sys::prctl::set_child_subreaper(true).unwrap();
        let container = "container_sweep_jobs";
        let kin = Kin::of_this_process(container);
        let (mut led, mut orphaned, mut other) = (
            start(container, "7"),
            start(container, "7"),
            start(container, "8"),
        );
        let pid = |child: &std::process::Child| i32::try_from(child.id()).unwrap();
        for shell in [&led, &orphaned, &other] {
            while descendants(pid(shell)) < 3 {
                std::thread::yield_now();
            }
        }
        // What one process leads, and what nobody leads but carries the number.
        let leaders = BTreeMap::from([(pid(&led), JobId(7)), (pid(&other), JobId(8))]);
        // One that is on its way into another program has no environment to be known by: the next look has.
        assert!(kin.kill_of(JobId(7), &leaders) > 0);
        led.wait().unwrap();
        orphaned.wait().unwrap();
        while kin.kill_of(JobId(7), &leaders) > 0 {
            std::thread::yield_now();
        }
        assert_eq!(descendants(pid(&other)), 3);
        assert!(other.try_wait().unwrap().is_none());
        // Without anybody else of the launcher's: not even then, as it says whose it is.
        assert_eq!(kin.kill_of(JobId(7), &BTreeMap::new()), 0);
        assert!(kin.kill_of(JobId(8), &leaders) > 0);
        other.wait().unwrap();
    }
}
