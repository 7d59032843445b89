//! Files on a file system that all nodes of a cluster see: HDFS, or a folder mounted everywhere.
//!
//! An [`Address`] says how to reach one; it travels from the client, which knows Hadoop's settings,
//! to the nodes, which need none. [`Storage::open`] makes a client of it. Paths are absolute, without
//! scheme and host.
//!
//! Invariants: every question ends within a stated time; a listing is cut off at a stated length; a
//! file is never written over another one, nor given a name that another has; what is written is durable
//! before it is called written.
//!
//! Caveats: Kerberos is not spoken. A write that was broken off leaves a part of the file: callers
//! write into a folder that nobody takes for whole, and rename it.

mod error;
mod hdfs;
mod shared;

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use error::StorageError;

use hdfs::Hdfs;

/// Bytes that travel in one piece.
const PIECE: usize = 1 << 20;
/// Any one question must be answered within this time.
const ANSWER: Duration = Duration::from_secs(15);
/// Any one piece must be taken or given within this time: longer, because a pipeline of DataNodes may
/// have to be made anew while it waits.
const MOVED: Duration = Duration::from_secs(40);

/// How to reach a file system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Address {
    /// HDFS.
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

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Absolute path.
    pub path: String,
    /// Length, bytes; 0 for a folder.
    pub size: u64,
    /// Modification time, ms since 1970.
    pub modified_ms: i64,
    /// A folder.
    pub is_folder: bool,
}

impl Status {
    /// Name without its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A client of one file system. Dropping a call gives it up.
#[derive(Debug)]
pub struct Storage(Kind);

#[derive(Debug)]
enum Kind {
    Hdfs(Box<Hdfs>),
    Shared,
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
            } => Kind::Hdfs(Box::new(Hdfs::new(connect, origin, user, settings)?)),
            Address::Shared => Kind::Shared,
        }))
    }

    /// What is at `path`, if anything.
    ///
    /// # Errors
    /// The file system refuses or does not answer; so for all methods.
    pub async fn stat(&self, path: &str) -> Result<Option<Status>, StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.stat(path).await,
            Kind::Shared => shared::stat(path).await,
        }
    }

    /// What the folder `path` has, ordered by name.
    ///
    /// # Errors
    /// As [`Self::stat`]; more than `most` entries.
    pub async fn list(&self, path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
        let mut all = match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.list(path, most).await?,
            Kind::Shared => shared::list(path, most).await?,
        };
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    /// Every file below the folder `path`, ordered by path.
    ///
    /// # Errors
    /// As [`Self::stat`]; more than `most` files and folders.
    pub async fn walk(&self, path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
        let (mut folders, mut files, mut seen) = (vec![path.to_owned()], Vec::new(), 0);
        while let Some(folder) = folders.pop() {
            let entries = self.list(&folder, most.saturating_sub(seen)).await;
            let entries = entries.map_err(|error| match error {
                StorageError::TooMany { .. } => StorageError::TooMany {
                    path: path.to_owned(),
                    most,
                },
                other => other,
            })?;
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

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// As [`Self::stat`].
    pub async fn make_folder(&self, path: &str) -> Result<(), StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.make_folder(path).await,
            Kind::Shared => shared::make_folder(path).await,
        }
    }

    /// Copies a file of this machine there, with the folders above it; how many bytes it has.
    ///
    /// # Errors
    /// As [`Self::stat`]; the file cannot be read; something is there already.
    pub async fn put(&self, local: &Path, path: &str) -> Result<u64, StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.put(local, path).await,
            Kind::Shared => shared::put(local, path).await,
        }
    }

    /// Writes a small file, with the folders above it.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub async fn write(&self, path: &str, bytes: Vec<u8>) -> Result<(), StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.write(path, bytes).await,
            Kind::Shared => shared::write(path, bytes).await,
        }
    }

    /// Copies a file from there into a new one of this machine, with the folders above it; how many
    /// bytes it has.
    ///
    /// # Errors
    /// As [`Self::stat`]; the file cannot be written.
    pub async fn take(&self, path: &str, local: &Path) -> Result<u64, StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.take(path, local).await,
            Kind::Shared => shared::take(path, local).await,
        }
    }

    /// Reads a small file.
    ///
    /// # Errors
    /// As [`Self::stat`]; it has more than `most` bytes.
    pub async fn read(&self, path: &str, most: usize) -> Result<Vec<u8>, StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.read(path, most).await,
            Kind::Shared => shared::read(path, most).await,
        }
    }

    /// Gives a file or folder another name, in one step.
    ///
    /// # Errors
    /// As [`Self::stat`]; something has that name already.
    pub async fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.rename(from, to).await,
            Kind::Shared => shared::rename(from, to).await,
        }
    }

    /// Removes a file, or a folder with all in it. What is not there is no error.
    ///
    /// # Errors
    /// As [`Self::stat`].
    pub async fn remove(&self, path: &str) -> Result<(), StorageError> {
        match &self.0 {
            Kind::Hdfs(hdfs) => hdfs.remove(path).await,
            Kind::Shared => shared::remove(path).await,
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
