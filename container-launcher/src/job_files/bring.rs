//! Brings one file to the cache of this host.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use job::wire::StagedFile;
use storage::Storage;
use tokio_util::sync::CancellationToken;

use super::cache::PartialFolder;
use super::entry::{SEAL, TREE};
use super::proof::{self, Breakable};
use super::{FetchError, at, seal};

/// Brings one file under a name of its own, proves it, and gives it the one under which it is found; how many bytes
/// it has.
///
/// # Errors
///
/// It cannot be brought, or is not what was staged.
pub(super) async fn bring(
    storage: &Storage,
    file: &StagedFile,
    name: &str,
    cache: &Path,
    cached: &Path,
) -> Result<u64, FetchError> {
    let part = PartialFolder::new(cache).map_err(at(cache))?;
    let brought = bring_by(&part, storage, file, name, cached).await;
    part.remove().await;
    brought
}

/// Closes the tree in a folder to writers, and writes beside it what it looks like.
fn sealed(unpacked: &Path) -> io::Result<()> {
    let tree = unpacked.join(TREE);
    seal::close(&tree)?;
    fs::write(unpacked.join(SEAL), seal::of_tree(&tree)?)
}

async fn bring_by(
    part: &PartialFolder,
    storage: &Storage,
    file: &StagedFile,
    name: &str,
    cached: &Path,
) -> Result<u64, FetchError> {
    let whole = part.folder.join(name);
    let bytes = storage.take(&file.path, &whole).await?;
    if bytes != file.size {
        return Err(FetchError::Size {
            link: file.link.clone(),
            got: bytes,
            wanted: file.size,
        });
    }
    let broken_off = CancellationToken::new();
    // Cancelled when nobody waits any more.
    let _waits = broken_off.clone().drop_guard();
    let (link, unpack, name) = (file.link.clone(), file.unpack, name.to_owned());
    let (cached, unpacked) = (cached.to_owned(), part.folder.join("unpacked"));
    let done = tokio::task::spawn_blocking(move || {
        let proved = proof::prove(&whole, &name, unpack, &broken_off).map_err(at(&whole))?;
        proved.map_err(|proof::Otherwise(got)| FetchError::Digest { link, got })?;
        let ready = match unpack {
            true => {
                let archive = Breakable {
                    from: fs::File::open(&whole).map_err(at(&whole))?,
                    broken_off: &broken_off,
                };
                let tree = unpacked.join(TREE);
                let mut archive = tar::Archive::new(archive);
                archive.unpack(&tree).map_err(at(&tree))?;
                sealed(&unpacked).map_err(at(&tree))?;
                unpacked
            }
            false => {
                let mode = Permissions::from_mode(0o500);
                fs::set_permissions(&whole, mode).map_err(at(&whole))?;
                seal::age(&whole).map_err(at(&whole))?;
                whole
            }
        };
        match fs::rename(&ready, &cached) {
            // Another launcher was faster; a folder that is there is not replaced.
            Err(error) if !cached.exists() => Err(at(&cached)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    });
    done.await.map_err(|_panicked| FetchError::BrokenOff {
        link: file.link.clone(),
    })??;
    Ok(bytes)
}
