//! What has come to this machine: it is on a disk before it is called there, and so is its name.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::shared::{sync_folder, sync_names};

/// Waits until a file, or a folder with all in it, is on a disk of this machine.
///
/// # Errors
/// As the operating system says it: not all of it can be.
pub async fn keep(path: &Path) -> io::Result<()> {
    let path = path.to_owned();
    on_a_thread(move || {
        let mut left = vec![path];
        while let Some(path) = left.pop() {
            if !fs::symlink_metadata(&path)?.is_dir() {
                File::open(&path)?.sync_all()?;
                continue;
            }
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
            sync_names(&path)?;
        }
        Ok(())
    })
    .await
}

/// Gives a file or folder of this machine another name in the same folder, over a file that has it, and
/// waits until that is on a disk.
///
/// # Errors
/// As the operating system says it; a folder has that name.
pub async fn give_name(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (from.to_owned(), to.to_owned());
    on_a_thread(move || {
        fs::rename(&from, &to)?;
        sync_folder(&to)
    })
    .await
}

/// Makes calls that last as long as a disk likes: who waits hears all else.
async fn on_a_thread(calls: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    let thread = tokio::task::spawn_blocking(calls);
    thread
        .await
        .unwrap_or_else(|broken| Err(io::Error::other(broken)))
}
