//! What can be wrong with a list of hosts.

use std::path::PathBuf;

use super::PROCESSES_MAX;

/// Bytes of a file: some 500,000 hosts.
pub(super) const FILE_MAX: u64 = 16 * 1024 * 1024;

/// A list that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostListError {
    /// No such file, no permission, a folder.
    #[error("cannot read the list of hosts {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// `-f -`.
    #[error(
        "standard input belongs to the first process, it cannot be the list of hosts too; write the \
         list into a file (a file of that name is ./-)"
    )]
    StandardInput,
    /// Certainly another file was meant.
    #[error(
        "{} is larger than {} MiB, which no list of hosts is",
        path.display(),
        FILE_MAX / (1024 * 1024)
    )]
    TooLarge { path: PathBuf },
    /// Perhaps a binary.
    #[error("{source_name}:{line}: this line is no UTF-8 text")]
    NoText { source_name: String, line: usize },
    /// Nothing but comments.
    #[error("{words} names no host; write one a line, as in node1:4")]
    Empty { words: String },
    /// One entry.
    #[error("{at}: {trouble}")]
    Entry { at: String, trouble: Trouble },
}

/// What is wrong with one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("there is no host between two commas")]
    Nothing,
    #[error("{name} is no name of a host")]
    NoHost { name: String },
    #[error(
        "{name} has no range of numbers between its brackets; one looks like n[1-3] or n[01-10,15], of \
         at most {PROCESSES_MAX} hosts"
    )]
    NoRange { name: String },
    #[error("{name} names a user; YARN starts the processes as you, write the host alone")]
    User { name: String },
    #[error("{name} could be an address with or without a number; write [{name}] or [{name}]:4")]
    BareAddress { name: String },
    #[error(
        "\"{value}\" is no number of processes; write a whole number from 1 to {PROCESSES_MAX}"
    )]
    NoCount { value: String },
    #[error("the number of processes is {value}; a host takes 1 to {PROCESSES_MAX}")]
    CountOutOfRange { value: String },
    #[error("{value} is a second number of processes for one mention of {name}")]
    SecondCount { name: String, value: String },
    #[error("{word} is not understood here; write host, host:4, host slots=4 or host 4")]
    Unknown { word: String },
    #[error("{word} has a number of processes, which means nothing here; write the host alone")]
    Counted { word: String },
    #[error("with {name} the list has {sum} places, more than {PROCESSES_MAX}")]
    TooMany { name: String, sum: u64 },
}
