//! Whether the nodes can reach what is staged in a folder that is mounted everywhere, and only they.
//!
//! What is staged there is readable by everybody where NodeManagers run as a user of their own. Whether the
//! folder is indeed mounted on the nodes cannot be seen from here.

use storage::{Address, Readers, Storage};

use super::error::StageError;
use super::root::Root;

/// Every folder from the top down to `path` may be entered by others, as far as it exists and they are to read there,
/// and what lies in it cannot be replaced by anybody. HDFS answers for itself.
///
/// # Errors
///
/// [`StageError::NotReadableByNodes`], [`StageError::BadRoot`].
pub async fn check(
    storage: &Storage,
    root: &Root,
    path: &str,
    readers: Readers,
) -> Result<(), StageError> {
    if root.address != Address::Shared {
        return Ok(());
    }
    let bad = |why: String| StageError::BadRoot {
        root: root.path.clone(),
        why,
    };
    let ends = path.match_indices('/').map(|(end, _)| end).skip(1);
    let ends = ends.chain([path.len()]);
    let folders = ends.filter_map(|end| path.get(..end));
    for folder in std::iter::once("/").chain(folders) {
        let Some(status) = storage.stat(folder).await? else {
            return Ok(());
        };
        let mode = status.mode;
        if !status.is_folder {
            return Err(bad(format!("{folder} is not a folder")));
        }
        if mode & 0o1002 == 0o002 {
            return Err(bad(format!(
                "anybody may put something else in the place of what lies in {folder} (its mode is \
                 {mode:04o}); try: chmod +t {folder}; or give --staging another folder"
            )));
        }
        if readers == Readers::Nodes && mode & 0o001 == 0 {
            return Err(StageError::NotReadableByNodes {
                folder: folder.into(),
                mode,
                root: root.path.clone(),
            });
        }
    }
    Ok(())
}
