//! Why a file could not be brought or taken.

use std::io;
use std::path::{Path, PathBuf};

/// One sentence with the path and what was said.
///
/// What a server said is shortened to its first line: a NameNode sends its whole stack trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The settings make no sense.
    #[error("{url} cannot be used: {said}")]
    Settings {
        /// The file system.
        url: String,
        /// What is wrong with them.
        said: String,
    },
    /// Nobody answers for HDFS.
    #[error(
        "HDFS cannot be reached ({doing} {url}): {said}; is the NameNode running, and is the address right?"
    )]
    Down {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// What happened.
        said: String,
    },
    /// The NameNode answers, but nobody takes or gives the data.
    #[error(
        "{doing} {url}: no DataNode moves the data: {said}; are the DataNodes of HDFS running, and can they \
         be reached from here (dfs.client.use.datanode.hostname decides by which address)?"
    )]
    DataNodes {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// What happened.
        said: String,
    },
    /// A part of a file cannot be read: nobody who is to have its block gives it.
    #[error(
        "reading {origin}{path}: no DataNode moves the data of the block with byte {at}: {said}; hdfs fsck {path} \
         -files -blocks -locations shows which have copies, and whether they can be reached from here is decided by \
         dfs.client.use.datanode.hostname"
    )]
    Block {
        /// What names of its file system begin with.
        origin: String,
        /// The file.
        path: String,
        /// The first byte that did not come.
        at: u64,
        /// What happened.
        said: String,
    },
    /// HDFS accepts no changes for now.
    #[error(
        "{doing} {url}: HDFS is in safe mode and takes no files: {said}; wait until enough DataNodes have \
         reported (hdfs dfsadmin -safemode get), then start again"
    )]
    SafeMode {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// The server's words.
        said: String,
    },
    /// The user may not log in.
    #[error(
        "{doing} {url}: HDFS does not accept user {user}: {said}; only simple authentication is spoken \
         here, no Kerberos"
    )]
    Authentication {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// The user as whom it was tried.
        user: String,
        /// The server's words.
        said: String,
    },
    /// Not allowed.
    #[error("{doing} {url}: permission denied for user {user}: {said}")]
    Permission {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// The user as whom it was tried.
        user: String,
        /// The server's words.
        said: String,
    },
    /// A quota stands in the way.
    #[error(
        "{doing} {url}: the quota is used up: {said}; delete files there (on HDFS, hdfs dfs -count -q shows \
         the quota)"
    )]
    Quota {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// The server's words.
        said: String,
    },
    /// No room.
    #[error(
        "{doing} {url}: there is no room: {said}; free some space (on HDFS, also check that DataNodes run \
         and are reachable from here)"
    )]
    Full {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// The server's words.
        said: String,
    },
    /// Any other refusal of the file system.
    #[error("{doing} {url}: {said}")]
    Refused {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// Its words.
        said: String,
    },
    /// No answer.
    #[error("{doing} {url}: no answer within {seconds} s; is its server running?")]
    Silent {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// How long it had.
        seconds: u64,
    },
    /// Something has that name.
    #[error("{url} exists already")]
    Exists {
        /// The whole name.
        url: String,
    },
    /// Nothing has that name.
    #[error("there is no {url}")]
    Absent {
        /// The whole name.
        url: String,
    },
    /// A file is not the one of which something was known.
    #[error("{url} has {now} bytes, and {planned} were expected")]
    Changed {
        /// The whole name.
        url: String,
        /// The length that was known, bytes.
        planned: u64,
        /// The one that it has, bytes.
        now: u64,
    },
    /// A file has come in the place of the one of which something was known, and of which a part was read.
    #[error("{url} was replaced by another file, or written, while it was read")]
    Replaced {
        /// The whole name.
        url: String,
    },
    /// The last part of a file cannot be read before its writer has closed it.
    #[error(
        "{url} is still being written, and none of its DataNodes gives what lies behind byte {at}: close it first, or \
         leave it out"
    )]
    BeingWritten {
        /// The whole name.
        url: String,
        /// Bytes that the NameNode tells of.
        at: u64,
    },
    /// A file of this machine.
    #[error("{doing} {}: {source}", path.display())]
    Local {
        /// "reading", …
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A listing was cut off.
    #[error("{path} has more than {most} files and folders")]
    TooMany {
        /// The folder.
        path: String,
        /// The most there may be.
        most: usize,
    },
    /// A small file is none.
    #[error("{url} has {size} bytes; at most {most} make sense")]
    TooLarge {
        /// The whole name.
        url: String,
        /// Its length, bytes.
        size: u64,
        /// The most there may be.
        most: usize,
    },
}

impl StorageError {
    /// Whether the same may go well a little later: servers that are away, and may be on their way back.
    #[must_use]
    pub const fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Down { .. }
                | Self::DataNodes { .. }
                | Self::Block { .. }
                | Self::SafeMode { .. }
                | Self::Silent { .. }
        )
    }

    /// Whether waiting may help: an outage, or no room. That is what HDFS says where no DataNode takes a block, and somebody
    /// may make some.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        self.is_outage() || matches!(self, Self::Full { .. })
    }
}

/// Of an error of the operating system on a file of this machine.
pub(crate) fn local(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StorageError {
    let path = path.to_owned();
    move |source| StorageError::Local {
        doing,
        path,
        source,
    }
}
