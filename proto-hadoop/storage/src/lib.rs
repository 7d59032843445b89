//! Files on a file system that all nodes of a cluster see: HDFS, or a folder mounted everywhere.
//!
//! An [`Address`] says how to reach one; it travels from the client, which knows Hadoop's settings,
//! to the nodes, which need none. [`Storage::open`] makes a client of it. Paths are absolute, without
//! scheme and host.
//!
//! Invariants: every question ends within a stated time; a listing is cut off at a stated length; a
//! file is never written over another one unless that is asked for, nor given a name that another has; what
//! is written is durable
//! before it is called written: on a folder's server, and its name with it; on HDFS, by its DataNodes.
//!
//! Where the blocks of a file lie is asked of the NameNode itself (`proto_hadoop::NameNodeClient::blocks`); who is told reads
//! them without asking it again ([`Storage::read_known`]).
//!
//! Caveats: Kerberos is not spoken. A write that was broken off leaves a part of the file: callers
//! write into a folder that nobody takes for whole, and rename it.

mod copy;
mod create;
mod error;
mod hdfs;
mod here;
mod located;
mod outage;
mod reader;
#[cfg(feature = "scripted")]
mod scripted;
mod shared;
mod status;
mod writer;

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use create::{CreateOptions, Readers};
pub use error::StorageError;
pub use here::{give_name, keep};
pub use located::{BlockNode, Known, LocatedBlock, NoBlockNode};
pub use outage::{RESULT_PATIENCE, outlast};
pub use reader::Reader;
#[cfg(feature = "scripted")]
pub use scripted::Script;
pub use status::{Owner, Status};
pub use writer::Writer;

use hdfs::Hdfs;

/// Bytes that travel in one piece.
const PIECE: usize = 1 << 20;
/// Any one question must be answered within this time.
const ANSWER: Duration = Duration::from_secs(15);
/// Any one piece must be taken or given within this time: longer, because a pipeline of DataNodes may
/// have to be made anew while it waits.
const MOVED: Duration = Duration::from_secs(40);
/// A note of use may not hold anybody up for longer.
const MARK: Duration = Duration::from_secs(2);

/// How to reach a file system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Address {
    /// A NameNode, or the nameservice of several.
    Hdfs {
        /// What to connect to: `hdfs://host:port` or `hdfs://nameservice`.
        connect: String,
        /// What its files' addresses begin with.
        origin: String,
        /// Who asks.
        user: String,
        /// Hadoop's settings that matter, by name; no others are read.
        settings: Vec<(String, String)>,
    },
    /// A folder that is mounted under the same path on every node.
    Shared,
}

impl Address {
    /// The whole name of a path there.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        match self {
            Self::Hdfs { origin, .. } => format!("{origin}{path}"),
            Self::Shared => format!("file:{path}"),
        }
    }
}

/// An answer, as soon as it is there. It has no type of its own: with one, what a file system does until then would be
/// compiled once more into every crate that waits for it.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StorageError>> + Send + 'a>>;

/// A client of one file system. Dropping a call gives it up.
#[derive(Debug)]
pub struct Storage(StorageKind);

#[derive(Debug)]
enum StorageKind {
    Hdfs(Box<Hdfs>),
    Shared,
    #[cfg(feature = "scripted")]
    Scripted(scripted::Scripted),
}

impl Storage {
    /// Prepares a client. Nothing is sent yet.
    ///
    /// # Errors
    /// The settings make no sense.
    pub fn open(address: &Address) -> Result<Self, StorageError> {
        Ok(Self(match address {
            Address::Hdfs {
                connect,
                origin,
                user,
                settings,
            } => StorageKind::Hdfs(Box::new(Hdfs::new(connect, origin, user, settings)?)),
            Address::Shared => StorageKind::Shared,
        }))
    }

    /// One in memory that refuses what the script says.
    #[cfg(feature = "scripted")]
    #[must_use]
    pub fn scripted(script: Script) -> Self {
        Self(StorageKind::Scripted(scripted::Scripted::new(script)))
    }

    /// What is at `path`, if anything.
    ///
    /// # Errors
    /// The file system refuses or does not answer; so for all methods.
    #[inline(never)]
    pub fn stat<'a>(&'a self, path: &'a str) -> Answer<'a, Option<Status>> {
        Box::pin(async move {
            match &self.0 {
                StorageKind::Hdfs(hdfs) => hdfs.stat(path).await,
                StorageKind::Shared => shared::stat(path).await,
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => Ok(scripted.stat(path)),
            }
        })
    }

    /// What the folder `path` has, ordered by name.
    ///
    /// # Errors
    /// As [`Self::stat`]; more than `most` entries.
    pub async fn list(&self, path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
        match self.entries(path, most).await? {
            (all, true) => Ok(all),
            (_, false) => Err(StorageError::TooMany {
                path: path.to_owned(),
                most,
            }),
        }
    }

    /// At most `most` entries of the folder `path`, whichever the file system tells first; ordered by name.
    ///
    /// # Errors
    /// As [`Self::stat`].
    pub async fn list_some(&self, path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
        self.entries(path, most).await.map(|(entries, _)| entries)
    }

    /// Entries, and whether these are all.
    #[inline(never)]
    fn entries<'a>(&'a self, path: &'a str, most: usize) -> Answer<'a, (Vec<Status>, bool)> {
        Box::pin(async move {
            let (mut entries, whole) = match &self.0 {
                StorageKind::Hdfs(hdfs) => hdfs.list(path, most).await?,
                StorageKind::Shared => shared::list(path, most).await?,
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => scripted.list(path, most),
            };
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            Ok((entries, whole))
        })
    }

    /// Every file below the folder `path`, ordered by path.
    ///
    /// # Errors
    /// As [`Self::stat`]; more than `most` files and folders.
    pub async fn walk(&self, path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
        let (mut folders, mut files, mut seen) = (vec![path.to_owned()], Vec::new(), 0);
        while let Some(folder) = folders.pop() {
            let (entries, whole) = self.entries(&folder, most.saturating_sub(seen)).await?;
            if !whole {
                let path = path.to_owned();
                return Err(StorageError::TooMany { path, most });
            }
            seen += entries.len();
            for entry in entries {
                match entry.is_folder {
                    true => folders.push(entry.path),
                    false => files.push(entry),
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Makes a folder and those above it. One that is there stays as it is.
    ///
    /// # Errors
    /// As [`Self::stat`]; a file has that name.
    pub async fn make_folder(&self, path: &str) -> Result<(), StorageError> {
        self.make_folder_for(path, Readers::ByMask).await
    }

    /// As [`Self::make_folder`], for certain readers.
    ///
    /// # Errors
    /// As [`Self::make_folder`].
    #[inline(never)]
    pub fn make_folder_for<'a>(&'a self, path: &'a str, readers: Readers) -> Answer<'a, ()> {
        Box::pin(async move {
            match &self.0 {
                StorageKind::Hdfs(hdfs) => hdfs.make_folder(path, readers).await,
                StorageKind::Shared => shared::make_folder(path, readers).await,
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(_) => Ok(()),
            }
        })
    }

    /// Makes one folder, whose parent must be there. One that is there already stays as it is.
    ///
    /// # Errors
    /// As [`Self::stat`]; the parent is not there; a file has that name.
    #[inline(never)]
    pub fn make_one_folder<'a>(&'a self, path: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            match &self.0 {
                StorageKind::Hdfs(hdfs) => hdfs.make_one_folder(path).await,
                StorageKind::Shared => shared::make_one_folder(path).await,
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(_) => Ok(()),
            }
        })
    }

    /// Begins a file.
    ///
    /// # Errors
    /// As [`Self::stat`]; something is there already, and the options do not say that it goes.
    #[inline(never)]
    pub fn create<'a>(&'a self, path: &'a str, options: CreateOptions) -> Answer<'a, Writer> {
        Box::pin(async move {
            Ok(Writer::new(match &self.0 {
                StorageKind::Hdfs(hdfs) => {
                    writer::WriterKind::Hdfs(Box::new(hdfs.create(path, options).await?))
                }
                StorageKind::Shared => {
                    writer::WriterKind::Shared(shared::create(path, options).await?)
                }
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => {
                    writer::WriterKind::Scripted(scripted.create(path))
                }
            }))
        })
    }

    /// Opens a file again that was closed, to write at its end.
    ///
    /// # Errors
    /// As [`Self::stat`]; nothing is there.
    #[inline(never)]
    pub fn append<'a>(&'a self, path: &'a str) -> Answer<'a, Writer> {
        Box::pin(async move {
            Ok(Writer::new(match &self.0 {
                StorageKind::Hdfs(hdfs) => {
                    writer::WriterKind::Hdfs(Box::new(hdfs.append(path).await?))
                }
                StorageKind::Shared => writer::WriterKind::Shared(shared::append(path).await?),
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => {
                    writer::WriterKind::Scripted(scripted.create(path))
                }
            }))
        })
    }

    /// Opens a file for reading, in pieces, from the byte `from` on; from beyond its end nothing comes.
    ///
    /// # Errors
    /// As [`Self::stat`]; nothing is there.
    #[inline(never)]
    pub fn read_from<'a>(&'a self, path: &'a str, from: u64) -> Answer<'a, Reader> {
        Box::pin(async move {
            Ok(Reader::new(match &self.0 {
                StorageKind::Hdfs(hdfs) => {
                    reader::ReaderKind::Hdfs(Box::new(hdfs.open(path, from).await?))
                }
                StorageKind::Shared => reader::ReaderKind::Shared(shared::open(path, from).await?),
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => {
                    reader::ReaderKind::Scripted(scripted.read(path, from)?)
                }
            }))
        })
    }

    /// As [`Self::read_from`], of a file of which something is known, and expecting to stop soon after the byte `end`
    /// (as [`Reader::expecting`]): as long as its blocks are known and can be read, the NameNode is not asked. Else it is, and
    /// then the file must be as long as it is known to be, unless it is asked at once.
    ///
    /// # Errors
    /// As [`Self::read_from`].
    #[inline(never)]
    pub fn read_known<'a>(
        &'a self,
        path: &'a str,
        (from, end): (u64, u64),
        known: Known,
    ) -> Answer<'a, Reader> {
        Box::pin(async move {
            match &self.0 {
                StorageKind::Hdfs(hdfs) => {
                    let reading = hdfs.open_known(path, (from, end), known).await?;
                    Ok(Reader::new(reader::ReaderKind::Hdfs(Box::new(reading))))
                }
                _ => Ok(self.read_from(path, from).await?.expecting(end)),
            }
        })
    }

    /// Copies a file of this machine there, with the folders above it; how many bytes it has.
    ///
    /// # Errors
    /// As [`Self::stat`]; the file cannot be read; something is there already.
    pub async fn put(&self, local: &Path, path: &str) -> Result<u64, StorageError> {
        self.put_for(local, path, Readers::ByMask).await
    }

    /// The same for these readers, or fewer.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub async fn put_for(
        &self,
        local: &Path,
        path: &str,
        readers: Readers,
    ) -> Result<u64, StorageError> {
        let from = copy::open(local).await?;
        if readers != Readers::ByMask {
            // The folders above it are others' way too.
            self.make_folder(parent(path)).await?;
        }
        let options = CreateOptions {
            readers,
            ..CreateOptions::default()
        };
        let mut to = self.create(path, options).await?;
        copy::put((local, from), &mut to).await?;
        to.close().await
    }

    /// Writes a small file, with the folders above it.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub async fn write(&self, path: &str, bytes: Vec<u8>) -> Result<(), StorageError> {
        let mut to = self.create(path, CreateOptions::default()).await?;
        to.write(bytes.into()).await?;
        to.close().await.map(drop)
    }

    /// Copies a file from there into a new one of this machine, with the folders above it; how many
    /// bytes it has.
    ///
    /// # Errors
    /// As [`Self::stat`]; the file cannot be written.
    pub async fn take(&self, path: &str, local: &Path) -> Result<u64, StorageError> {
        self.read_from(path, 0).await?.copy_to(local).await
    }

    /// As [`Self::take`], into a file that its owner alone may use, with the owner's permissions in `mode`.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub async fn take_closed(
        &self,
        path: &str,
        local: &Path,
        mode: u32,
    ) -> Result<u64, StorageError> {
        let from = self.read_from(path, 0).await?;
        let taken = copy::take(from, local, copy::CLOSED).await?;
        copy::set_mode(local, mode & 0o700).await?;
        Ok(taken)
    }

    /// Reads a small file.
    ///
    /// # Errors
    /// As [`Self::stat`]; it has more than `most` bytes.
    #[inline(never)]
    pub fn read<'a>(&'a self, path: &'a str, most: usize) -> Answer<'a, Vec<u8>> {
        Box::pin(async move {
            let mut reader = self.read_from(path, 0).await?;
            let size = reader.size();
            let mut bytes = Vec::new();
            loop {
                // One that is longer than it said is none either.
                let size = size.max(bytes.len() as u64);
                if size > most as u64 {
                    let url = self.url(path);
                    return Err(StorageError::TooLarge { url, size, most });
                }
                let piece = reader.next().await?;
                if piece.is_empty() {
                    return Ok(bytes);
                }
                bytes.extend_from_slice(&piece);
            }
        })
    }

    /// Gives a file or folder another name, in one step, and durably.
    ///
    /// # Errors
    /// As [`Self::stat`]; something has that name already.
    #[inline(never)]
    pub fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            match &self.0 {
                StorageKind::Hdfs(hdfs) => hdfs.rename(from, to).await,
                StorageKind::Shared => shared::rename(from, to).await,
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => scripted.rename(from, to),
            }
        })
    }

    /// Removes a file, or a folder with all in it. What is not there is no error.
    ///
    /// # Errors
    /// As [`Self::stat`].
    pub async fn remove(&self, path: &str) -> Result<(), StorageError> {
        self.remove_found(path).await.map(drop)
    }

    /// As [`Self::remove`]; whether there was something.
    ///
    /// # Errors
    /// As [`Self::stat`].
    #[inline(never)]
    pub fn remove_found<'a>(&'a self, path: &'a str) -> Answer<'a, bool> {
        Box::pin(async move {
            match &self.0 {
                StorageKind::Hdfs(hdfs) => hdfs.remove(path).await,
                StorageKind::Shared => shared::remove(path).await,
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => Ok(scripted.remove(path)),
            }
        })
    }

    /// Removes a folder that has nothing in it; whether it was there.
    ///
    /// # Errors
    /// As [`Self::stat`]; [`StorageError::Exists`] where something is in it.
    #[inline(never)]
    pub fn remove_empty<'a>(&'a self, path: &'a str) -> Answer<'a, bool> {
        Box::pin(async move {
            match &self.0 {
                StorageKind::Hdfs(hdfs) => hdfs.remove_empty(path).await,
                StorageKind::Shared => shared::remove_empty(path).await,
                #[cfg(feature = "scripted")]
                StorageKind::Scripted(scripted) => Ok(scripted.remove(path)),
            }
        })
    }

    /// Notes that a file is used at a time (ms since 1970), without touching its modification time.
    /// Where that cannot be noted nothing happens, and [`Status::used_ms`] does not tell of it.
    pub async fn mark_used(&self, path: &str, at_ms: i64) {
        match &self.0 {
            StorageKind::Hdfs(hdfs) => hdfs.mark_used(path, at_ms).await,
            StorageKind::Shared => shared::mark_used(path, at_ms).await,
            #[cfg(feature = "scripted")]
            StorageKind::Scripted(_) => {}
        }
    }

    /// The whole name of a path here, as [`Address::url`].
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        match &self.0 {
            StorageKind::Hdfs(hdfs) => hdfs.url(path),
            StorageKind::Shared => Address::Shared.url(path),
            #[cfg(feature = "scripted")]
            StorageKind::Scripted(_) => scripted::url(path),
        }
    }
}

/// The folder of `path`; the top folder's is itself.
#[must_use]
pub fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        None | Some(("", _)) => "/",
        Some((parent, _)) => parent,
    }
}
