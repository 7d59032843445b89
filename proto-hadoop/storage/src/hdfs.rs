//! HDFS, spoken by the crate hdfs-native.
//!
//! That crate retries by itself, some things for ever, so every call has a deadline here.

use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hdfs_native::client::FileStatus;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, ClientBuilder, HdfsError, WriteOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::error::local;
use crate::shared::{create_here, open};
use crate::{ANSWER, MOVED, PIECE, Status, StorageError};

/// Bytes that are read at once: each read opens a connection to a DataNode.
const READ: usize = 8 << 20;
/// Of new folders; who may enter is decided above them.
const FOLDER_MODE: u32 = 0o755;
/// A folder without files, so that hdfs-native reads no settings but those it is given.
const NO_SETTINGS: &str = "/nonexistent";
/// What a server said is cut to this many characters.
const SAID_MAX: usize = 300;

#[derive(Debug)]
pub(crate) struct Hdfs {
    client: Client,
    origin: String,
}

impl Hdfs {
    pub(crate) fn new(
        connect: &str,
        origin: &str,
        user: &str,
        settings: &[(String, String)],
    ) -> Result<Self, StorageError> {
        let client = ClientBuilder::new()
            .with_url(connect)
            .with_user(user)
            .with_config(settings.iter().cloned())
            .with_config_dir(NO_SETTINGS)
            .build()
            .map_err(|error| StorageError::Refused {
                doing: "using",
                url: origin.to_owned(),
                said: said(&error),
            })?;
        Ok(Self {
            client,
            origin: origin.to_owned(),
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Waits for an answer, and turns a refusal into a sentence.
    async fn within<T>(
        &self,
        limit: Duration,
        doing: &'static str,
        path: &str,
        call: impl Future<Output = hdfs_native::Result<T>>,
    ) -> Result<T, StorageError> {
        let url = || self.url(path);
        match timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(HdfsError::AlreadyExists(_))) => Err(StorageError::Exists { url: url() }),
            Ok(Err(HdfsError::FileNotFound(_))) => Err(StorageError::Absent { url: url() }),
            Ok(Err(error)) => Err(StorageError::Refused {
                doing,
                url: url(),
                said: said(&error),
            }),
            Err(_elapsed) => Err(StorageError::Silent {
                doing,
                url: url(),
                seconds: limit.as_secs(),
            }),
        }
    }

    pub(crate) async fn stat(&self, path: &str) -> Result<Option<Status>, StorageError> {
        let call = self.client.get_file_info(path);
        match self.within(ANSWER, "looking at", path, call).await {
            Ok(found) => Ok(Some(Status {
                path: path.to_owned(),
                ..status(&found)
            })),
            Err(StorageError::Absent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn list(&self, path: &str, most: usize) -> Result<Vec<Status>, StorageError> {
        let listing = self.client.list_status_iter(path, false);
        let mut all = Vec::new();
        loop {
            let call = async { listing.next().await.transpose() };
            let Some(found) = self.within(ANSWER, "listing", path, call).await? else {
                return Ok(all);
            };
            if all.len() >= most {
                let path = self.url(path);
                return Err(StorageError::TooMany { path, most });
            }
            all.push(status(&found));
        }
    }

    pub(crate) async fn make_folder(&self, path: &str) -> Result<(), StorageError> {
        let call = self.client.mkdirs(path, FOLDER_MODE, true);
        self.within(ANSWER, "making", path, call).await
    }

    async fn create(&self, path: &str) -> Result<FileWriter, StorageError> {
        let call = self.client.create(path, WriteOptions::default());
        self.within(ANSWER, "writing", path, call).await
    }

    async fn send(
        &self,
        writer: &mut FileWriter,
        path: &str,
        piece: Bytes,
    ) -> Result<(), StorageError> {
        let call = Box::pin(writer.write_bytes(piece));
        self.within(MOVED, "writing", path, call).await.map(drop)
    }

    async fn close(&self, mut writer: FileWriter, path: &str) -> Result<(), StorageError> {
        let call = Box::pin(writer.close());
        self.within(MOVED, "writing", path, call).await
    }

    pub(crate) async fn put(&self, from: &Path, path: &str) -> Result<u64, StorageError> {
        let mut reader = open(from).await?;
        let mut writer = self.create(path).await?;
        let mut length = 0;
        loop {
            let mut piece = BytesMut::with_capacity(PIECE);
            while piece.len() < PIECE {
                let read = (&mut reader)
                    .take((PIECE - piece.len()) as u64)
                    .read_buf(&mut piece)
                    .await
                    .map_err(local("reading", from))?;
                if read == 0 {
                    break;
                }
            }
            if piece.is_empty() {
                break;
            }
            length += piece.len() as u64;
            self.send(&mut writer, path, piece.freeze()).await?;
        }
        self.close(writer, path).await?;
        Ok(length)
    }

    pub(crate) async fn write(&self, path: &str, bytes: Vec<u8>) -> Result<(), StorageError> {
        let mut writer = self.create(path).await?;
        if !bytes.is_empty() {
            self.send(&mut writer, path, bytes.into()).await?;
        }
        self.close(writer, path).await
    }

    pub(crate) async fn take(&self, path: &str, to: &Path) -> Result<u64, StorageError> {
        let call = self.client.read(path);
        let mut reader = self.within(ANSWER, "reading", path, call).await?;
        let mut writer = create_here(to).await?;
        let mut length = 0;
        while reader.remaining() > 0 {
            let call = Box::pin(reader.read_bytes(READ));
            let piece = self.within(MOVED, "reading", path, call).await?;
            length += piece.len() as u64;
            let written = writer.write_all(&piece).await;
            written.map_err(local("writing", to))?;
        }
        writer.flush().await.map_err(local("writing", to))?;
        Ok(length)
    }

    pub(crate) async fn read(&self, path: &str, most: usize) -> Result<Vec<u8>, StorageError> {
        let call = self.client.read(path);
        let mut reader = self.within(ANSWER, "reading", path, call).await?;
        let size = reader.file_length();
        if size > most {
            return Err(StorageError::TooLarge {
                url: self.url(path),
                size: size as u64,
                most,
            });
        }
        let call = Box::pin(reader.read_bytes(size));
        let bytes = self.within(MOVED, "reading", path, call).await?;
        Ok(bytes.to_vec())
    }

    pub(crate) async fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let call = self.client.rename(from, to, false);
        match self.within(ANSWER, "renaming", from, call).await {
            // It is the new name that is taken.
            Err(StorageError::Exists { .. }) => Err(StorageError::Exists { url: self.url(to) }),
            other => other,
        }
    }

    pub(crate) async fn remove(&self, path: &str) -> Result<(), StorageError> {
        let call = self.client.delete(path, true);
        let _was_there: bool = self.within(ANSWER, "removing", path, call).await?;
        Ok(())
    }
}

fn status(of: &FileStatus) -> Status {
    Status {
        path: of.path.clone(),
        size: of.length as u64,
        modified_ms: i64::try_from(of.modification_time).unwrap_or(i64::MAX),
        is_folder: of.isdir,
    }
}

/// The class and the first line; the others are the server's stack trace.
fn said(error: &HdfsError) -> String {
    let (class, words) = match error {
        HdfsError::RPCError(class, words) | HdfsError::FatalRPCError(class, words) => {
            let class = class.rsplit(['.', '$']).next().unwrap_or(class);
            (class, words.clone())
        }
        HdfsError::IOError(error) => ("", error.to_string()),
        other => ("", other.to_string()),
    };
    let line = words.lines().next().unwrap_or("nothing").trim();
    let line: String = line.trim_end_matches('.').chars().take(SAID_MAX).collect();
    match class {
        "" | "IOException" => line,
        class => format!("{class}: {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_servers_words_the_first_line_is_told() {
        let words = "The DiskSpace quota of /q is exceeded: quota = 1 MB.\n\tat a.b.C";
        let class = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException";
        let error = HdfsError::RPCError(class.into(), words.into());
        assert_eq!(
            said(&error),
            "DSQuotaExceededException: The DiskSpace quota of /q is exceeded: quota = 1 MB"
        );
        let plain = HdfsError::RPCError("java.io.IOException".into(), "no".into());
        assert_eq!(said(&plain), "no");
    }

    #[tokio::test(start_paused = true)]
    async fn a_namenode_that_never_answers_is_given_up() {
        // Listens, and takes no connection from its queue.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("hdfs://{}", silent.local_addr().unwrap());
        let hdfs = Hdfs::new(&address, &address, "alice", &[]).unwrap();
        let told = hdfs.stat("/x").await.unwrap_err();
        assert!(
            matches!(told, StorageError::Silent { seconds: 15, .. }),
            "{told}"
        );
    }
}
