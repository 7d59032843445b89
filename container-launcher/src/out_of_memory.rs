//! Whether the kernel has killed processes for want of memory, by its own counts.

use std::path::Path;

use job::wire::OutOfMemory;

/// Where control groups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Kills so far; `None` where the kernel does not count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kills {
    /// In this process's control group, and those below it.
    group: Option<u64>,
    node: Option<u64>,
}

impl Kills {
    pub(crate) fn so_far() -> Self {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let node = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
        Self {
            group: in_group(Path::new(CGROUPS), &groups),
            node: count(&node),
        }
    }

    /// What has happened since `before`.
    pub(crate) fn since(self, before: Self) -> OutOfMemory {
        if self.group > before.group && before.group.is_some() {
            OutOfMemory::Group
        } else if self.node > before.node && before.node.is_some() {
            OutOfMemory::Node
        } else {
            OutOfMemory::No
        }
    }
}

/// `groups` is what `/proc/self/cgroup` says: `0::PATH` for version 2, `N:memory:PATH` for version 1.
fn in_group(mounts: &Path, groups: &str) -> Option<u64> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = path.trim_start_matches('/');
        let file = match controllers {
            "" => mounts.join(path).join("memory.events"),
            "memory" => mounts.join("memory").join(path).join("memory.oom_control"),
            _ => return None,
        };
        count(&std::fs::read_to_string(file).ok()?)
    })
}

/// All three files have a line `oom_kill N`.
fn count(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_s_own_count_is_the_better_witness() {
        let kills = |group, node| Kills { group, node };
        let before = kills(Some(1), Some(4));
        assert_eq!(before.since(before), OutOfMemory::No);
        assert_eq!(kills(Some(2), Some(5)).since(before), OutOfMemory::Group);
        assert_eq!(kills(Some(1), Some(5)).since(before), OutOfMemory::Node);
        assert_eq!(
            kills(Some(7), None).since(kills(None, None)),
            OutOfMemory::No
        );
    }

    #[test]
    fn both_versions_of_control_groups_are_read() {
        let mounts = tempfile::tempdir().unwrap();
        let mounts = mounts.path();
        let write = |path: &str, text: &str| {
            let path = mounts.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("yarn/c1/memory.events", "low 0\noom 3\noom_kill 2\n");
        write(
            "memory/yarn/c2/memory.oom_control",
            "under_oom 0\noom_kill 9\n",
        );
        assert_eq!(in_group(mounts, "0::/yarn/c1\n"), Some(2));
        assert_eq!(in_group(mounts, "4:memory:/yarn/c2\n0::/\n"), Some(9));
        assert_eq!(in_group(mounts, "4:cpu:/yarn/c2\n"), None);
    }
}
