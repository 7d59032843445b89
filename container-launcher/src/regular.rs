//! Files in the place of which a rank can put something else.
//!
//! A pipe without a writer would be waited for, a link would lead elsewhere, a device may do anything
//! when it is opened: so nothing is waited for, and what was opened is looked at before it is read.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
///
/// It is a link, or no regular file.
pub(crate) fn open(path: &Path) -> Result<File> {
    open_with(path, libc::O_NOFOLLOW)
}

/// The same of a name that may be a link: YARN links what it brings into the working directory.
///
/// # Errors
///
/// It is no regular file.
pub(crate) fn open_linked(path: &Path) -> Result<File> {
    open_with(path, 0)
}

fn open_with(path: &Path, flags: i32) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | flags);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn nothing_but_a_file_is_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        symlink(path("file"), path("link")).unwrap();
        mkfifo(&path("pipe"), Mode::S_IRWXU).unwrap();
        let mut text = String::new();
        open(&path("file"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "text");
        for name in ["link", "pipe", ".", "missing"] {
            assert!(open(&path(name)).is_err(), "{name}");
        }
        assert!(open_linked(&path("link")).is_ok());
        assert!(open_linked(&path("pipe")).is_err());
        assert!(open_linked(Path::new("/dev/null")).is_err());
    }
}
