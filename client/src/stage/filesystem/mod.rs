//! What staging asks of a file system that the nodes share.

mod hdfs;
mod shared;

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::Receiver;

pub use hdfs::{Growing, Hdfs};
pub use shared::Shared;

use super::error::StageError;

/// Any one question to the file system must be answered within this time.
const ANSWER: Duration = Duration::from_secs(15);
/// Any one piece of an upload must be taken within this time: longer, because a pipeline of
/// DataNodes may have to be made anew while it waits.
const PIECE: Duration = Duration::from_secs(40);
/// A note of use may not hold up a job for longer.
const MARK: Duration = Duration::from_secs(2);

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Name without its folder.
    pub name: String,
    /// Length, bytes.
    pub size: u64,
    /// Modification time, ms since 1970, as NodeManagers will read it.
    pub modified_ms: i64,
    /// When it was last used, ms since 1970, where a use after its making is known
    /// ([`FileSystem::mark_used`]).
    pub used_ms: Option<i64>,
    /// A folder.
    pub is_folder: bool,
    /// Whose it is, as the file system names its users.
    pub owner: String,
    /// That is who stages.
    pub is_ours: bool,
    /// Permission bits.
    pub mode: u32,
}

impl Status {
    /// Why it may have been put there, or changed, by somebody else; `None`: by nobody.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        /// Others than the owner may write.
        const WRITABLE: u32 = 0o022;
        if !self.is_ours {
            return Some(format!("belongs to {}", self.owner));
        }
        let mode = self.mode;
        (mode & WRITABLE != 0).then(|| format!("may be written by others (its mode is {mode:04o})"))
    }
}

/// The operations of staging. Paths are absolute, without scheme; each call ends within a stated
/// time.
pub trait FileSystem: Send + Sync + 'static {
    /// How YARN names a path.
    fn url(&self, path: &str) -> String;

    /// What is there, if anything.
    fn stat(&self, path: &str) -> impl Future<Output = Result<Option<Status>, StageError>> + Send;

    /// Makes a folder and those above it, as closed as the nodes' reading allows.
    fn ensure_folder(&self, path: &str) -> impl Future<Output = Result<(), StageError>> + Send;

    /// Writes a new file of `size` bytes from pieces; an error among them ends it. Returns the
    /// length that was written, bytes.
    fn upload(
        &self,
        path: &str,
        size: u64,
        pieces: Receiver<Result<Bytes, StageError>>,
    ) -> impl Future<Output = Result<u64, StageError>> + Send;

    /// Gives a file its final name. Where that exists already it wins, and the file stays.
    fn publish(
        &self,
        temporary: &str,
        name: &str,
    ) -> impl Future<Output = Result<Published, StageError>> + Send;

    /// Notes that a file is used at a time (ms since 1970), without touching its modification time.
    /// Where that cannot be noted, nothing happens, and the file is never taken for unused.
    fn mark_used(&self, path: &str, at_ms: i64) -> impl Future<Output = ()> + Send;

    /// Removes a file, or a folder with all in it. What is not there is no error.
    fn delete(&self, path: &str) -> impl Future<Output = Result<(), StageError>> + Send;

    /// What a folder has.
    fn list(&self, path: &str) -> impl Future<Output = Result<Vec<Status>, StageError>> + Send;
}

/// How giving the final name ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The file has it.
    Renamed,
    /// Another file had it first.
    Existed,
}
