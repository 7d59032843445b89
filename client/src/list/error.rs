//! Why a list of jobs is none.

use std::io;
use std::path::PathBuf;

use job::exit::Exit;

use crate::arguments::ParseError;
use crate::split_words::OpenQuote;
use crate::system::SystemError;

/// One sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error("--list {}: {source}", path.display())]
    Unread { path: PathBuf, source: io::Error },
    #[error("--list {}: it has more than {most} bytes", path.display())]
    TooLong { path: PathBuf, most: u64 },
    #[error("--list {}: line {line} is no UTF-8", path.display())]
    NoText {
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
    },
    #[error("{} lists no job", path.display())]
    Empty { path: PathBuf },
    #[error("{}: one line is wrong; nothing was submitted", path.display())]
    OneWrong { path: PathBuf },
    #[error("{}: {wrong} lines are wrong; nothing was submitted", path.display())]
    Wrong { path: PathBuf, wrong: usize },
    /// A line that cannot be taken apart.
    #[error(transparent)]
    Words(#[from] OpenQuote),
    #[error("the line says nothing behind gerbil-run")]
    NoWords,
    #[error("asks for help or the version, which is no job")]
    Help,
    #[error(transparent)]
    Line(ParseError),
    /// A line that does not become a plan.
    #[error("{0}")]
    Job(String),
    #[error(transparent)]
    System(#[from] SystemError),
    #[error("a list within a list")]
    Nested,
    #[error("-k and --ps are no jobs; write them on a command line of their own")]
    NoJob,
    #[error("asks for --explain, --report or --timing, which a dry run of the list cannot give")]
    Dry,
}

impl ListError {
    /// What the command returns.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::System(error) => error.exit,
            _ => Exit::Usage,
        }
    }
}
