//! A file that is being written.

use std::path::Path;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::error::local;
use crate::{Answer, StorageError, hdfs, shared};

/// Memory that a pipe is read into, bytes: used again as soon as a piece of it is written, and less than what the
/// allocators of our processes map anew each time.
const ROOM: usize = 512 << 10;
/// A read with less room than this is not worth it, bytes.
const ROOM_MIN: usize = 64 << 10;

/// A file that is being written. One that is dropped has an end of no meaning.
#[derive(Debug)]
pub struct Writer {
    kind: WriterKind,
    /// Bytes.
    written: u64,
}

/// By kind of file system.
#[derive(Debug)]
pub(crate) enum WriterKind {
    Hdfs(Box<hdfs::Writing>),
    Shared(shared::Writing),
    #[cfg(feature = "scripted")]
    Scripted(crate::scripted::Writing),
}

impl Writer {
    pub(crate) fn new(kind: WriterKind) -> Self {
        Self { kind, written: 0 }
    }

    /// Writes at the end.
    ///
    /// # Errors
    /// The file system refuses, or does not take the piece in time.
    #[inline(never)]
    pub fn write(&mut self, piece: Bytes) -> Answer<'_, ()> {
        Box::pin(async move {
            if piece.is_empty() {
                return Ok(());
            }
            self.written += piece.len() as u64;
            match &mut self.kind {
                WriterKind::Hdfs(file) => file.write(piece).await,
                WriterKind::Shared(file) => file.write(piece).await,
                #[cfg(feature = "scripted")]
                WriterKind::Scripted(file) => {
                    file.write(&piece);
                    Ok(())
                }
            }
        })
    }

    /// Writes what somebody else writes into a pipe, until all its writers have closed it.
    ///
    /// # Errors
    /// As [`Self::write`]; the pipe cannot be read. How long the other side takes is its affair.
    pub async fn fill(&mut self, mut from: impl AsyncRead + Unpin) -> Result<(), StorageError> {
        let mut room = BytesMut::new();
        loop {
            if room.capacity() < ROOM_MIN {
                room.reserve(ROOM);
            }
            let read = from.read_buf(&mut room).await;
            if read.map_err(local("reading", Path::new("a pipe")))? == 0 {
                return Ok(());
            }
            self.write(room.split().freeze()).await?;
        }
    }

    /// Ends the writing: all of it is there then, and durable. How many bytes were written.
    ///
    /// # Errors
    /// As [`Self::write`].
    #[inline(never)]
    pub fn close(self) -> Answer<'static, u64> {
        Box::pin(async move {
            match self.kind {
                WriterKind::Hdfs(file) => file.close().await?,
                WriterKind::Shared(file) => file.close().await?,
                #[cfg(feature = "scripted")]
                WriterKind::Scripted(file) => file.close().await?,
            }
            Ok(self.written)
        })
    }
}
