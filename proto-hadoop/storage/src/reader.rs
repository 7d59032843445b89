//! A file that is being read.

use std::path::Path;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::{Answer, StorageError, copy, hdfs, shared};

/// A file that is being read, piece by piece. Dropping it ends the reading.
#[derive(Debug)]
pub struct Reader(ReaderKind);

/// By kind of file system.
#[derive(Debug)]
pub(crate) enum ReaderKind {
    Hdfs(Box<hdfs::Reading>),
    Shared(shared::Reading),
    #[cfg(feature = "scripted")]
    Scripted(Scripted),
}

/// What is left of a file, and how many bytes it has.
#[cfg(feature = "scripted")]
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) rest: Bytes,
    pub(crate) size: u64,
}

impl Reader {
    pub(crate) const fn new(kind: ReaderKind) -> Self {
        Self(kind)
    }

    /// Says that the reader is expected to stop soon after the byte `end`: up to there all comes as fast as it can,
    /// and what lies behind in steps that begin small, so that little is brought in vain.
    #[must_use]
    pub fn expecting(mut self, end: u64) -> Self {
        match &mut self.0 {
            ReaderKind::Hdfs(file) => file.expect(end),
            // Nothing is brought before it is asked for.
            ReaderKind::Shared(_) => {}
            #[cfg(feature = "scripted")]
            ReaderKind::Scripted(_) => {}
        }
        self
    }

    /// Copies what is left into a new file of this machine, with the folders above it; how many bytes it has.
    ///
    /// # Errors
    /// It cannot be read, or the file cannot be written.
    pub async fn copy_to(self, local: &Path) -> Result<u64, StorageError> {
        copy::take(self, local, copy::OPEN).await
    }

    /// Bytes of the whole file when it was opened.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.0 {
            ReaderKind::Hdfs(file) => file.size(),
            ReaderKind::Shared(file) => file.size(),
            #[cfg(feature = "scripted")]
            ReaderKind::Scripted(file) => file.size,
        }
    }

    /// The next piece, which is as long as the file system gives it; an empty one is the end.
    ///
    /// # Errors
    /// The file system refuses, or gives nothing in time.
    #[expect(
        clippy::should_implement_trait,
        reason = "a piece is waited for, which no iterator does"
    )]
    #[inline(never)]
    pub fn next(&mut self) -> Answer<'_, Bytes> {
        Box::pin(async move {
            match &mut self.0 {
                ReaderKind::Hdfs(file) => file.next().await,
                ReaderKind::Shared(file) => file.next().await,
                #[cfg(feature = "scripted")]
                ReaderKind::Scripted(file) => Ok(std::mem::take(&mut file.rest)),
            }
        })
    }

    /// Brings all that is left to somebody who reads it from a pipe, or until nobody does any more, which is no error.
    ///
    /// # Errors
    /// As [`Self::next`]. How long the other side takes is its affair.
    pub async fn pour(mut self, mut to: impl AsyncWrite + Unpin) -> Result<(), StorageError> {
        loop {
            let piece = self.next().await?;
            if piece.is_empty() || to.write_all(&piece).await.is_err() {
                return Ok(());
            }
        }
    }
}
