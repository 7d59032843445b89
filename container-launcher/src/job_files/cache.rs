//! What all launchers of the application on this host have brought.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::geteuid;
use tokio::runtime::Handle;

use super::on_a_thread::on_a_thread;
use super::remove::remove;
use super::{FetchError, at};

/// The folder, which is there when this returns, unless that of the container is gone. No other user may write there; the
/// jobs of this one may.
pub(super) fn of(container: &Path) -> Result<PathBuf, FetchError> {
    fs::metadata(container).map_err(at(container))?;
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
    front: Handle,
}

impl PartialFolder {
    /// A new one. A thread that works in it holds a share of it, which it drops before it tells its result.
    pub(super) fn new(cache: &Path) -> io::Result<Arc<Self>> {
        let folder = tempfile::Builder::new().prefix(".").tempdir_in(cache)?;
        Ok(Arc::new(Self {
            folder: folder.keep(),
            is_there: true,
            front: Handle::current(),
        }))
    }

    /// Removes it, unless a thread still works in it: that removes it then.
    pub(super) async fn remove(self: Arc<Self>) {
        let Some(mut last) = Arc::into_inner(self) else {
            return;
        };
        last.is_there = false;
        let folder = last.folder.clone();
        if on_a_thread(move |_| removed(&folder)).await.is_err() {
            // No thread: the one that there is.
            last.is_there = true;
        }
    }
}

impl Drop for PartialFolder {
    /// Who brought it was stopped. What storage still does for it is done by the front's thread for what blocks,
    /// one thing after the other: the removal is the last.
    fn drop(&mut self) {
        if self.is_there {
            let folder = self.folder.clone();
            self.front.spawn_blocking(move || removed(&folder));
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
