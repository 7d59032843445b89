//! A file of HDFS that is being written.
//!
//! A NameNode completes a file when a DataNode has reported its last block, which comes a few milliseconds after
//! the client's first question: nearly every file is asked for twice. hdfs-native asks again after 500 ms, which
//! is longer than everything else that a small file costs. So the file is looked at meanwhile: its length there
//! is what was written as soon as the NameNode has taken the last block in, and then it is asked at once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, HdfsError};
use tokio::time::{Instant, sleep, timeout};

use super::Asks;
use crate::StorageError;

/// Before each look at a file that is not closed yet. None is later than the second question after the one before.
const LOOKS: [Duration; 7] = [
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
    Duration::from_millis(160),
];
/// The answer to the first question is on its way when its effect is seen; it may be that the file is complete.
const ON_ITS_WAY: Duration = Duration::from_millis(10);
/// What was under way so shortly after a look that found the file unfinished is the first question, or the pause
/// behind it (500 ms): nothing is lost when it is given up.
const FIRST: Duration = Duration::from_millis(400);

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
        let call = Box::pin(self.writer.write_bytes(piece));
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
                return Box::pin(writer.close()).await;
            };
            match Box::pin(ask_once(&mut writer, &client, &path, length)).await {
                Some(done) => done,
                None => match Box::pin(writer.close()).await {
                    // With all of its bytes: the first answer, which was not waited for, was that it is complete.
                    Err(HdfsError::RPCError(_, said)) if said.contains(NOT_OPEN) => Ok(()),
                    done => done,
                },
            }
        });
        asks.moving("writing", &path, call).await
    }
}

/// Closes the file, unless its NameNode has all of it and wants to be asked again: then `None`.
async fn ask_once(
    writer: &mut FileWriter,
    client: &Client,
    path: &str,
    length: u64,
) -> Option<hdfs_native::Result<()>> {
    let mut closing = Box::pin(writer.close());
    let mut unfinished = Instant::now();
    for pause in LOOKS {
        tokio::select! {
            biased;
            done = &mut closing => return Some(done),
            () = sleep(pause) => {}
        }
        let looked = Instant::now();
        match client.get_file_info(path).await {
            Ok(found) if found.length as u64 == length && unfinished.elapsed() < FIRST => {
                return timeout(ON_ITS_WAY, &mut closing).await.ok();
            }
            Ok(found) if (found.length as u64) < length => unfinished = looked,
            // Too late, or not to be known: at that crate's own pace.
            Ok(_) | Err(_) => break,
        }
    }
    Some(closing.await)
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing")
            .field("url", &self.asks.url(&self.path))
            .finish_non_exhaustive()
    }
}
