//! How much of the node's processors this container may use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// Where control groups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";
/// Thousandths in one.
const MILLI: u64 = 1000;

/// Processor time that a container may use, in thousandths of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cores {
    milli: u64,
}

impl Cores {
    #[cfg(test)]
    pub(crate) const fn of(cores: u64) -> Self {
        Self {
            milli: cores * MILLI,
        }
    }

    /// Of this process: its affinity mask, or the quota of its control group where that is less.
    /// A node that tells neither has no limit.
    pub(crate) fn usable() -> Self {
        let mask = match u64::from(in_mask()) {
            0 => u64::MAX,
            cores => cores.saturating_mul(MILLI),
        };
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let quota = quota(Path::new(CGROUPS), &groups).unwrap_or(u64::MAX);
        Self {
            milli: mask.min(quota),
        }
    }

    /// The same, of a process that is bound to these of its cores; none: to all.
    pub(crate) fn usable_of(bound_to: &[u32]) -> Self {
        let bound = match u64::try_from(bound_to.len()).unwrap_or(u64::MAX) {
            0 => u64::MAX,
            cores => cores.saturating_mul(MILLI),
        };
        Self {
            milli: Self::usable().milli.min(bound),
        }
    }

    /// Whole ones, at least one of a quota that is less; 0: no limit is known.
    pub(crate) fn whole(self) -> u32 {
        match self.milli {
            u64::MAX => 0,
            milli => u32::try_from((milli / MILLI).max(1)).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn are_outnumbered_by(self, ranks: usize) -> bool {
        let ranks = u64::try_from(ranks).unwrap_or(u64::MAX);
        ranks.saturating_mul(MILLI) > self.milli
    }
}

/// Cores of the affinity mask; 0: unknown.
fn in_mask() -> u32 {
    u32::try_from(mask().len()).unwrap_or(u32::MAX)
}

/// The numbers of the cores that the calling thread may use; none: unknown.
pub(crate) fn mask() -> BTreeSet<u32> {
    sched_getaffinity(Pid::from_raw(0)).map_or_else(|_| BTreeSet::new(), |mask| numbers(&mask))
}

/// The numbers of the cores of a set.
pub(crate) fn numbers(set: &CpuSet) -> BTreeSet<u32> {
    let all = (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false));
    all.filter_map(|core| u32::try_from(core).ok()).collect()
}

/// The set of those of these cores that the calling thread may use; `None`: of none.
pub(crate) fn set_of(cores: &[u32]) -> Option<CpuSet> {
    let (own, mut set) = (mask(), CpuSet::new());
    let usable = cores.iter().filter(|core| own.contains(core));
    let mut any = false;
    for core in usable {
        any |= set
            .set(usize::try_from(*core).unwrap_or(usize::MAX))
            .is_ok();
    }
    any.then_some(set)
}

/// The least quota on the way from this process's group up to the root, in thousandths of a core.
/// `groups` is what `/proc/self/cgroup` says: `0::PATH` for version 2, `N:cpu,…:PATH` for version 1.
fn quota(mounts: &Path, groups: &str) -> Option<u64> {
    let of_group = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            return upwards(mounts, path, version2);
        }
        let is_cpu = controllers.split(',').any(|name| name == "cpu");
        // Mounted by all its names, or by a link of the one.
        is_cpu
            .then(|| [controllers, "cpu"].map(|name| mounts.join(name)))?
            .iter()
            .find(|mount| mount.is_dir())
            .and_then(|mount| upwards(mount, path, version1))
    };
    groups.lines().filter_map(of_group).min()
}

fn upwards(mount: &Path, path: &str, read: impl Fn(&Path) -> Option<u64>) -> Option<u64> {
    let groups: PathBuf = mount.join(path);
    groups
        .ancestors()
        .take_while(|folder| folder.starts_with(mount))
        .filter_map(read)
        .min()
}

/// `QUOTA PERIOD`, or `max PERIOD`.
fn version2(folder: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(folder.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    share(quota.parse().ok()?, period.parse().ok()?)
}

/// Two files; -1 is no quota.
fn version1(folder: &Path) -> Option<u64> {
    let read = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    share(read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
}

fn share(quota_us: u64, period_us: u64) -> Option<u64> {
    quota_us.checked_mul(MILLI)?.checked_div(period_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        std::fs::create_dir_all(folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn the_narrowest_group_above_counts() {
        let mounts = tempfile::tempdir().unwrap();
        let mounts = mounts.path();
        write(&mounts.join("yarn"), &[("cpu.max", "150000 100000\n")]);
        write(&mounts.join("yarn/c1"), &[("cpu.max", "max 100000\n")]);
        assert_eq!(quota(mounts, "0::/yarn/c1\n"), Some(1500));
        assert_eq!(quota(mounts, "0::/\n"), None);
    }

    #[test]
    fn quotas_of_version_1_are_found_under_either_name() {
        let mounts = tempfile::tempdir().unwrap();
        let mounts = mounts.path();
        let quota_of_two = [
            ("cpu.cfs_quota_us", "200000\n"),
            ("cpu.cfs_period_us", "100000\n"),
        ];
        write(&mounts.join("cpu,cpuacct/yarn"), &quota_of_two);
        write(
            &mounts.join("cpu/free"),
            &[
                ("cpu.cfs_quota_us", "-1\n"),
                ("cpu.cfs_period_us", "100000\n"),
            ],
        );
        assert_eq!(quota(mounts, "3:cpu,cpuacct:/yarn\n"), Some(2000));
        assert_eq!(quota(mounts, "1:cpu:/free\n2:memory:/yarn\n"), None);
    }

    #[test]
    fn outnumbered_means_more_ranks_than_cores() {
        assert!(Cores { milli: 1500 }.are_outnumbered_by(2));
        assert!(!Cores { milli: 2000 }.are_outnumbered_by(2));
        let whole = [250, 1000, 2999, u64::MAX].map(|milli| Cores { milli }.whole());
        assert_eq!(whole, [1, 1, 2, 0]);
        assert!(Cores::usable().are_outnumbered_by(usize::MAX));
    }
}
