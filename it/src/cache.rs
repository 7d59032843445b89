//! The folder that keeps what was brought from the network, shared by all processes of a machine.
//!
//! An entry appears under its name only when it is whole: it is made in a neighbouring folder under
//! the cache's lock and renamed at the end. What a killed process left half-made is removed by the
//! next one that takes the lock.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use nix::fcntl::{Flock, FlockArg};

/// Prefix of entries in the making.
const HALF: &str = ".half-";

/// The cache folder.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The folder named by `GERBIL_IT_CACHE`, else `it/.cache` of the source tree.
    #[must_use]
    pub fn find() -> Self {
        let folder = std::env::var_os("GERBIL_IT_CACHE")
            .filter(|value| !value.is_empty())
            .map_or_else(
                || Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache"),
                PathBuf::from,
            );
        Self { folder }
    }

    /// A cache at `folder`.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry `name`, made by `make` if it is not there. `make` receives an empty folder.
    ///
    /// # Errors
    ///
    /// The cache cannot be written, or `make` failed; nothing is left under `name` then.
    pub fn entry(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let entry = self.folder.join(name);
        if entry.is_dir() {
            return Ok(entry);
        }
        let _lock = self.lock()?;
        if entry.is_dir() {
            return Ok(entry);
        }
        self.remove_halves()?;
        let half = self.folder.join(format!("{HALF}{name}"));
        fs::create_dir(&half).with_context(|| format!("making {}", half.display()))?;
        make(&half)?;
        fs::rename(&half, &entry).with_context(|| format!("naming {}", entry.display()))?;
        Ok(entry)
    }

    /// Held by the one process that fetches; the kernel frees it when the process ends.
    fn lock(&self) -> Result<Flock<File>> {
        let advice = || {
            format!(
                "opening the cache {} for writing; GERBIL_IT_CACHE names another folder",
                self.folder.display()
            )
        };
        fs::create_dir_all(&self.folder).with_context(advice)?;
        let path = self.folder.join(".lock");
        let file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(advice)?;
        Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, errno)| errno)
            .with_context(|| format!("locking {}", path.display()))
    }

    fn remove_halves(&self) -> Result<()> {
        for found in fs::read_dir(&self.folder)? {
            let found = found?;
            if found.file_name().to_string_lossy().starts_with(HALF) {
                fs::remove_dir_all(found.path())
                    .with_context(|| format!("removing {}", found.path().display()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn a_half_made_entry_is_never_taken_for_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let failed = cache.entry("jars", |half| {
            fs::write(half.join("first.jar"), "half")?;
            bail!("the network went away")
        });
        assert!(failed.unwrap_err().to_string().contains("network"));
        assert!(!folder.path().join("jars").exists());

        let entry = cache
            .entry("jars", |half| {
                Ok(fs::write(half.join("second.jar"), "whole")?)
            })
            .unwrap();
        let names: Vec<_> = fs::read_dir(entry)
            .unwrap()
            .map(|found| found.unwrap().file_name())
            .collect();
        assert_eq!(names, ["second.jar"]);
    }

    #[test]
    fn an_entry_is_made_once_by_many() {
        let folder = tempfile::tempdir().unwrap();
        let made = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    Cache::at(folder.path()).entry("jars", |_| {
                        made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        Ok(())
                    })
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}
