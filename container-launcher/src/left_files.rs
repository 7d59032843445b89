//! What ranks have written beside their program: it goes with the container.

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::path::Path;

/// Names that are told of one container, at most.
const TOLD_MAX: usize = 20;
/// Entries of a folder that are looked at.
const LOOKED_MAX: usize = 10_000;

/// What the working directory had before the ranks began.
#[derive(Debug, Default)]
pub(crate) struct Before(BTreeSet<String>);

impl Before {
    pub(crate) fn of(folder: &Path) -> Self {
        Self(entries(folder).map(|(name, _)| name).collect())
    }

    /// Files and folders that have come since, in order; a folder's name ends with a slash. Hidden ones
    /// are our own or the cluster's.
    pub(crate) fn since(&self, folder: &Path) -> Vec<String> {
        let mut found: Vec<String> = entries(folder)
            .filter(|(name, _)| !name.starts_with('.') && !self.0.contains(name))
            .filter_map(|(name, entry)| match entry.file_type().ok()? {
                kind if kind.is_dir() => Some(format!("{name}/")),
                kind if kind.is_file() => Some(name),
                _ => None,
            })
            .collect();
        sort::ascending(&mut found);
        found.truncate(TOLD_MAX);
        found
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = (String, DirEntry)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .take(LOOKED_MAX)
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_since_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| std::fs::write(folder.path().join(name), "x").unwrap();
        write("cpi");
        let before = Before::of(folder.path());
        assert_eq!(before.since(folder.path()), [""; 0]);
        write("log.lammps");
        write(".gerbil-waits-0");
        std::fs::create_dir(folder.path().join("dump")).unwrap();
        std::os::unix::fs::symlink("cpi", folder.path().join("link")).unwrap();
        assert_eq!(before.since(folder.path()), ["dump/", "log.lammps"]);
    }
}
