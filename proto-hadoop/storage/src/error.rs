//! Why a file could not be brought or taken.

use std::io;
use std::path::{Path, PathBuf};

/// One sentence with the path and what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The file system refused.
    #[error("{doing} {url}: {said}")]
    Refused {
        /// "writing", …
        doing: &'static str,
        /// The whole name.
        url: String,
        /// Its words, shortened to their first line.
        said: String,
    },
    /// No answer.
    #[error("{doing} {url}: no answer within {seconds} s")]
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
        /// The bound.
        most: usize,
    },
    /// A small file is none.
    #[error("{url} has {size} bytes; at most {most} make sense")]
    TooLarge {
        /// The whole name.
        url: String,
        /// Its bytes.
        size: u64,
        /// The bound.
        most: usize,
    },
}

/// Of an error of the operating system.
pub(crate) fn local(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StorageError {
    let path = path.to_owned();
    move |source| StorageError::Local {
        doing,
        path,
        source,
    }
}
