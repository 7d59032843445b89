//! Brings one file to the cache of this host.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use job::wire::StagedFile;
use storage::Storage;
use tokio_util::sync::CancellationToken;

use super::cache::PartialFolder;
use super::entry::{Entry, EntryWay, TREE};
use super::on_a_thread::on_a_thread;
use super::packed::tar_of;
use super::proof::{self, Breakable};
use super::{FetchError, at, seal};

/// Brings one file under a name of its own, proves it, and gives it the one under which it is found, unless another
/// launcher was faster; how many bytes it has.
///
/// # Errors
///
/// It cannot be brought, or is not what was staged.
pub(super) async fn bring(
    storage: &Storage,
    file: &StagedFile,
    entry: &Entry,
) -> Result<u64, FetchError> {
    let part = PartialFolder::new(&entry.cache).map_err(at(&entry.cache))?;
    let brought = bring_by(&part, storage, file, entry).await;
    part.remove().await;
    brought
}

async fn bring_by(
    part: &Arc<PartialFolder>,
    storage: &Storage,
    file: &StagedFile,
    entry: &Entry,
) -> Result<u64, FetchError> {
    let whole = part.folder.join(&entry.name);
    let bytes = storage.take(&file.path, &whole).await?;
    if bytes != file.size {
        return Err(FetchError::Size {
            link: file.link.clone(),
            got: bytes,
            wanted: file.size,
        });
    }
    let (part, entry, link) = (Arc::clone(part), entry.clone(), file.link.clone());
    let done = on_a_thread(move |broken_off| {
        let is_archive = entry.way == EntryWay::Tree;
        let proved = proof::prove(&whole, &entry.name, is_archive, broken_off);
        let proved = proved.map_err(at(&whole))?;
        proved.map_err(|proof::Otherwise(got)| FetchError::Digest { link, got })?;
        let cached = entry.cached();
        match entry.way {
            EntryWay::Copy => {
                closed(&whole).map_err(at(&whole))?;
                named(&whole, &cached)
            }
            EntryWay::Link | EntryWay::Tree => {
                let ready = part.folder.join("unpacked");
                filled(&ready.join(TREE), &entry, &whole, broken_off)?;
                sealed(&ready).map_err(at(&ready))?;
                named_folder(&ready, &cached).map_err(at(&cached))
            }
        }
    });
    done.await.map_err(|source| FetchError::Thread {
        link: file.link.clone(),
        source,
    })??;
    Ok(bytes)
}

/// Makes the folder that jobs are linked to, of what was brought.
fn filled(
    tree: &Path,
    entry: &Entry,
    whole: &Path,
    broken_off: &CancellationToken,
) -> Result<(), FetchError> {
    match entry.way {
        EntryWay::Tree => {
            let tar = fs::File::open(whole).and_then(tar_of);
            let archive = Breakable {
                from: tar.map_err(at(whole))?,
                broken_off,
            };
            let mut archive = tar::Archive::new(archive);
            archive.unpack(tree).map_err(at(tree))
        }
        EntryWay::Copy | EntryWay::Link => {
            let file = tree.join(&entry.name);
            fs::create_dir_all(tree).map_err(at(tree))?;
            fs::rename(whole, &file).map_err(at(&file))?;
            closed(&file).map_err(at(&file))
        }
    }
}

/// Gives a sealed folder its name, unless there is one of that name.
pub(super) fn named_folder(ready: &Path, cached: &Path) -> io::Result<()> {
    match fs::rename(ready, cached) {
        // A folder that is there is not replaced.
        Err(error) if !cached.exists() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Closes a file to writers, and opens it to those who run it.
pub(super) fn closed(file: &Path) -> io::Result<()> {
    fs::set_permissions(file, Permissions::from_mode(0o500))?;
    seal::age(file)
}

/// Closes the tree in a folder to writers, and writes beside it what it looks like.
pub(super) fn sealed(folder: &Path) -> io::Result<()> {
    let tree = folder.join(TREE);
    seal::close(&tree)?;
    seal::keep(folder, seal::of_tree(&tree)?)
}

/// Gives a file its name, unless there is a file of that name.
fn named(file: &Path, name: &Path) -> Result<(), FetchError> {
    let named = match fs::hard_link(file, name) {
        // A file system without second names.
        Err(_) if !name.exists() => fs::rename(file, name),
        Ok(()) | Err(_) => Ok(()),
    };
    named.map_err(at(name))
}
