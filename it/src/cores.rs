//! Slow cores: control groups of which each lets its processes have a small share of one processor, so
//! that nodes of one machine have a capacity each, and together less than the machine has.
//!
//! A program linked with `programs/slow_core.c` puts its own process into one at the end of `MPI_Init`. So the
//! daemons of a node, and what starts the program, are not slowed. [`LimitedGroup`] is one group for processes that
//! run already, whose share changes while they run. The groups are gone when their owner is dropped, and those of a
//! process that was killed when the next one makes its own.

mod limited;

pub use limited::{LimitedGroup, Periods};

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::wait;

/// Of the scheduler's accounting; a share is of this. Whoever has used up its share waits for the next
/// period, also for a message: with a longer one, meeting would take longer than computing.
const PERIOD_US: u64 = 20_000;
/// Begins the name of every folder of ours; the process id follows.
const NAME: &str = "gerbil-slow-cores-";
/// The last processes are on their way out.
const EMPTY: Duration = Duration::from_secs(5);

/// Where processor time is shared out, by the version of the kernel's control groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Controller {
    /// Version 1, mounted here.
    One(PathBuf),
    /// Version 2, mounted here.
    Two(PathBuf),
}

impl Controller {
    /// The one that limits processor time, of those that `/proc/self/mounts` shows. `has_cpu` says it of
    /// version 2, where all controllers share one tree.
    fn of(mounts: &str, has_cpu: impl Fn(&Path) -> bool) -> Option<Self> {
        let lines = mounts.lines().map(|line| line.split(' '));
        let mut found = lines.filter_map(|mut fields| {
            let (_, at, kind, options) = (
                fields.next()?,
                fields.next()?,
                fields.next()?,
                fields.next()?,
            );
            let at = PathBuf::from(at);
            match kind {
                "cgroup" if options.split(',').any(|option| option == "cpu") => Some(Self::One(at)),
                "cgroup2" if has_cpu(&at) => Some(Self::Two(at)),
                _ => None,
            }
        });
        found.next()
    }

    /// This machine's.
    ///
    /// # Errors
    ///
    /// The caller is not root, or the kernel has no such thing.
    pub fn find() -> Result<Self> {
        ensure!(
            nix::unistd::geteuid().is_root(),
            "slow nodes are control groups, which only root can make: run this as root"
        );
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let has_cpu = |at: &Path| {
            let all = fs::read_to_string(at.join("cgroup.controllers")).unwrap_or_default();
            all.split_whitespace().any(|name| name == "cpu")
        };
        Self::of(&mounts, has_cpu).context(
            "slow nodes want the kernel's cpu controller, which is not mounted: \
             mount -t cgroup -o cpu none /sys/fs/cgroup/cpu",
        )
    }

    fn root(&self) -> &Path {
        match self {
            Self::One(root) | Self::Two(root) => root,
        }
    }

    /// Lets the groups below `folder` have limits of their own.
    fn open(&self, folder: &Path) -> Result<()> {
        match self {
            Self::One(_) => Ok(()),
            Self::Two(_) => write(&folder.join("cgroup.subtree_control"), "+cpu"),
        }
    }

    /// File and value by which the groups below one come before all else of the machine: what they may have
    /// they get.
    const fn first(&self) -> (&'static str, &'static str) {
        match self {
            Self::One(_) => ("cpu.shares", "262144"),
            Self::Two(_) => ("cpu.weight", "10000"),
        }
    }

    /// Files and values that limit a group to so many thousandths of a processor.
    fn limit(&self, thousandths: u64) -> Vec<(&'static str, String)> {
        let quota = PERIOD_US * thousandths / 1000;
        match self {
            Self::One(_) => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", quota.to_string()),
            ],
            Self::Two(_) => vec![("cpu.max", format!("{quota} {PERIOD_US}"))],
        }
    }
}

fn write(path: &Path, value: &str) -> Result<()> {
    fs::write(path, value).with_context(|| format!("writing {value} to {}", path.display()))
}

/// The folder of this process's groups, which come before all else of the machine. Dropping it removes them; whatever
/// runs in them must have ended.
#[derive(Debug)]
struct Groups {
    folder: PathBuf,
}

impl Groups {
    fn make(controller: &Controller) -> Result<Self> {
        remove_forgotten(controller.root());
        let folder = controller
            .root()
            .join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
        let made = Self { folder };
        controller.open(controller.root())?;
        controller.open(&made.folder)?;
        let (file, value) = controller.first();
        write(&made.folder.join(file), value)?;
        Ok(made)
    }

    /// A group of so many thousandths of a processor.
    fn group(&self, controller: &Controller, name: &str, thousandths: u64) -> Result<PathBuf> {
        let group = self.folder.join(name);
        fs::create_dir(&group).with_context(|| format!("making {}", group.display()))?;
        set_limit(controller, &group, thousandths)?;
        Ok(group)
    }
}

fn set_limit(controller: &Controller, group: &Path, thousandths: u64) -> Result<()> {
    let files = controller.limit(thousandths).into_iter();
    let mut files = files.map(|(file, value)| write(&group.join(file), &value));
    files.try_for_each(|written| written)
}

/// The cores of some nodes. Dropping it removes them; whatever runs on them must have ended.
#[derive(Debug)]
pub struct SlowCores {
    groups: Groups,
    of_node: u32,
}

impl SlowCores {
    /// So many cores for each of the nodes, each as fast as `thousandths` of a processor.
    ///
    /// # Errors
    ///
    /// The kernel refused; what was made is removed.
    pub fn make(
        controller: &Controller,
        nodes: &[String],
        of_node: u32,
        thousandths: u64,
    ) -> Result<Self> {
        let groups = Groups::make(controller)?;
        for core in nodes
            .iter()
            .flat_map(|node| (0..of_node).map(move |core| (node, core)))
        {
            // As the program writes it.
            groups.group(controller, &format!("{}.{}", core.0, core.1), thousandths)?;
        }
        Ok(Self { groups, of_node })
    }

    /// Options of `gerbil-run` by which a program finds them.
    #[must_use]
    pub fn options(&self) -> [String; 4] {
        [
            "-x".to_owned(),
            format!("SLOW_CORES={}", self.groups.folder.display()),
            "-x".to_owned(),
            format!("SLOW_CORES_OF_NODE={}", self.of_node),
        ]
    }
}

impl Drop for Groups {
    #[expect(
        clippy::print_stderr,
        reason = "what could not be removed is said where a command says what went wrong, and drop \
                  returns nothing"
    )]
    fn drop(&mut self) {
        let removed = wait::until("no process on a slow core", EMPTY, || {
            Ok(remove(&self.folder).is_ok().then_some(()))
        });
        if let Err(error) = removed {
            eprintln!("removing {}: {error:#}", self.folder.display());
        }
    }
}

/// A folder of groups without processes. The files in it are the kernel's and go with it.
fn remove(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            fs::remove_dir(&path)?;
        }
    }
    fs::remove_dir(folder)?;
    Ok(())
}

/// What commands left that were killed. Groups in which something still runs stay.
fn remove_forgotten(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(NAME));
        if maker.is_some_and(|maker| !Path::new("/proc").join(maker).exists()) {
            let _stays_then = remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_is_found_in_either_version() {
        let old = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                   cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n\
                   cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n\
                   cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
        let found = Controller::of(old, |_| false).unwrap();
        assert_eq!(found, Controller::One("/sys/fs/cgroup/cpu,cpuacct".into()));
        assert_eq!(
            found.limit(50),
            [
                ("cpu.cfs_period_us", "20000".to_owned()),
                ("cpu.cfs_quota_us", "1000".to_owned())
            ]
        );
        let new = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        let found = Controller::of(new, |at| at == Path::new("/sys/fs/cgroup")).unwrap();
        assert_eq!(found, Controller::Two("/sys/fs/cgroup".into()));
        assert_eq!(found.limit(50), [("cpu.max", "1000 20000".to_owned())]);
        assert_eq!(Controller::of(new, |_| false), None);
    }

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let root = tempfile::tempdir().unwrap();
        // No process has this id: it is above the kernel's greatest.
        let dead = root.path().join(format!("{NAME}4194305"));
        let alive = root.path().join(format!("{NAME}{}", std::process::id()));
        let other = root.path().join("docker");
        for folder in [&dead, &alive, &other] {
            fs::create_dir_all(folder.join("127.1.0.11.0")).unwrap();
        }
        remove_forgotten(root.path());
        assert!(!dead.exists() && alive.exists() && other.exists());
    }
}
