//! A file that is being read.

use bytes::Bytes;

use crate::{StorageError, hdfs, shared};

/// By kind of file system.
pub(crate) enum Reader {
    Hdfs(Box<hdfs::Reading>),
    Shared(shared::Reading),
    #[cfg(feature = "scripted")]
    Scripted(Bytes),
}

impl Reader {
    /// Bytes of the whole file.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Hdfs(file) => file.size(),
            Self::Shared(file) => file.size(),
            #[cfg(feature = "scripted")]
            Self::Scripted(contents) => contents.len() as u64,
        }
    }

    /// The next piece; an empty one is the end.
    pub(crate) async fn next(&mut self) -> Result<Bytes, StorageError> {
        match self {
            Self::Hdfs(file) => file.next().await,
            Self::Shared(file) => file.next().await,
            #[cfg(feature = "scripted")]
            Self::Scripted(contents) => Ok(std::mem::take(contents)),
        }
    }
}
