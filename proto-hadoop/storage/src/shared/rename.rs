//! Gives a file or folder another name without taking it from anything, and durably.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

/// Gives `from` the name `to`, in one step where the file system can, and waits until both names are on
/// a disk.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`]: something has that name.
pub(super) fn without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
        // File systems that cannot, among them NFS.
        Err(Errno::EINVAL | Errno::ENOSYS | Errno::ENOTSUP) => claim(from, to)?,
        other => other?,
    }
    for name in [from, to] {
        sync_folder(name)?;
    }
    Ok(())
}

/// Gives a new name in steps none of which takes the name from anything: a file gets a second name
/// before it loses the first, and a folder takes the place of an empty one that was made for it.
fn claim(from: &Path, to: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(from)?.is_dir() {
        match fs::hard_link(from, to) {
            Ok(()) => return fs::remove_file(from),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // No second names here.
            Err(_) => return occupy(from, to),
        }
    }
    fs::create_dir(to)?;
    fs::rename(from, to).map_err(|error| match error.kind() {
        // Somebody has put something into it.
        io::ErrorKind::DirectoryNotEmpty => io::ErrorKind::AlreadyExists.into(),
        _ => {
            // Ours, and still empty.
            fs::remove_dir(to).ok();
            error
        }
    })
}

/// Takes the name with an empty file, in whose place the file comes.
fn occupy(from: &Path, to: &Path) -> io::Result<()> {
    File::create_new(to)?;
    let renamed = fs::rename(from, to);
    if renamed.is_err() {
        // Ours, and still empty.
        fs::remove_file(to).ok();
    }
    renamed
}

/// Waits until the names in the folder of `path` are on a disk, where the file system can say so and the
/// folder may be read.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_names)
}

/// The same of `folder` itself.
pub(crate) fn sync_names(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files and folders, and the names that they may not have and those that they may.
    fn takes_no_name_from_anything(rename: fn(&Path, &Path) -> io::Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["file", "other"] {
            fs::write(path(name), name).unwrap();
        }
        fs::create_dir_all(path("result/part")).unwrap();
        fs::create_dir_all(path("full/part")).unwrap();
        fs::create_dir(path("empty")).unwrap();
        for (from, to) in [
            ("file", "other"),
            ("file", "empty"),
            ("result", "other"),
            ("result", "empty"),
            ("result", "full"),
        ] {
            let error = rename(&path(from), &path(to)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{from} {to}");
            assert!(path(from).exists());
        }
        assert_eq!(fs::read(path("other")).unwrap(), b"other");
        rename(&path("file"), &path("new")).unwrap();
        rename(&path("result"), &path("made")).unwrap();
        assert_eq!(fs::read(path("new")).unwrap(), b"file");
        assert!(path("made/part").is_dir());
        assert!(!path("file").exists() && !path("result").exists());
    }

    #[test]
    fn a_name_is_claimed_without_taking_it_from_anything() {
        takes_no_name_from_anything(claim);
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["file", "other"] {
            fs::write(path(name), name).unwrap();
        }
        fs::create_dir_all(path("full/part")).unwrap();
        for taken in ["other", "full"] {
            let error = occupy(&path("file"), &path(taken)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{taken}");
        }
        occupy(&path("other"), &path("also new")).unwrap();
        assert_eq!(fs::read(path("also new")).unwrap(), b"other");
    }

    #[test]
    fn a_new_name_is_given_in_one_step_that_takes_it_from_nothing() {
        takes_no_name_from_anything(without_replacing);
    }
}
