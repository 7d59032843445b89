//! HDFS, spoken by the crate hdfs-native.
//!
//! That crate retries by itself, some things for ever, so every call has a deadline here. What a
//! NameNode answers is told apart by the class of its exception.

use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;
use hdfs_native::client::FileStatus;
use hdfs_native::{Client, ClientBuilder, HdfsError, WriteOptions};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::{ANSWER, FileSystem, MARK, PIECE, Published, Status};
use crate::stage::error::StageError;
use crate::stage::root::HdfsRoot;

/// Other users need not see what is staged: YARN fetches it in the user's name.
const FOLDER_MODE: u32 = 0o700;
/// See [`FOLDER_MODE`].
const FILE_MODE: u32 = 0o600;
/// What a server said is cut to this many characters.
const SAID_MAX: usize = 300;

/// A client of one NameNode or nameservice.
#[derive(Debug)]
pub struct Hdfs {
    client: Client,
    /// What URLs begin with: `hdfs://host:port`.
    origin: String,
    user: String,
    home: String,
}

impl Hdfs {
    /// Prepares a client. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The settings make no sense to hdfs-native.
    pub fn new(root: &HdfsRoot, user: &str, conf_dir: Option<&str>) -> Result<Self, StageError> {
        let mut builder = ClientBuilder::new()
            .with_url(&root.connect)
            .with_user(user)
            .with_config(root.settings.clone());
        if let Some(folder) = conf_dir {
            builder = builder.with_config_dir(folder);
        }
        let client = builder.build().map_err(|error| StageError::BadRoot {
            root: root.origin.clone(),
            why: short(&error.to_string()),
        })?;
        Ok(Self {
            client,
            origin: root.origin.clone(),
            user: user.into(),
            home: root.home.clone(),
        })
    }

    /// Waits for an answer, and turns a refusal into a sentence.
    async fn within<T>(
        &self,
        limit: Duration,
        doing: &str,
        path: &str,
        call: impl Future<Output = hdfs_native::Result<T>>,
    ) -> Result<T, StageError> {
        match timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.refused(&error, doing, path)),
            Err(_elapsed) => Err(StageError::Down {
                address: self.origin.clone(),
                doing: format!("{doing} {path}"),
                said: format!("no answer within {} s", limit.as_secs()),
            }),
        }
    }

    fn refused(&self, error: &HdfsError, doing: &str, path: &str) -> StageError {
        let address = self.origin.clone();
        let user = self.user.clone();
        let doing = format!("{doing} {path}");
        let (class, said) = match error {
            HdfsError::RPCError(class, said) | HdfsError::FatalRPCError(class, said) => (
                class.rsplit(['.', '$']).next().unwrap_or(class),
                short(said),
            ),
            other => ("", short(&other.to_string())),
        };
        // Retriable exceptions carry the true one in their words.
        if class == "SafeModeException" || said.contains("in safe mode") {
            return StageError::SafeMode {
                address,
                doing,
                said,
            };
        }
        if said.contains("could only be") && said.contains("replication") {
            return StageError::Full { doing, said };
        }
        let authentication = said.contains("authentication is not enabled")
            || matches!(
                error,
                HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism
            );
        match class {
            _ if authentication => StageError::Authentication {
                address,
                user,
                doing,
                said,
            },
            "AccessControlException" | "AuthorizationException" => {
                StageError::Permission { user, doing, said }
            }
            "SaslException" | "GSSException" | "InvalidToken" => StageError::Authentication {
                address,
                user,
                doing,
                said,
            },
            // NSQuotaExceededException, DSQuotaExceededException, QuotaByStorageTypeExceeded…
            class if class.contains("Quota") => StageError::Quota { doing, said },
            "StandbyException" => StageError::Down {
                address,
                doing,
                said: format!("none of its NameNodes is active: {said}"),
            },
            _ if matches!(error, HdfsError::InvalidRPCResponse(_)) => StageError::Down {
                address,
                doing,
                said: format!("what answers there is not a NameNode: {said}"),
            },
            _ if matches!(error, HdfsError::IOError(_)) => StageError::Down {
                address,
                doing,
                said,
            },
            "" => StageError::Hdfs {
                address,
                doing,
                said,
            },
            class => StageError::Hdfs {
                address,
                doing,
                said: format!("{class}: {said}"),
            },
        }
    }
}

/// The first line; the others are the server's stack trace.
fn short(said: &str) -> String {
    let line = said.lines().next().unwrap_or("nothing").trim();
    line.chars().take(SAID_MAX).collect()
}

/// Times and lengths beyond what 63 bits hold do not occur; they are shown as the largest.
fn signed(number: impl TryInto<i64> + Display) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn status(of: &FileStatus) -> Status {
    let modified_ms = signed(of.modification_time);
    Status {
        name: of.path.rsplit('/').next().unwrap_or(&of.path).into(),
        size: of.length as u64,
        modified_ms,
        used_ms: (of.access_time > of.modification_time).then(|| signed(of.access_time)),
        is_folder: of.isdir,
    }
}

impl FileSystem for Hdfs {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    async fn stat(&self, path: &str) -> Result<Option<Status>, StageError> {
        let call = async {
            match self.client.get_file_info(path).await {
                Ok(found) => Ok(Some(status(&found))),
                Err(HdfsError::FileNotFound(_)) => Ok(None),
                Err(error) => Err(error),
            }
        };
        self.within(ANSWER, "looking at", path, call).await
    }

    async fn ensure_folder(&self, path: &str) -> Result<(), StageError> {
        let call = self.client.mkdirs(path, FOLDER_MODE, true);
        match self.within(ANSWER, "making", path, call).await {
            Err(StageError::Permission { user, doing, said }) => {
                let in_home = path.strip_prefix(&self.home);
                if in_home.is_some_and(|rest| rest.starts_with('/'))
                    && self.stat(&self.home).await?.is_none()
                {
                    let home = self.home.clone();
                    return Err(StageError::NoHome { user, home, said });
                }
                Err(StageError::Permission { user, doing, said })
            }
            other => other,
        }
    }

    async fn upload(
        &self,
        path: &str,
        mut pieces: Receiver<Result<Bytes, StageError>>,
    ) -> Result<u64, StageError> {
        const DOING: &str = "writing";
        let options = WriteOptions::default()
            .permission(FILE_MODE)
            .create_parent(false);
        let call = self.client.create(path, options);
        let mut writer = self.within(ANSWER, DOING, path, call).await?;
        let mut length = 0;
        while let Some(piece) = pieces.recv().await {
            let piece = piece?;
            length += piece.len() as u64;
            self.within(PIECE, DOING, path, Box::pin(writer.write_bytes(piece)))
                .await?;
        }
        self.within(PIECE, DOING, path, Box::pin(writer.close()))
            .await?;
        Ok(length)
    }

    async fn publish(&self, temporary: &str, name: &str) -> Result<Published, StageError> {
        let call = async {
            match self.client.rename(temporary, name, false).await {
                Ok(()) => Ok(Published::Renamed),
                Err(HdfsError::AlreadyExists(_)) => Ok(Published::Existed),
                Err(error) => Err(error),
            }
        };
        self.within(ANSWER, "naming", name, call).await
    }

    async fn mark_used(&self, path: &str, at_ms: i64) {
        // The protocol's "leave it": -1 in Java's signed long.
        const KEEP: u64 = u64::MAX;
        let at_ms = u64::try_from(at_ms).unwrap_or(0);
        // Refused where dfs.namenode.accesstime.precision is 0, and to others than the owner.
        let _unmarked = timeout(MARK, self.client.set_times(path, KEEP, at_ms)).await;
    }

    async fn delete(&self, path: &str) -> Result<(), StageError> {
        let call = self.client.delete(path, true);
        self.within(ANSWER, "removing", path, call)
            .await
            .map(|_was_there| ())
    }

    async fn list(&self, path: &str) -> Result<Vec<Status>, StageError> {
        let call = self.client.list_status(path, false);
        let found = self.within(ANSWER, "listing", path, call).await?;
        Ok(found.iter().map(status).collect())
    }
}
