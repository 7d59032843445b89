//! The folder of one run, which is gone after it.
//!
//! Folders of one user lie side by side under `gerbil-local-UID` in the folder for temporary files.
//! Each is held by a lock as long as its process lives; the kernel lets go of the lock however that
//! ends. A run first removes folders that nobody holds.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

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
    /// Makes a new one under `base`, such as `/tmp`, and removes those that dead processes left
    /// there.
    ///
    /// # Errors
    ///
    /// When a folder cannot be made, or the one above belongs to somebody else.
    pub fn create(base: &Path) -> Result<Self, MiniError> {
        let uid = nix::unistd::geteuid();
        let shared = base.join(format!("gerbil-local-{uid}"));
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

/// Removes folders whose process is gone.
fn remove_left(shared: &Path) {
    let Ok(entries) = fs::read_dir(shared) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && is_left(&path) {
            tracing::debug!(path = %path.display(), "removing what a dead process left");
            let _stays = fs::remove_dir_all(&path).is_err();
        }
    }
}

/// How long a start may be between making its folder and locking it.
const BIRTH: std::time::Duration = std::time::Duration::from_secs(60);

fn is_left(path: &Path) -> bool {
    let Ok(age) = fs::metadata(path).and_then(|metadata| metadata.modified()) else {
        return false;
    };
    match File::open(path.join(LOCK)) {
        // Locked at its making, or a moment later.
        Ok(file) => {
            let young = age.elapsed().is_ok_and(|age| age < BIRTH);
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            let free = Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok();
            // The lock file gets its first byte only after it is locked.
            free && (length > 0 || !young)
        }
        Err(_none) => age.elapsed().is_ok_and(|age| age >= BIRTH),
    }
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
}
