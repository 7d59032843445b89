//! The folder of one run, which is gone after it.
//!
//! Folders of one user lie side by side under `gerbil-local-UID` in the folder for temporary files.
//! Each is held by a lock as long as its process lives; the kernel lets go of the lock however that
//! ends. A run first removes folders that nobody holds, and results that lie beside them for too long.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use crate::MiniError;

/// The nodes run as the user, so nobody else has anything to look for: neither what is staged, nor the lock, which
/// another could hold for ever.
const FOLDER_MODE: u32 = 0o700;
const LOCK_MODE: u32 = 0o600;
const LOCK: &str = "lock";
/// Of the folders beside one another.
const PREFIX: &str = "run-";

/// A folder that is removed when this is dropped, or by the next run.
#[derive(Debug)]
pub struct RunFolder {
    folder: TempDir,
    _lock: Flock<File>,
}

impl RunFolder {
    /// How the name of a folder begins that lies beside the folders of runs and has what a run could not bring to its
    /// user.
    pub const RESULTS: &str = "results-";
    /// For how many days such a folder stays after its last modification.
    pub const RESULTS_DAYS: u64 = 7;

    /// Makes a new one under `base`, such as `/tmp`, and removes those that dead processes left
    /// there, and results that were kept there for [`Self::RESULTS_DAYS`].
    ///
    /// # Errors
    ///
    /// When a folder cannot be made, or the one above belongs to somebody else.
    pub fn create(base: &Path) -> Result<Self, MiniError> {
        let uid = nix::unistd::geteuid();
        let shared = Self::of_user(base);
        let failed = |doing, path: &Path| {
            let path = path.to_owned();
            move |source| MiniError::File {
                doing,
                path,
                source,
            }
        };
        match DirBuilder::new().mode(FOLDER_MODE).create(&shared) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed("making the folder", &shared)(error));
            }
            Ok(()) | Err(_) => {}
        }
        let metadata = fs::symlink_metadata(&shared).map_err(failed("looking at", &shared))?;
        if !metadata.is_dir() || metadata.uid() != uid.as_raw() {
            let words = io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to somebody else; set TMPDIR to a folder of your own",
            );
            return Err(failed("using the folder", &shared)(words));
        }
        // Whatever the mask of new files is, and whoever made it.
        open_to_us(&shared, FOLDER_MODE).map_err(failed("closing to others", &shared))?;
        remove_left(&shared);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(FOLDER_MODE))
            .tempdir_in(&shared)
            .map_err(failed("making a folder in", &shared))?;
        open_to_us(folder.path(), FOLDER_MODE).map_err(failed("opening", folder.path()))?;
        let path = folder.path().join(LOCK);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(LOCK_MODE);
        let file = options.open(&path).map_err(failed("making", &path))?;
        open_to_us(&path, LOCK_MODE).map_err(failed("opening", &path))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        let mut lock = lock.map_err(|(_file, errno)| failed("locking", &path)(errno.into()))?;
        lock.write_all(b"1").map_err(failed("writing", &path))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where folders of this user lie below `base`.
    #[must_use]
    pub fn of_user(base: &Path) -> PathBuf {
        base.join(format!("gerbil-local-{}", nix::unistd::geteuid()))
    }

    /// Folders of runs in `shared` ([`Self::of_user`]) whose processes are gone.
    #[must_use]
    pub fn left(shared: &Path) -> Vec<PathBuf> {
        named(shared, PREFIX, &is_left)
    }

    /// Those whose processes live, or may.
    #[must_use]
    pub fn live(shared: &Path) -> Vec<PathBuf> {
        named(shared, PREFIX, &|path| !is_left(path))
    }

    /// Results that lie beside them.
    #[must_use]
    pub fn results(shared: &Path) -> Vec<PathBuf> {
        named(shared, Self::RESULTS, &|_any| true)
    }

    /// Whether the process lives whose folder `path` is.
    #[must_use]
    pub fn is_held(path: &Path) -> bool {
        File::open(path.join(LOCK)).is_ok_and(|file| {
            let lock = Flock::lock(file, FlockArg::LockSharedNonblock);
            lock.is_err()
        })
    }
}

/// Sets the mode that was asked for: the user's mask of new files may have cut it.
fn open_to_us(path: &Path, mode: u32) -> io::Result<()> {
    match fs::symlink_metadata(path)?.mode() & 0o777 == mode {
        true => Ok(()),
        false => fs::set_permissions(path, Permissions::from_mode(mode)),
    }
}

/// The folders in `shared` whose names begin so; none where `shared` is not the user's own.
fn named(shared: &Path, prefix: &str, is: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let uid = nix::unistd::geteuid().as_raw();
    let is_own = fs::symlink_metadata(shared).is_ok_and(|own| own.is_dir() && own.uid() == uid);
    let entries = fs::read_dir(shared).into_iter().flatten().flatten();
    let begins = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with(prefix));
    let mut all: Vec<PathBuf> = entries
        .filter(|entry| is_own && begins(&entry.file_name()))
        .map(|entry| entry.path())
        .filter(|path| is(path))
        .collect();
    all.sort();
    all
}

/// Removes folders whose process is gone, and results that are old.
fn remove_left(shared: &Path) {
    let Ok(entries) = fs::read_dir(shared) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let is_left = (name.starts_with(PREFIX) && is_left(&path))
            || (name.starts_with(RunFolder::RESULTS) && are_old(&path));
        if is_left {
            tracing::debug!(path = %path.display(), "removing what a run has left");
            let _stays = fs::remove_dir_all(&path).is_err();
        }
    }
}

/// How long a start may be between making its folder and locking it.
const BIRTH: Duration = Duration::from_secs(60);

fn is_left(path: &Path) -> bool {
    let Some(age) = age(path) else {
        return false;
    };
    match File::open(path.join(LOCK)) {
        // Locked at its making, or a moment later.
        Ok(file) => {
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            let free = Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok();
            // The lock file gets its first byte only after it is locked.
            free && (length > 0 || age >= BIRTH)
        }
        Err(_none) => age >= BIRTH,
    }
}

/// Whether results were there for long enough, and no process holds them.
fn are_old(results: &Path) -> bool {
    let most = Duration::from_secs(RunFolder::RESULTS_DAYS * 24 * 60 * 60);
    age(results).is_some_and(|age| age >= most) && !RunFolder::is_held(results)
}

/// Since when a folder was not modified. `None`: there is no folder, or it is of the future.
fn age(folder: &Path) -> Option<Duration> {
    let metadata = fs::symlink_metadata(folder).ok()?;
    let modified = metadata.modified().ok()?;
    modified.elapsed().ok().filter(|_| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_with_its_owner_and_a_dead_one_by_the_next() {
        let base = tempfile::tempdir().unwrap();
        let first = RunFolder::create(base.path()).unwrap();
        let path = first.path().to_owned();
        let second = RunFolder::create(base.path()).unwrap();
        assert!(path.exists(), "a living run's folder stays");
        assert!(RunFolder::is_held(&path));
        drop(first);
        assert!(!path.exists() && !RunFolder::is_held(&path));

        // As kill -9 leaves it: locked once, and the lock gone with the process.
        let dead = second.path().parent().unwrap().join("run-dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "1").unwrap();
        assert!(!RunFolder::is_held(&dead));
        let shared = RunFolder::of_user(base.path());
        fs::create_dir(shared.join("results-1")).unwrap();
        assert_eq!(RunFolder::left(&shared), std::slice::from_ref(&dead));
        assert_eq!(RunFolder::live(&shared), [second.path()]);
        assert_eq!(RunFolder::results(&shared), [shared.join("results-1")]);
        let _third = RunFolder::create(base.path()).unwrap();
        assert!(!dead.exists());
        assert!(second.path().exists());
    }

    #[test]
    fn nobody_else_may_look_into_it_or_hold_its_lock() {
        let base = tempfile::tempdir().unwrap();
        let uid = nix::unistd::geteuid();
        // As an earlier version left it.
        let shared = base.path().join(format!("gerbil-local-{uid}"));
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o711)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        for mask in [0o022, 0o077, 0, 0o777] {
            let top = base.path().to_owned();
            let with_a_mask = move || {
                // The mask of this thread alone.
                nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).unwrap();
                nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(mask));
                RunFolder::create(&top).unwrap()
            };
            let folder = std::thread::spawn(with_a_mask).join().unwrap();
            assert_eq!(mode(&shared), 0o700, "{mask:o}");
            assert_eq!(mode(folder.path()), 0o700, "{mask:o}");
            assert_eq!(mode(&folder.path().join(LOCK)), 0o600, "{mask:o}");
        }
    }

    #[test]
    fn a_folder_that_is_just_being_made_stays() {
        let base = tempfile::tempdir().unwrap();
        let held = RunFolder::create(base.path()).unwrap();
        let young = held.path().parent().unwrap().join("run-young");
        fs::create_dir(&young).unwrap();
        let _other = RunFolder::create(base.path()).unwrap();
        assert!(young.exists());
    }

    #[test]
    fn results_stay_for_days_and_go_with_the_next_run_after_that() {
        let base = tempfile::tempdir().unwrap();
        let run = RunFolder::create(base.path()).unwrap();
        let shared = run.path().parent().unwrap().to_owned();
        let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
        let most = RunFolder::RESULTS_DAYS;
        let results = |name: &str, age: Duration| {
            let folder = shared.join(name);
            fs::create_dir_all(folder.join("0")).unwrap();
            fs::write(folder.join("0/log"), "text").unwrap();
            fs::write(folder.join(LOCK), "1").unwrap();
            let then = std::time::SystemTime::now() - age;
            File::open(&folder).unwrap().set_modified(then).unwrap();
            folder
        };
        let young = results("results-1-1", days(most) - Duration::from_secs(3600));
        let old = results("results-1-2", days(most));
        let held = results("results-1-3", days(most + 1));
        let other = results("other", days(most + 1));
        let lock = File::open(held.join(LOCK)).unwrap();
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).unwrap();
        drop(RunFolder::create(base.path()).unwrap());
        let there = [&young, &old, &held, &other].map(|folder| folder.exists());
        assert_eq!(there, [true, false, true, true]);
        drop(lock);
        drop(RunFolder::create(base.path()).unwrap());
        assert!(young.exists() && !held.exists());
    }
}
