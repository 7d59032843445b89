//! A file of a file system, as an open descriptor: itself where it is mounted here, else a pipe; or to be read here.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use storage::{Address, Reader, StorageError};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;

use crate::error::MapReduceError;
use crate::located;
use crate::places::{FileSystems, Location};

/// A file that is open for reading.
#[derive(Debug)]
pub struct Opened {
    /// The file itself, or a pipe.
    pub file: OwnedFd,
    /// What the pipe is to be filled with.
    pub filling: Option<Filling>,
}

/// A file on its way into a pipe.
#[derive(Debug)]
pub struct Filling {
    place: Location,
    from: Reader,
    into: pipe::Sender,
}

/// Opens what `name` names; a pipe begins at byte `from`.
///
/// # Errors
/// It is not there, is no file, or cannot be read.
pub async fn open(places: &FileSystems, name: &str, from: u64) -> Result<Opened, MapReduceError> {
    let place = places.find(name)?;
    let storage = places.storage(&place.address)?;
    let absent = |more: &str| MapReduceError::Absent {
        url: place.url(),
        more: more.to_owned(),
    };
    let size = match storage.stat(&place.path).await? {
        None => return Err(absent("")),
        Some(status) if status.is_folder => return Err(absent("; it is a folder")),
        Some(status) => status.size,
    };
    if place.address == Address::Shared {
        return mounted(&place).await;
    }
    let system = |source| MapReduceError::System {
        doing: "make a pipe",
        source,
    };
    let reader = read(places, &place, from, size).await?;
    let (into, out) = pipe::pipe().map_err(system)?;
    Ok(Opened {
        file: out.into_blocking_fd().map_err(system)?,
        filling: Some(Filling {
            place,
            from: reader,
            into,
        }),
    })
}

/// Opens a file from byte `from` on, up to the `size` that its file system lists, also where it still has a writer.
///
/// # Errors
/// It cannot be read.
pub async fn read(
    places: &FileSystems,
    place: &Location,
    from: u64,
    size: u64,
) -> Result<Reader, MapReduceError> {
    let storage = places.storage(&place.address)?;
    let reader = storage.read_from(&place.path, from).await?;
    match reader.size() < size {
        true => Ok(with_a_writer(places, place, from).await?.unwrap_or(reader)),
        false => Ok(reader),
    }
}

/// Copies a file into a new one of this machine, as far as its file system lists it.
///
/// # Errors
/// As [`read`]; there is no room here.
pub async fn take(
    places: &FileSystems,
    place: &Location,
    local: &Path,
) -> Result<(), MapReduceError> {
    let listed = places.storage(&place.address)?.stat(&place.path).await?;
    let size = listed.map_or(0, |status| status.size);
    let reader = read(places, place, 0, size).await?;
    reader.copy_to(local).await?;
    Ok(())
}

/// Opens a file that has a writer, up to the length that the NameNode lists; `None`: it has no writer any more.
async fn with_a_writer(
    places: &FileSystems,
    place: &Location,
    from: u64,
) -> Result<Option<Reader>, MapReduceError> {
    let Some(client) = places.name_node(&place.address) else {
        return Ok(None);
    };
    let told = client.blocks(&place.path, 1).await.ok().flatten();
    let Some(file) = told.and_then(|files| files.into_iter().find(|file| file.is_open)) else {
        return Ok(None);
    };
    let storage = places.storage(&place.address)?;
    let known = located::known(&file);
    let reader = storage.read_known(&place.path, (from, known.size), known);
    Ok(Some(reader.await?))
}

async fn mounted(place: &Location) -> Result<Opened, MapReduceError> {
    let path = PathBuf::from(&place.path);
    let file = tokio::fs::File::open(&path).await.map_err(|source| {
        MapReduceError::Storage(StorageError::Local {
            doing: "reading",
            path,
            source,
        })
    })?;
    Ok(Opened {
        file: file.into_std().await.into(),
        filling: None,
    })
}

/// A file that could not be brought to its end.
#[derive(Debug)]
pub struct CutShort {
    /// Why.
    pub error: MapReduceError,
    /// While this is open its reader waits, and does not take what there is for the whole file.
    _pipe: pipe::Sender,
}

impl Filling {
    /// Until the end of the file, or until whoever reads has seen enough: he may take his time.
    ///
    /// # Errors
    /// The file cannot be read to its end. The reader is to end before the error is dropped.
    pub async fn fill(mut self) -> Result<(), Box<CutShort>> {
        let error = match self.poured().await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        Err(Box::new(CutShort {
            error,
            _pipe: self.into,
        }))
    }

    async fn poured(&mut self) -> Result<(), MapReduceError> {
        loop {
            let piece = self.from.next().await?;
            if piece.is_empty() {
                return Ok(());
            }
            if let Err(error) = self.into.write_all(&piece).await {
                return match error.kind() {
                    std::io::ErrorKind::BrokenPipe => Ok(()),
                    _ => Err(MapReduceError::Place {
                        name: self.place.url(),
                        why: error.to_string(),
                    }),
                };
            }
        }
    }
}
