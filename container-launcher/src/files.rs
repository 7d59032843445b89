//! Files of the working directory: what there is, and copies of them to and from file systems that all
//! nodes see.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};
use std::time::Duration;

use job::wire::{Find, Found, FoundFile, FoundPath, Move, Moved};
use storage::{Readers, Storage, StorageError, outlast};

use crate::node_facts;

/// Files and folders that one order may find.
const FILES_MAX: usize = 10_000;

/// Answers an order to look for files. Links are not followed, save the path itself.
pub(crate) async fn find(folder: &Path, order: Find) -> Found {
    let mut paths = Vec::with_capacity(order.paths.len());
    let mut left = FILES_MAX;
    for path in &order.paths {
        match look(folder, path, &mut left).await {
            Ok(found) => paths.push(found),
            Err(trouble) => return without_answer(order.id, trouble),
        }
    }
    Found {
        id: order.id,
        paths,
        trouble: String::new(),
    }
}

/// An answer that says why there is none.
pub(crate) fn without_answer(id: u32, trouble: String) -> Found {
    Found {
        id,
        paths: Vec::new(),
        trouble,
    }
}

/// What is at `path` below `folder`; `left` is how many more files and folders may be found.
pub(crate) async fn look(folder: &Path, path: &str, left: &mut usize) -> Result<FoundPath, String> {
    let host = node_facts::hostname();
    if !stays(path) {
        return Err(format!("{host}: {path} leads out of the working directory"));
    }
    let most = *left;
    let top = folder.join(path);
    let failed =
        |path: &Path, error: std::io::Error| format!("{host}: {}: {error}", path.display());
    let metadata = match tokio::fs::metadata(&top).await {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(FoundPath::default());
        }
        Err(error) => return Err(failed(&top, error)),
    };
    let mut found = FoundPath {
        exists: true,
        is_folder: metadata.is_dir(),
        files: Vec::new(),
    };
    if !found.is_folder {
        found.files.push(FoundFile {
            inside: String::new(),
            size: metadata.len(),
        });
        return Ok(found);
    }
    let mut folders = vec![top.clone()];
    while let Some(inner) = folders.pop() {
        let entries = tokio::fs::read_dir(&inner).await;
        let mut entries = entries.map_err(|error| failed(&inner, error))?;
        while let Some(entry) = entries.next_entry().await.map_err(|e| failed(&inner, e))? {
            *left = left.checked_sub(1).ok_or_else(|| {
                format!("{host}: there are more than {most} files and folders in {path}")
            })?;
            let metadata = entry.metadata().await.map_err(|e| failed(&inner, e))?;
            let file = entry.path();
            if metadata.is_dir() {
                folders.push(file);
            } else if metadata.is_file() {
                let inside = file.strip_prefix(&top).ok().and_then(Path::to_str);
                let inside = inside
                    .ok_or_else(|| format!("{host}: the name of {} is no text", file.display()))?;
                found.files.push(FoundFile {
                    inside: inside.to_owned(),
                    size: metadata.len(),
                });
            }
        }
    }
    sort::by(&mut found.files, |a, b| a.inside.cmp(&b.inside));
    Ok(found)
}

/// Whether a relative path stays below where it begins.
fn stays(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Who may read a copy of `path`: its owner alone and with the same permissions, where the file or a folder between it
/// and `folder` is closed to all others.
async fn readers(folder: &Path, path: &str) -> Readers {
    let mut part = folder.to_owned();
    let (mut is_closed, mut mode) = (false, 0);
    for name in Path::new(path).components() {
        part.push(name);
        // What cannot be looked at cannot be copied either.
        if let Ok(about) = tokio::fs::metadata(&part).await {
            mode = about.permissions().mode();
            is_closed |= mode & 0o077 == 0;
        }
    }
    match is_closed {
        true => Readers::OwnWith(mode),
        false => Readers::ByMask,
    }
}

/// Answers an order to copy files: one after the other, until one cannot be copied. `waits` hears of a file system that
/// is away for long.
pub(crate) async fn carry(folder: &Path, order: Move, waits: impl Fn(Moved)) -> Moved {
    let patience = Duration::from_secs(order.patience_s.into());
    let mut bytes = 0;
    let mut opened: BTreeMap<u32, Storage> = BTreeMap::new();
    for copy in &order.copies {
        let copied = async {
            if !stays(&copy.local) {
                return Err(format!("{} leads out of the working directory", copy.local));
            }
            let storage = match opened.entry(copy.address) {
                Entry::Occupied(opened) => opened.into_mut(),
                Entry::Vacant(place) => {
                    let address = order.address(copy);
                    let address = address.ok_or("an order names no file system")?;
                    let storage = Storage::open(&address).map_err(|error| error.to_string())?;
                    place.insert(storage)
                }
            };
            let local = folder.join(&copy.local);
            let storage = &*storage;
            let readers = match order.out {
                true => readers(folder, &copy.local).await,
                false => Readers::ByMask,
            };
            let away = |error: &StorageError| {
                waits(Moved {
                    id: order.id,
                    bytes: 0,
                    trouble: error.to_string(),
                    waits: true,
                });
            };
            let mut is_again = false;
            let copied = outlast(patience, away, || {
                let is_again = std::mem::replace(&mut is_again, true);
                copied(
                    storage,
                    (&local, &copy.remote),
                    (order.out, readers),
                    is_again,
                )
            });
            match copied.await.map_err(|error| error.to_string())? {
                copied if copied == copy.size => Ok(copied),
                copied => Err(format!(
                    "{} has {copied} bytes, and had {} when it was found: something writes to it",
                    copy.local, copy.size
                )),
            }
        };
        match copied.await {
            Ok(copied) => bytes += copied,
            Err(trouble) => {
                return Moved {
                    id: order.id,
                    bytes,
                    trouble: format!("{}: {trouble}", node_facts::hostname()),
                    waits: false,
                };
            }
        }
    }
    Moved {
        id: order.id,
        bytes,
        trouble: String::new(),
        waits: false,
    }
}

/// Copies a file out of the working directory, or into it; what an earlier try has left is removed before.
async fn copied(
    storage: &Storage,
    (local, remote): (&Path, &str),
    (out, readers): (bool, Readers),
    is_again: bool,
) -> Result<u64, StorageError> {
    match out {
        true => {
            if is_again {
                storage.remove(remote).await?;
            }
            storage.put_for(local, remote, readers).await
        }
        false => {
            if is_again {
                let _none = tokio::fs::remove_file(local).await.is_ok();
            }
            storage.take(remote, local).await
        }
    }
}

#[cfg(test)]
mod tests {
    use job::wire::Copy;

    use super::*;

    #[tokio::test]
    async fn files_are_found_and_carried_and_nothing_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (folder.path().join("here"), folder.path().join("there"));
        std::fs::create_dir_all(here.join("out/deep")).unwrap();
        std::fs::write(here.join("out/deep/a"), "123").unwrap();
        std::fs::write(here.join("b"), "1").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", here.join("out/link")).unwrap();
        let find_all = |paths: &[&str]| Find {
            id: 7,
            paths: paths.iter().map(ToString::to_string).collect(),
        };
        let found = find(&here, find_all(&["out", "b", "none"])).await;
        assert_eq!((found.id, found.trouble.as_str()), (7, ""));
        let flat: Vec<_> = found
            .paths
            .iter()
            .map(|path| (path.exists, path.is_folder, path.files.len()))
            .collect();
        assert_eq!(flat, [(true, true, 1), (true, false, 1), (false, false, 0)]);
        assert_eq!(found.paths[0].files[0].inside, "deep/a");
        assert_eq!(found.paths[0].files[0].size, 3);
        for path in ["..", "/etc", "a/../../b", ""] {
            let out = find(&here, find_all(&[path])).await;
            assert!(out.trouble.contains("leads out"), "{path}: {out:?}");
        }

        let address = serde_json::to_string(&storage::Address::Shared).unwrap();
        let order = |out: bool, local: &str, size: u64| Move {
            id: 8,
            out,
            addresses: vec![address.clone()],
            copies: vec![Copy {
                local: local.into(),
                remote: there.join("x/a").display().to_string(),
                address: 0,
                size,
            }],
            patience_s: 0,
        };
        let moved = carry(&here, order(true, "out/deep/a", 3), |_| {}).await;
        assert_eq!((moved.bytes, moved.trouble.as_str()), (3, ""));
        let mode = std::fs::metadata(there.join("x/a"))
            .unwrap()
            .permissions()
            .mode();
        assert_ne!(mode & 0o044, 0, "{mode:o}: as the usual mask leaves it");
        let short = carry(&here, order(false, "short", 4), |_| {}).await;
        assert!(short.trouble.contains("3 bytes, and had 4"), "{short:?}");
        let moved = carry(&here, order(false, "back/a", 3), |_| {}).await;
        assert_eq!((moved.bytes, moved.trouble.as_str()), (3, ""));
        assert_eq!(std::fs::read(here.join("back/a")).unwrap(), b"123");
        // A file that others may not read, and one in such a folder.
        std::fs::create_dir(here.join("shut")).unwrap();
        std::fs::write(here.join("shut/c"), "1").unwrap();
        std::fs::set_permissions(here.join("shut"), std::fs::Permissions::from_mode(0o700))
            .unwrap();
        std::fs::write(here.join("secret"), "1").unwrap();
        std::fs::set_permissions(here.join("secret"), std::fs::Permissions::from_mode(0o600))
            .unwrap();
        std::fs::write(here.join("shut/run"), "1").unwrap();
        std::fs::set_permissions(
            here.join("shut/run"),
            std::fs::Permissions::from_mode(0o555),
        )
        .unwrap();
        for (local, kept) in [("shut/c", 0o600), ("secret", 0o600), ("shut/run", 0o500)] {
            let remote = there.join("closed").join(local);
            let mut order = order(true, local, 1);
            order.copies[0].remote = remote.display().to_string();
            let moved = carry(&here, order, |_| {}).await;
            assert_eq!((moved.bytes, moved.trouble.as_str()), (1, ""), "{local}");
            let about = std::fs::metadata(&remote).unwrap();
            let mode = about.permissions().mode();
            assert_eq!(mode & 0o777, kept, "{local}: {mode:o}");
        }
        let again = carry(&here, order(true, "b", 1), |_| {}).await;
        assert!(again.trouble.contains("exists already"), "{again:?}");
    }
}
