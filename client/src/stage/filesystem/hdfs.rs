//! HDFS, spoken by the crate hdfs-native.
//!
//! That crate retries by itself, some things for ever, so every call has a deadline here. What a
//! NameNode answers is told apart by the class of its exception.

mod growing;

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

pub use growing::Growing;

/// Other users need not see what is staged: YARN fetches it in the user's name.
const FOLDER_MODE: u32 = 0o700;
/// See [`FOLDER_MODE`].
const FILE_MODE: u32 = 0o600;
/// A file that is being written counts against a space quota with a whole block, 128 MiB by default.
/// Files up to this length, bytes, get one block that just holds them.
const SMALL: u64 = 128 << 20;
/// Smallest block that NameNodes take by default (`dfs.namenode.fs-limits.min-block-size`), bytes.
const BLOCK_STEP: u64 = 1 << 20;
/// What a server said is cut to this many characters.
const SAID_MAX: usize = 300;

/// What an upload does, in errors.
const WRITING: &str = "writing";

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

    /// As [`Self::within`], for calls that speak to DataNodes too.
    async fn writing<T>(
        &self,
        path: &str,
        call: impl Future<Output = hdfs_native::Result<T>>,
    ) -> Result<T, StageError> {
        let said = match timeout(PIECE, call).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(HdfsError::IOError(error))) => short(&error.to_string()),
            Ok(Err(HdfsError::DataTransferError(said))) => short(&said),
            Ok(Err(error)) => return Err(self.refused(&error, WRITING, path)),
            Err(_elapsed) => format!("a piece was not taken within {} s", PIECE.as_secs()),
        };
        Err(StageError::DataNodes {
            address: self.origin.clone(),
            doing: format!("{WRITING} {path}"),
            said,
        })
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
            HdfsError::IOError(error) => ("", short(&error.to_string())),
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
        if said.contains("could only be") && said.contains("minReplication") {
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
            _ if class == "RpcNoSuchProtocolException"
                || matches!(error, HdfsError::InvalidRPCResponse(_)) =>
            {
                StageError::Down {
                    address,
                    doing,
                    said: format!("what answers there is not a NameNode: {said}"),
                }
            }
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
    let line = line.trim_end_matches('.');
    line.chars().take(SAID_MAX).collect()
}

/// Times and lengths beyond what 63 bits hold do not occur; they are shown as the largest.
fn signed(number: impl TryInto<i64> + Display) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn status(of: &FileStatus, user: &str) -> Status {
    let modified_ms = signed(of.modification_time);
    Status {
        name: of.path.rsplit('/').next().unwrap_or(&of.path).into(),
        size: of.length as u64,
        modified_ms,
        used_ms: (of.access_time > of.modification_time).then(|| signed(of.access_time)),
        is_folder: of.isdir,
        owner: of.owner.clone(),
        is_ours: of.owner == user,
        mode: u32::from(of.permission) & 0o7777,
    }
}

impl FileSystem for Hdfs {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    async fn stat(&self, path: &str) -> Result<Option<Status>, StageError> {
        let call = async {
            match self.client.get_file_info(path).await {
                Ok(found) => Ok(Some(status(&found, &self.user))),
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
        size: u64,
        mut pieces: Receiver<Result<Bytes, StageError>>,
    ) -> Result<u64, StageError> {
        let mut options = WriteOptions::default()
            .permission(FILE_MODE)
            .create_parent(false);
        if size <= SMALL {
            options = options.block_size(size.div_ceil(BLOCK_STEP).max(1) * BLOCK_STEP);
        }
        let call = self.client.create(path, options);
        let mut writer = self.within(ANSWER, WRITING, path, call).await?;
        let mut length = 0;
        while let Some(piece) = pieces.recv().await {
            let piece = piece?;
            length += piece.len() as u64;
            self.writing(path, Box::pin(writer.write_bytes(piece)))
                .await?;
        }
        self.writing(path, Box::pin(writer.close())).await?;
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
        Ok(found.iter().map(|of| status(of, &self.user)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(class: &str, said: &str) -> StageError {
        let root = HdfsRoot {
            path: "/user/alice/.gerbil".into(),
            origin: "hdfs://head:8020".into(),
            connect: "hdfs://head:8020".into(),
            home: "/user/alice".into(),
            settings: Vec::new(),
        };
        let hdfs = Hdfs::new(&root, "alice", Some("/nonexistent")).unwrap();
        let error = HdfsError::RPCError(class.into(), said.into());
        hdfs.refused(&error, "writing", "/user/alice/x")
    }

    /// Classes and words as NameNodes 2.10 and 3.4 send them.
    #[tokio::test]
    async fn each_refusal_has_its_own_kind() {
        let hadoop = "org.apache.hadoop";
        let told = refusal(
            &format!("{hadoop}.hdfs.server.namenode.SafeModeException"),
            "Cannot create file /x. Name node is in safe mode.\nThe reported blocks 0\n\tat a.b.C",
        );
        assert!(matches!(told, StageError::SafeMode { .. }), "{told}");
        assert!(!told.to_string().contains("reported blocks"), "{told}");
        let told = refusal(
            &format!("{hadoop}.ipc.RetriableException"),
            "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Name node is in safe mode.",
        );
        assert!(matches!(told, StageError::SafeMode { .. }), "{told}");
        for said in [
            "File /x could only be replicated to 0 nodes instead of minReplication (=1).",
            "File /x could only be written to 0 of the 1 minReplication nodes.",
        ] {
            let told = refusal("java.io.IOException", said);
            assert!(matches!(told, StageError::Full { .. }), "{told}");
        }
        for class in ["DSQuotaExceededException", "NSQuotaExceededException"] {
            let told = refusal(&format!("{hadoop}.hdfs.protocol.{class}"), "The quota");
            assert!(matches!(told, StageError::Quota { .. }), "{told}");
        }
        let denied = format!("{hadoop}.security.AccessControlException");
        let told = refusal(&denied, "Permission denied: user=alice, access=WRITE");
        assert!(matches!(told, StageError::Permission { .. }), "{told}");
        let told = refusal(
            &denied,
            "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]",
        );
        assert!(matches!(told, StageError::Authentication { .. }), "{told}");
        assert!(told.to_string().contains("no Kerberos"), "{told}");
        let told = refusal(
            &format!("{hadoop}.ipc.RpcNoSuchProtocolException"),
            "Unknown protocol",
        );
        assert!(matches!(told, StageError::Down { .. }), "{told}");
        let told = refusal("java.io.IOException", "something else");
        assert!(
            told.to_string().ends_with("IOException: something else"),
            "{told}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_namenode_that_never_answers_is_given_up() {
        // Listens, and takes no connection from its queue.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("hdfs://{}", silent.local_addr().unwrap());
        let root = HdfsRoot {
            path: "/x".into(),
            origin: address.clone(),
            connect: address,
            home: "/user/alice".into(),
            settings: Vec::new(),
        };
        let hdfs = Hdfs::new(&root, "alice", Some("/nonexistent")).unwrap();
        let told = hdfs.stat("/x").await.unwrap_err();
        assert!(told.to_string().contains("no answer within 15 s"), "{told}");
        assert_eq!(told.exit(), job::exit::Exit::Unavailable);
    }
}
