//! What all launchers of the application on this host have brought.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use tokio::runtime::Handle;

use super::remove::remove;
use super::{FetchError, at};

/// The folder, which is there when this returns. No other user may write there; the jobs of this one may.
pub(super) fn of(container: &Path) -> Result<PathBuf, FetchError> {
    let cache = container.parent().unwrap_or(container).join("gerbil/files");
    let mut made = DirBuilder::new();
    let made = made.recursive(true).mode(0o700);
    made.create(&cache).map_err(at(&cache))?;
    let there = fs::symlink_metadata(&cache).map_err(at(&cache))?;
    owned(&cache, there.uid(), geteuid().as_raw())?;
    Ok(cache)
}

fn owned(path: &Path, owner: u32, own: u32) -> Result<(), FetchError> {
    match owner == own {
        true => Ok(()),
        false => Err(FetchError::Foreign {
            path: path.to_owned(),
            owner,
            own,
        }),
    }
}

/// A folder in the cache for what is not whole yet.
pub(super) struct PartialFolder {
    pub(super) folder: PathBuf,
    is_there: bool,
}

impl PartialFolder {
    pub(super) fn new(cache: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(".").tempdir_in(cache)?;
        Ok(Self {
            folder: folder.keep(),
            is_there: true,
        })
    }

    pub(super) async fn remove(mut self) {
        self.is_there = false;
        let folder = self.folder.clone();
        let removing = tokio::task::spawn_blocking(move || removed(&folder));
        // Its thread does not panic.
        let _done = removing.await.is_ok();
    }
}

impl Drop for PartialFolder {
    /// Whoever brought it was stopped. What is still to be done for it is done by the thread for what
    /// blocks, one thing after the other: the removal is the last.
    fn drop(&mut self) {
        if let (true, Ok(there)) = (self.is_there, Handle::try_current()) {
            let folder = self.folder.clone();
            there.spawn_blocking(move || removed(&folder));
        }
    }
}

fn removed(folder: &Path) {
    if let Err(error) = remove(folder) {
        crate::say(&format!("cannot remove {}: {error}", folder.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_another_user_s_is_not_believed() {
        let path = Path::new("/application/gerbil/files");
        owned(path, 5, 5).unwrap();
        let error = owned(path, 6, 5).unwrap_err().to_string();
        assert!(
            error.contains("/application/gerbil/files belongs to user 6, not to 5"),
            "{error}"
        );
    }
}
