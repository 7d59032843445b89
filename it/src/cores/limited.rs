//! One group, whose share of the processors changes while its processes run.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{Controller, Groups, set_limit, write};

/// A group of processes that may have so much of the processors together. Dropping it removes it; its processes must
/// have ended.
#[derive(Debug)]
pub struct LimitedGroup {
    /// What holds the group; it is removed with it.
    _groups: Groups,
    group: PathBuf,
    controller: Controller,
}

impl LimitedGroup {
    /// An empty one, of so many thousandths of a processor.
    ///
    /// # Errors
    ///
    /// The kernel refused; what was made is removed. So for all here.
    pub fn make(controller: Controller, thousandths: u64) -> Result<Self> {
        let groups = Groups::make(&controller)?;
        let group = groups.group(&controller, "limited", thousandths)?;
        Ok(Self {
            _groups: groups,
            group,
            controller,
        })
    }

    /// Takes in a process with all of its threads, and whatever it starts from now on.
    ///
    /// # Errors
    ///
    /// As [`LimitedGroup::make`].
    pub fn take(&self, pid: i32) -> Result<()> {
        write(&self.group.join("cgroup.procs"), &pid.to_string())
    }

    /// From now on it may have so many thousandths of a processor.
    ///
    /// # Errors
    ///
    /// As [`LimitedGroup::make`].
    pub fn limit(&self, thousandths: u64) -> Result<()> {
        set_limit(&self.controller, &self.group, thousandths)
    }

    /// Of the scheduler's periods so far.
    ///
    /// # Errors
    ///
    /// As [`LimitedGroup::make`].
    pub fn periods(&self) -> Result<Periods> {
        let path = self.group.join("cpu.stat");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Periods::of(&text).with_context(|| format!("{} says {text:?}", path.display()))
    }
}

/// Periods in which a group computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// All of them.
    pub all: u64,
    /// Those in which it had used up its share, and some of it had to wait.
    pub used_up: u64,
}

impl Periods {
    /// Of `cpu.stat`, in either version.
    fn of(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            let (_, value) = lines.find(|(found, _)| *found == name)?;
            value.trim().parse().ok()
        };
        Some(Self {
            all: value("nr_periods")?,
            used_up: value("nr_throttled")?,
        })
    }

    /// Since `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            used_up: self.used_up.saturating_sub(before.used_up),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_in_either_version() {
        let one = "nr_periods 7\nnr_throttled 3\nthrottled_time 12\n";
        let two = "usage_usec 9\nuser_usec 9\nnr_periods 9\nnr_throttled 4\nthrottled_usec 5\n";
        let found = Periods::of(one).unwrap();
        assert_eq!((found.all, found.used_up), (7, 3));
        let later = Periods::of(two).unwrap().since(found);
        assert_eq!((later.all, later.used_up), (2, 1));
        assert_eq!(Periods::of("usage_usec 9\n"), None);
    }
}
