//! A file that is being read: packets as DataNodes send them, never copied.
//!
//! Blocks that whoever opens the file knows are read without asking the NameNode. At the first that cannot be, the file is
//! opened as any other, at the byte reached.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt as _};
use hdfs_native::file::FileReader;
use hdfs_native::{Client, HdfsError};
use tokio::time::{Instant, sleep, timeout};

use super::blocks::{Blocks, DataNodes};
use super::patience::Patience;
use super::steps::Steps;
use super::{Asks, calls};
use crate::{ANSWER, Known, StorageError};

/// Known blocks give a piece within this time, whoever has them, or the NameNode is asked.
const GIVEN: Duration = Duration::from_secs(20);

type Packets = BoxStream<'static, Result<Bytes, HdfsError>>;

/// A file that is being read.
pub(crate) struct Reading {
    asks: Arc<Asks>,
    client: Client,
    path: String,
    source: Source,
    /// The first byte that was not handed on.
    at: u64,
    /// Where reading began.
    from: u64,
    /// When the file was modified last that was listed; 0: not known.
    modified_ms: u64,
    steps: Steps,
    patience: Patience,
}

enum Source {
    /// Blocks that are known.
    Known(Box<Blocks>),
    /// What the NameNode has told, and what comes of the part under way.
    Told(Box<FileReader>, Option<Packets>),
}

impl Reading {
    pub(super) fn new(
        asks: Arc<Asks>,
        client: Client,
        path: &str,
        reader: FileReader,
        from: u64,
    ) -> Self {
        Self {
            asks,
            client,
            path: path.to_owned(),
            at: from,
            from,
            modified_ms: 0,
            steps: Steps::new(from, reader.file_length() as u64),
            patience: Patience::default(),
            source: Source::Told(Box::new(reader), None),
        }
    }

    /// By the blocks that are known of a file; `None`: that cannot begin.
    pub(super) async fn known(
        asks: Arc<Asks>,
        client: Client,
        path: &str,
        mut steps: Steps,
        (known, data_nodes): (Known, DataNodes),
    ) -> Option<Self> {
        let (mut blocks, at) = (Box::new(Blocks::new(known.blocks, data_nodes)), steps.at);
        match timeout(GIVEN, blocks.begin(&mut steps)).await {
            Ok(Ok(true)) => Some(Self {
                asks,
                client,
                path: path.to_owned(),
                at,
                from: at,
                modified_ms: known.modified_ms,
                steps,
                patience: Patience::default(),
                source: Source::Known(blocks),
            }),
            _ => None,
        }
    }

    /// It is read as a file that was modified last at that time, milliseconds since 1970.
    pub(super) const fn listed(&mut self, modified_ms: u64) {
        self.modified_ms = modified_ms;
    }

    pub(crate) fn expect(&mut self, end: u64) {
        self.steps.expected = end;
    }

    pub(crate) const fn size(&self) -> u64 {
        self.steps.size
    }

    /// The next piece; an empty one is the end.
    pub(crate) async fn next(&mut self) -> Result<Bytes, StorageError> {
        loop {
            let (reader, packets) = match &mut self.source {
                Source::Told(reader, packets) => (reader, packets),
                Source::Known(blocks) => {
                    match timeout(GIVEN, blocks.next(&mut self.steps)).await {
                        Ok(Ok(piece)) => {
                            self.at = self.at.saturating_add(piece.len() as u64);
                            return Ok(piece);
                        }
                        _ => {
                            let asked = Instant::now();
                            if let Err(error) = self.open().await {
                                self.outlast(asked, error).await?;
                            }
                        }
                    }
                    continue;
                }
            };
            let coming = match packets {
                Some(coming) => coming,
                None => {
                    let Some((begin, length)) = self.steps.next() else {
                        return Ok(Bytes::new());
                    };
                    let too_large = |_| StorageError::Refused {
                        doing: "reading",
                        url: self.asks.url(&self.path),
                        said: "it is larger than the memory of this machine can count".to_owned(),
                    };
                    let begin = usize::try_from(begin).map_err(too_large)?;
                    let length = usize::try_from(length).map_err(too_large)?;
                    packets.insert(reader.read_range_stream(begin, length).boxed())
                }
            };
            let call = Box::pin(async { coming.next().await.transpose() });
            let asked = Instant::now();
            let moved = self.asks.moving("reading", &self.path, call).await;
            match moved {
                Ok(Some(piece)) if piece.is_empty() => {}
                Ok(Some(piece)) => {
                    self.patience.moved();
                    self.at = self.at.saturating_add(piece.len() as u64);
                    return Ok(piece);
                }
                Ok(None) => *packets = None,
                Err(error) => {
                    let error = self.of_block(error);
                    self.outlast(asked, error).await?;
                }
            }
        }
    }

    /// Asks again and again for what has not come since `asked`, while servers are away.
    async fn outlast(
        &mut self,
        asked: Instant,
        mut error: StorageError,
    ) -> Result<(), StorageError> {
        while error.is_outage()
            && let Some(pause) = self.patience.pause(asked)
        {
            sleep(pause).await;
            match self.again().await {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            }
        }
        Err(error)
    }

    /// Asks for what has not come once more.
    async fn again(&mut self) -> Result<(), StorageError> {
        match &mut self.source {
            // The blocks of the file that was begun: whether a file of that name is still that one cannot be told.
            Source::Told(_, packets) if self.at > self.from && self.modified_ms == 0 => {
                *packets = None;
                self.steps.at = self.at;
                Ok(())
            }
            // DataNodes may be others by now.
            _ => self.open().await,
        }
    }

    /// Asks the NameNode for what is left.
    async fn open(&mut self) -> Result<(), StorageError> {
        let call = calls::open(&self.client, &self.path);
        let reader = self
            .asks
            .within(ANSWER, "reading", &self.path, call)
            .await?;
        let (planned, now) = (self.steps.size, reader.file_length() as u64);
        if planned != now {
            self.check_writer(planned, now).await?;
            let url = self.asks.url(&self.path);
            return Err(StorageError::Changed { url, planned, now });
        }
        if self.at > self.from && self.modified_ms > 0 {
            // What was read is of the file that was listed: what is left is not to be of another one.
            let call = calls::get_file_info(&self.client, &self.path);
            let status = self.asks.within(ANSWER, "reading", &self.path, call);
            if status.await?.modification_time != self.modified_ms {
                let url = self.asks.url(&self.path);
                return Err(StorageError::Replaced { url });
            }
        }
        self.steps.at = self.at;
        self.source = Source::Told(Box::new(reader), None);
        Ok(())
    }

    /// Refuses a file that has fewer bytes here than in a listing: the others are in a block that is still being written,
    /// whose bytes the NameNode leaves out when a reader opens the file.
    pub(super) async fn check_writer(
        &mut self,
        planned: u64,
        now: u64,
    ) -> Result<(), StorageError> {
        if now >= planned {
            return Ok(());
        }
        let call = calls::get_file_info(&self.client, &self.path);
        let status = self.asks.within(ANSWER, "reading", &self.path, call);
        match status.await?.length as u64 >= planned {
            true => Err(StorageError::BeingWritten {
                url: self.asks.url(&self.path),
                at: now,
            }),
            false => Ok(()),
        }
    }

    /// Of which block of the file an error is, where that is what an error is of.
    fn of_block(&self, error: StorageError) -> StorageError {
        match error {
            StorageError::DataNodes { said, .. } => StorageError::Block {
                origin: self.asks.origin.clone(),
                path: self.path.clone(),
                at: self.at,
                said,
            },
            other => other,
        }
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("url", &self.asks.url(&self.path))
            .finish_non_exhaustive()
    }
}
