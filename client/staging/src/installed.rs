//! Installations of MPI libraries, as far as their folders and the names of their files go.

use std::fs;

use tempfile::TempDir;

/// A folder with these files, which are empty.
pub(crate) fn install(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}
