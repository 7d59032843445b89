//! A file that is being written.

use bytes::Bytes;

use crate::{StorageError, hdfs, shared};

/// A file that is being written. One that is dropped has an end of no meaning.
#[derive(Debug)]
pub struct Writer {
    kind: Kind,
    /// Bytes.
    written: u64,
}

/// By kind of file system.
#[derive(Debug)]
pub(crate) enum Kind {
    Hdfs(Box<hdfs::Writing>),
    Shared(shared::Writing),
    #[cfg(feature = "scripted")]
    Scripted(crate::scripted::Writing),
}

impl Writer {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, written: 0 }
    }

    /// Writes at the end.
    ///
    /// # Errors
    /// The file system refuses, or does not take the piece in time.
    pub async fn write(&mut self, piece: Bytes) -> Result<(), StorageError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.written += piece.len() as u64;
        match &mut self.kind {
            Kind::Hdfs(file) => file.write(piece).await,
            Kind::Shared(file) => file.write(piece).await,
            #[cfg(feature = "scripted")]
            Kind::Scripted(file) => {
                file.write(&piece);
                Ok(())
            }
        }
    }

    /// Ends the writing: all of it is there then, and durable. How many bytes were written.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn close(self) -> Result<u64, StorageError> {
        match self.kind {
            Kind::Hdfs(file) => file.close().await?,
            Kind::Shared(file) => file.close().await?,
            #[cfg(feature = "scripted")]
            Kind::Scripted(file) => file.close().await?,
        }
        Ok(self.written)
    }
}
