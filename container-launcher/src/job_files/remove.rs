//! Removes folders that programs have written to.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Removes a folder with all that is in it, those aside that are another user's; one that is not there is
/// no error.
///
/// # Errors
///
/// Of the first that stays.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open(folder);
            fs::remove_dir_all(folder)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes folders writable: a program may have closed them to itself.
fn open(folder: &Path) {
    let mut closed = vec![folder.to_owned()];
    while let Some(folder) = closed.pop() {
        // What cannot be opened is told by the removal.
        let _opened = fs::set_permissions(&folder, Permissions::from_mode(0o700)).is_ok();
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        // No link is followed.
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        closed.extend(folders.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_has_closed_goes_too_and_what_it_has_linked_stays() {
        let top = tempfile::tempdir().unwrap();
        let (gone, kept) = (top.path().join("gone"), top.path().join("kept"));
        for folder in [&gone.join("a/b"), &kept] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("file"), "x").unwrap();
        }
        std::os::unix::fs::symlink(&kept, gone.join("a/link")).unwrap();
        for closed in ["a/b", "a"] {
            fs::set_permissions(gone.join(closed), Permissions::from_mode(0o500)).unwrap();
        }
        remove(&gone).unwrap();
        assert!(!gone.exists() && kept.join("file").exists());
        remove(&gone).unwrap();
    }
}
