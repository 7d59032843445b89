//! The processor time that everything around the ranks uses while they run.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use it::{Cluster, Daemon, wait};

/// Who a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The command that was started: `gerbil-run`, or `mpiexec`.
    Command,
    /// Of `gerbil-run`.
    ApplicationMaster,
    /// Of `gerbil-run`, on all nodes together.
    Launchers,
    /// Of Hadoop, on all nodes together.
    NodeDaemons,
    /// Of Hadoop: those that have machines of their own on a cluster of many.
    Masters,
}

const fn role(daemon: Daemon) -> Role {
    match daemon {
        Daemon::NodeManager(_) | Daemon::DataNode | Daemon::DataNodeOf(_) => Role::NodeDaemons,
        Daemon::ZooKeeper
        | Daemon::ResourceManager
        | Daemon::SecondResourceManager
        | Daemon::NameNode => Role::Masters,
    }
}

/// An argument that no user types.
const ROLES: [(&str, Role); 2] = [
    ("--as=appmaster", Role::ApplicationMaster),
    ("--as=container-launcher", Role::Launchers),
];

/// Shares of one core, in percent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account(BTreeMap<Role, f64>);

/// Nanoseconds of each thread of the processes of each role.
type Threads = BTreeMap<(Role, u32, String), u64>;

impl Account {
    /// Over the next `window` of time.
    pub(crate) fn over(window: Duration, cluster: &Cluster, command: u32) -> Result<Self> {
        let processes = processes(cluster, command)?;
        let (begin, before) = (Instant::now(), threads(&processes));
        wait::pause(window);
        let (after, took) = (threads(&processes), begin.elapsed());
        Ok(Self::between(&before, &after, took))
    }

    fn between(before: &Threads, after: &Threads, took: Duration) -> Self {
        let mut shares = BTreeMap::new();
        for (thread, time) in after {
            let used = time.saturating_sub(before.get(thread).copied().unwrap_or(0));
            let share = 100.0 * Duration::from_nanos(used).div_duration_f64(took);
            *shares.entry(thread.0).or_default() += share;
        }
        Self(shares)
    }

    /// Of all roles together.
    pub(crate) fn all(&self) -> f64 {
        self.0.values().sum()
    }

    pub(crate) fn of(&self, role: Role) -> f64 {
        self.0.get(&role).copied().unwrap_or(0.0)
    }
}

fn processes(cluster: &Cluster, command: u32) -> Result<Vec<(Role, u32)>> {
    let mut processes = vec![(Role::Command, command)];
    let daemons = cluster.all_daemons().into_iter();
    let daemons =
        daemons.filter_map(|daemon| Some((role(daemon), cluster.daemon_process(daemon)?)));
    processes.extend(daemons);
    for found in cluster.container_processes()? {
        let second = found.arguments.get(1);
        let role = ROLES
            .iter()
            .find(|(word, _)| second.is_some_and(|second| second == word));
        if let Some((_, role)) = role {
            let id = u32::try_from(found.pid).context("a process id")?;
            processes.push((*role, id));
        }
    }
    Ok(processes)
}

/// What the scheduler has noted, in nanoseconds; the clock ticks of `/proc/PID/stat` are too coarse.
/// Threads that end in between are left out.
fn threads(processes: &[(Role, u32)]) -> Threads {
    let mut threads = Threads::new();
    for &(role, process) in processes {
        let tasks = fs::read_dir(format!("/proc/{process}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let text = fs::read_to_string(task.path().join("schedstat"));
            let time = text
                .ok()
                .and_then(|text| text.split(' ').next()?.parse().ok());
            if let Some(time) = time {
                let thread = task.file_name().to_string_lossy().into_owned();
                threads.insert((role, process, thread), time);
            }
        }
    }
    threads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_added_up_by_role() {
        let thread = |role, process, thread: &str| (role, process, thread.to_owned());
        let before: Threads = [
            (thread(Role::Launchers, 7, "7"), 1_000_000),
            (thread(Role::Launchers, 8, "8"), 5_000_000),
        ]
        .into();
        let after: Threads = [
            (thread(Role::Launchers, 7, "7"), 3_000_000),
            (thread(Role::Launchers, 8, "8"), 6_000_000),
            (thread(Role::Launchers, 8, "9"), 1_000_000),
            (thread(Role::Command, 5, "5"), 0),
        ]
        .into();
        let account = Account::between(&before, &after, Duration::from_millis(100));
        assert!((account.of(Role::Launchers) - 4.0).abs() < 1e-9);
        assert!(account.of(Role::Command).abs() < 1e-9);
        assert!((account.all() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn this_process_uses_something() {
        let own = [(Role::Command, std::process::id())];
        let before = threads(&own);
        let begin = Instant::now();
        let mut sum = 0_u64;
        while begin.elapsed() < Duration::from_millis(50) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let account = Account::between(&before, &threads(&own), begin.elapsed());
        assert!(account.of(Role::Command) > 0.0);
    }
}
