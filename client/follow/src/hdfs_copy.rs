//! A copy of all output in a folder of HDFS, a file for each stream of each rank.
//!
//! HDFS takes large pieces well and small ones badly, and each file that is open costs a connection to
//! every DataNode that gets a copy. So what a rank writes is gathered up to [`PIECE`], at most
//! [`GATHERED`] of all ranks together, and at most [`OPEN_MAX`] files are open. Until the end of the job
//! a file may be short by what is gathered; after a `gerbil-run` that was killed it stays so.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use job::wire::Stream;
use storage::{Address, CreateOptions, Readers, Storage, StorageError, Writer};
use tokio::runtime::Handle;

/// Bytes of one stream that are written at once.
const PIECE: usize = 1024 * 1024;
/// Bytes of all streams that wait to be written.
const GATHERED: usize = 16 * 1024 * 1024;
/// Files that are open at once.
const OPEN_MAX: usize = 16;
/// A copy of an earlier run goes.
const ANEW: CreateOptions = CreateOptions {
    readers: Readers::ByMask,
    size: None,
    needs_folder: false,
    overwrite: true,
};

/// Where the copy goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFolder {
    /// The file system.
    pub address: Address,
    /// Absolute.
    pub path: String,
}

impl CopyFolder {
    /// Makes it, before the job starts.
    pub async fn prepare(&self) -> Result<(), StorageError> {
        self.open()?.make_folder(&self.path).await
    }

    fn open(&self) -> Result<Storage, StorageError> {
        Storage::open(&self.address)
    }
}

/// Rank and stream.
type StreamKey = (u32, i32);

/// The files.
pub(crate) struct HdfsCopy {
    folder: Arc<CopyFolder>,
    storage: Storage,
    /// Which waits for HDFS: this thread may block.
    runtime: Handle,
    gathered: BTreeMap<StreamKey, Vec<u8>>,
    gathered_bytes: usize,
    /// `None`: closed for want of room.
    files: BTreeMap<StreamKey, Option<Writer>>,
    /// Those that are open, the oldest first.
    open: VecDeque<StreamKey>,
}

impl HdfsCopy {
    pub fn new(folder: Arc<CopyFolder>, runtime: Handle) -> io::Result<Self> {
        // The client of HDFS starts tasks of its own.
        let storage = {
            let _entered = runtime.enter();
            folder.open().map_err(io::Error::other)?
        };
        Ok(Self {
            storage,
            folder,
            runtime,
            gathered: BTreeMap::new(),
            gathered_bytes: 0,
            files: BTreeMap::new(),
            open: VecDeque::new(),
        })
    }

    pub fn add(&mut self, rank: u32, stream: Stream, data: &[u8]) -> io::Result<()> {
        let key = (rank, stream.into());
        let gathered = self.gathered.entry(key).or_default();
        gathered.extend_from_slice(data);
        self.gathered_bytes += data.len();
        let full = gathered.len() >= PIECE;
        let next = match full {
            true => Some(key),
            false if self.gathered_bytes >= GATHERED => {
                let longest = self.gathered.iter().max_by_key(|(_, data)| data.len());
                longest.map(|(key, _)| *key)
            }
            false => None,
        };
        next.map_or(Ok(()), |key| self.write(key))
    }

    /// Writes what is left, and ends all files.
    pub fn finish(mut self) -> io::Result<()> {
        let rest: Vec<StreamKey> = self.gathered.keys().copied().collect();
        rest.into_iter().try_for_each(|key| self.write(key))?;
        while let Some(oldest) = self.open.pop_front() {
            self.close(oldest)?;
        }
        Ok(())
    }

    /// Ends all files; those that follow take their places.
    pub fn anew(self) -> io::Result<Self> {
        let (folder, runtime) = (Arc::clone(&self.folder), self.runtime.clone());
        self.finish()?;
        Self::new(folder, runtime)
    }

    fn write(&mut self, key: StreamKey) -> io::Result<()> {
        let Some(data) = self.gathered.remove(&key) else {
            return Ok(());
        };
        self.gathered_bytes -= data.len();
        let (rank, stream) = key;
        let stream = Stream::try_from(stream).unwrap_or(Stream::Stdout);
        let path = format!("{}/{}", self.folder.path, name_of(rank, stream));
        let mut file = match self.files.remove(&key) {
            Some(Some(file)) => file,
            known => {
                while self.open.len() >= OPEN_MAX
                    && let Some(oldest) = self.open.pop_front()
                {
                    self.close(oldest)?;
                }
                let opened = self.runtime.block_on(async {
                    match known {
                        Some(_) => self.storage.append(&path).await,
                        None => self.storage.create(&path, ANEW).await,
                    }
                });
                self.open.push_back(key);
                opened.map_err(io::Error::other)?
            }
        };
        let written = self.runtime.block_on(file.write(data.into()));
        self.files.insert(key, Some(file));
        written.map_err(io::Error::other)
    }

    fn close(&mut self, key: StreamKey) -> io::Result<()> {
        let Some(Some(file)) = self.files.insert(key, None) else {
            return Ok(());
        };
        let closed = self.runtime.block_on(file.close());
        closed.map(drop).map_err(io::Error::other)
    }
}

/// The name of a rank's file among the copies.
pub(crate) fn name_of(rank: u32, stream: Stream) -> String {
    let suffix = match stream {
        Stream::Stdout => "out",
        Stream::Stderr => "err",
    };
    format!("rank-{rank}.{suffix}")
}
