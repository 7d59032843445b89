//! A file of HDFS that is being written.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, HdfsError};

use super::{Asks, calls, closing};
use crate::StorageError;

/// What a NameNode answers of a file that its writer asks it to complete, and that is complete.
const NOT_OPEN: &str = "not open for writing";

/// A file that is being written.
pub(crate) struct Writing {
    asks: Arc<Asks>,
    client: Client,
    path: String,
    writer: FileWriter,
    /// Bytes of the whole file; unknown where it had some before.
    length: Option<u64>,
}

impl Writing {
    pub(super) fn new(asks: Arc<Asks>, client: Client, path: &str, writer: FileWriter) -> Self {
        Self {
            asks,
            client,
            path: path.to_owned(),
            writer,
            length: Some(0),
        }
    }

    /// Behind what the file has.
    pub(super) fn appending(self) -> Self {
        let length = None;
        Self { length, ..self }
    }

    pub(crate) async fn write(&mut self, piece: Bytes) -> Result<(), StorageError> {
        let more = piece.len() as u64;
        let call = calls::write(&mut self.writer, piece);
        let written = self.asks.moving("writing", &self.path, call).await;
        self.length = self.length.map(|length| length.saturating_add(more));
        written.map(drop)
    }

    pub(crate) async fn close(self) -> Result<(), StorageError> {
        let Self {
            asks,
            client,
            path,
            mut writer,
            length,
        } = self;
        let call = Box::pin(async {
            let Some(length) = length.filter(|length| *length > 0) else {
                return calls::close(&mut writer).await;
            };
            let look = || async {
                let found = calls::get_file_info(&client, &path).await.ok()?;
                Some(found.length as u64)
            };
            let closed = closing::ask_once(calls::close(&mut writer), length, look);
            match Box::pin(closed).await {
                Some(done) => done,
                None => match calls::close(&mut writer).await {
                    // With all of its bytes: the first answer, which was not waited for, was that it is complete.
                    Err(HdfsError::RPCError(_, said)) if said.contains(NOT_OPEN) => Ok(()),
                    done => done,
                },
            }
        });
        asks.moving("writing", &path, call).await
    }
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing")
            .field("url", &self.asks.url(&self.path))
            .finish_non_exhaustive()
    }
}
