//! A copy of a tree, as it was brought.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::ioctl_ficlone;
use tokio_util::sync::CancellationToken;

use super::seal::COMPILED;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    All,
    /// It has more bytes than may be copied.
    TooLarge,
}

/// Makes the folder `to` with all that `from` has. Files that the file system lets share their blocks until one of them
/// is written to cost nothing; of others no more than `most` bytes are copied, or none.
///
/// # Errors
///
/// The file system's, or the work was broken off.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    most: u64,
    broken_off: &CancellationToken,
) -> io::Result<Copied> {
    let fits = size(from)? <= most;
    copy_folder(from, to, fits, broken_off)
}

/// Bytes of all files.
fn size(folder: &Path) -> io::Result<u64> {
    let mut sum = 0_u64;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(about) if about.is_dir() => sum = sum.saturating_add(size(&entry.path())?),
            Ok(about) => sum = sum.saturating_add(about.len()),
            Err(error) => is_passing(folder, error)?,
        }
    }
    Ok(sum)
}

fn copy_folder(
    from: &Path,
    to: &Path,
    fits: bool,
    broken_off: &CancellationToken,
) -> io::Result<Copied> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if broken_off.is_cancelled() {
            return Err(io::Error::other("it was broken off"));
        }
        let (path, kind) = (entry.path(), entry.file_type()?);
        let its = to.join(entry.file_name());
        let copied = if kind.is_dir() {
            copy_folder(&path, &its, fits, broken_off)
        } else if kind.is_symlink() {
            fs::read_link(&path).and_then(|to| symlink(to, &its).map(|()| Copied::All))
        } else if kind.is_file() {
            copy_file(&path, &its, fits)
        } else {
            Err(io::ErrorKind::Unsupported.into())
        };
        match copied {
            Ok(Copied::All) => {}
            Ok(Copied::TooLarge) => return Ok(Copied::TooLarge),
            Err(error) => is_passing(from, error)?,
        }
    }
    // Of the folder last: it may be closed.
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    Ok(Copied::All)
}

fn copy_file(path: &Path, its: &Path, fits: bool) -> io::Result<Copied> {
    let mut from = File::open(path)?;
    let about = from.metadata()?;
    let mut to = File::create_new(its)?;
    if ioctl_ficlone(&to, &from).is_err() {
        if !fits {
            return Ok(Copied::TooLarge);
        }
        io::copy(&mut from, &mut to)?;
    }
    to.set_permissions(about.permissions())?;
    // Python knows by it whether what was compiled is of this file.
    to.set_modified(about.modified()?)?;
    Ok(Copied::All)
}

/// Whether an error in a folder is none: a program that runs there compiles, and its half files go as they come.
fn is_passing(folder: &Path, error: io::Error) -> io::Result<()> {
    let is_absent = error.kind() == io::ErrorKind::NotFound;
    match is_absent && folder.file_name() == Some(OsStr::new(COMPILED)) {
        true => Ok(()),
        false => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_copy_has_names_contents_modes_and_times_and_no_more_bytes_than_it_may() {
        let top = tempfile::tempdir().unwrap();
        let (from, go_on) = (top.path().join("from"), CancellationToken::new());
        fs::create_dir_all(from.join("a/b")).unwrap();
        let file = from.join("a/b/file");
        fs::write(&file, "text").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o555)).unwrap();
        symlink("b/file", from.join("a/link")).unwrap();
        let to = |name: &str| top.path().join(name);
        let copied = |name: &str, most: u64| copy(&from, &to(name), most, &go_on);
        // Six bytes of that are the link's.
        assert_eq!(copied("all", 10).unwrap(), Copied::All);
        let its = to("all/a/b/file");
        assert_eq!(fs::read(&its).unwrap(), b"text");
        let (one, other) = (fs::metadata(&file).unwrap(), fs::metadata(&its).unwrap());
        assert_eq!(one.permissions(), other.permissions());
        assert_eq!(one.modified().unwrap(), other.modified().unwrap());
        assert_eq!(
            fs::read_link(to("all/a/link")).unwrap(),
            Path::new("b/file")
        );
        // Where files share blocks, it is not.
        let shares = copied("large", 9).unwrap() == Copied::All;
        assert_eq!(
            shares,
            to("large/a/b/file").exists() && fs::read(to("large/a/b/file")).unwrap() == b"text"
        );
        go_on.cancel();
        assert!(copied("none", 10).is_err());
    }

    #[test]
    fn a_half_file_of_python_that_goes_meanwhile_is_no_error() {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        is_passing(Path::new("lib/__pycache__"), gone()).unwrap();
        assert!(is_passing(Path::new("lib"), gone()).is_err());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(is_passing(Path::new("lib/__pycache__"), full).is_err());
    }
}
