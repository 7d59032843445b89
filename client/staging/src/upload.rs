//! Brings one file to its place in the cache, unless it lies there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use storage::{CreateOptions, Readers, Status, Storage, StorageError};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;

use super::archive::Archive;
use super::digest::Digest;
use super::error::StageError;
use super::{Cache, Moved};

/// Bytes that travel in one piece.
const PIECE: usize = 1 << 20;
/// Pieces that wait between the disk and the network.
const AHEAD: usize = 4;
/// A use is noted again after this time, ms: once a day.
const MARK_AGAIN_MS: u64 = 24 * 3_600_000;
/// Uploads that are begun before DataNodes are given up.
const ATTEMPTS: u32 = 3;
/// No attempt begins after this time.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// Start of the name of a file that is not whole yet.
pub const TEMPORARY: &str = ".uploading-";

/// Where the bytes of a cached file come from.
#[derive(Clone, Debug)]
pub enum UploadSource {
    /// A file as it is, with the digest that it must still have.
    File {
        /// The file.
        path: PathBuf,
        /// SHA-256 of its contents.
        digest: Digest,
    },
    /// The libraries, packed on their way.
    Archive(Archive),
}

/// A file that the cache shall have.
#[derive(Clone, Debug)]
pub struct CacheFile {
    /// Name in the cache; says what is in it.
    pub name: String,
    /// Length, bytes.
    pub size: u64,
    /// Its contents.
    pub source: UploadSource,
}

/// A file that lies in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// As YARN names it.
    pub url: String,
    /// Length, bytes.
    pub size: u64,
    /// Modification time, ms since 1970.
    pub modified_ms: i64,
    /// Bytes that had to be written.
    pub uploaded: u64,
}

/// A file that the cache has.
#[derive(Debug)]
pub struct CachedFile {
    /// The file.
    pub cached: Cached,
    /// Its path, where its use is to be noted again.
    pub mark: Option<String>,
}

/// The file of that name, if the cache has it. It is taken as it is, and its time is never changed,
/// because running jobs know it.
///
/// # Errors
///
/// What the file system says; [`StageError::Damaged`] for a file that is too short or too long;
/// [`StageError::NotOurs`] for one that somebody else may have put there.
pub async fn look(
    storage: &Storage,
    cache: &str,
    name: &str,
    size: u64,
    now_ms: i64,
) -> Result<Option<CachedFile>, StageError> {
    let path = format!("{cache}/{name}");
    let Some(status) = storage.stat(&path).await? else {
        return Ok(None);
    };
    let cached = accept(storage, &path, size, &status, 0)?;
    let known_use = status.used_ms.unwrap_or(status.modified_ms);
    // The clock here decides when to look at the true one, and nothing else: it may be wrong.
    let is_due = now_ms.abs_diff(known_use) > MARK_AGAIN_MS;
    Ok(Some(CachedFile {
        cached,
        mark: is_due.then_some(path),
    }))
}

/// A temporary name for an upload of a file, in the cache.
#[must_use]
pub fn temporary(cache: &str, name: &str) -> String {
    let start = name.get(..16).unwrap_or(name);
    format!("{cache}/{TEMPORARY}{start}-{:016x}", rand::random::<u64>())
}

/// Uploads under a temporary name and renames. Where the name exists by then, that file wins. After
/// a failure the caller removes what lies under the temporary name.
///
/// # Errors
///
/// What the file system says; [`StageError::Damaged`] if what lies there in the end has another
/// length; [`StageError::Changed`] for a local file that is being written to.
pub(crate) async fn bring(
    storage: &Storage,
    cache: &Cache,
    temporary: &str,
    wanted: CacheFile,
    moved: &Arc<Moved>,
) -> Result<Cached, StageError> {
    let path = format!("{}/{}", cache.folder, wanted.name);
    let size = wanted.size;
    let begin = Instant::now();
    let mut attempt = 1;
    let written = loop {
        match send(
            storage,
            (temporary, cache.readers),
            size,
            wanted.source.clone(),
            moved,
        )
        .await
        {
            // The NameNode names DataNodes by chance, and one that is gone for some minutes yet.
            Err(StageError::Storage(StorageError::DataNodes { .. }))
                if attempt < ATTEMPTS && begin.elapsed() < TRY_AGAIN =>
            {
                storage.remove(temporary).await?;
                attempt += 1;
            }
            other => break other?,
        }
    };
    if written != size {
        return Err(StageError::Damaged {
            url: storage.url(temporary),
            expected: size,
            found: written,
        });
    }
    let is_ours = match storage.rename(temporary, &path).await {
        Ok(()) => true,
        // Somebody else's has the name by now, of the same contents.
        Err(StorageError::Exists { .. }) => {
            storage.remove(temporary).await?;
            false
        }
        Err(error) => return Err(error.into()),
    };
    let Some(status) = storage.stat(&path).await? else {
        return Err(StageError::Damaged {
            url: storage.url(&path),
            expected: size,
            found: 0,
        });
    };
    let cached = accept(storage, &path, size, &status, size)?;
    if is_ours {
        // From here on the file is known to be used, so it can be known to be unused one day.
        let at_ms = status.modified_ms.saturating_add(1);
        storage.mark_used(&path, at_ms).await;
    }
    Ok(cached)
}

fn accept(
    storage: &Storage,
    path: &str,
    expected: u64,
    status: &Status,
    uploaded: u64,
) -> Result<Cached, StageError> {
    let url = storage.url(path);
    if let Some(why) = status.doubt() {
        return Err(StageError::NotOurs { url, why });
    }
    if status.size != expected || status.is_folder {
        return Err(StageError::Damaged {
            url,
            expected,
            found: status.size,
        });
    }
    Ok(Cached {
        url,
        size: status.size,
        modified_ms: status.modified_ms,
        uploaded,
    })
}

/// Reads on a thread and writes here, a bounded number of pieces apart.
async fn send(
    storage: &Storage,
    (path, readers): (&str, Readers),
    size: u64,
    source: UploadSource,
    moved: &Arc<Moved>,
) -> Result<u64, StageError> {
    let moved = Arc::clone(moved);
    let (sender, receiver): (_, Receiver<Result<Bytes, StageError>>) = channel(AHEAD);
    let mut reading = JoinSet::new();
    reading.spawn_blocking(move || {
        let mut pieces = Pieces {
            sender,
            piece: Vec::with_capacity(PIECE),
            moved,
        };
        let ended = match &source {
            UploadSource::File { path, digest } => copy(path, *digest, &mut pieces),
            UploadSource::Archive(archive) => archive.write(&mut pieces),
        };
        pieces.end(ended);
    });
    let written = write(storage, (path, readers), size, receiver).await;
    // The receiver is gone, so the thread ends at its next piece.
    while let Some(ended) = reading.join_next().await {
        if ended.is_err() {
            return Err(StageError::BrokenOff {
                doing: "reading local files",
            });
        }
    }
    written
}

/// Writes a new file for the nodes from pieces; an error among them ends it. How many bytes it has.
async fn write(
    storage: &Storage,
    (path, readers): (&str, Readers),
    size: u64,
    mut pieces: Receiver<Result<Bytes, StageError>>,
) -> Result<u64, StageError> {
    let options = CreateOptions {
        readers,
        size: Some(size),
        needs_folder: false,
        overwrite: false,
    };
    let mut writer = storage.create(path, options).await?;
    while let Some(piece) = pieces.recv().await {
        writer.write(piece?).await?;
    }
    Ok(writer.close().await?)
}

fn copy(path: &PathBuf, digest: Digest, pieces: &mut Pieces) -> Result<(), StageError> {
    let local = |source| StageError::Local {
        doing: "reading",
        path: path.clone(),
        source,
    };
    let mut file = File::open(path).map_err(local)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; PIECE];
    loop {
        let count = match file.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(local(error)),
        };
        let bytes = block.get(..count).unwrap_or_default();
        hash.update(bytes);
        if pieces.write_all(bytes).is_err() {
            // The upload ended, and says itself why.
            return Ok(());
        }
    }
    if Digest(hash.finalize().into()) == digest {
        Ok(())
    } else {
        Err(StageError::Changed { path: path.clone() })
    }
}

/// Cuts what is written into pieces.
struct Pieces {
    sender: Sender<Result<Bytes, StageError>>,
    piece: Vec<u8>,
    moved: Arc<Moved>,
}

impl Pieces {
    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        let length = u64::try_from(piece.len()).unwrap_or(0);
        let sent = self.sender.blocking_send(Ok(piece.into()));
        self.moved.done.fetch_add(length, Ordering::Relaxed);
        sent.map_err(|_closed| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends the last piece, or why there is none.
    fn end(mut self, ended: Result<(), StageError>) {
        match ended {
            Ok(()) if self.piece.is_empty() => (),
            Ok(()) => drop(self.send()),
            Err(error) => drop(self.sender.blocking_send(Err(error))),
        }
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PIECE - self.piece.len();
        let count = bytes.len().min(room);
        self.piece
            .extend_from_slice(bytes.get(..count).unwrap_or_default());
        if self.piece.len() == PIECE {
            self.send()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
