//! Why data cannot be moved as the command line wants it.

use std::io;
use std::path::PathBuf;

use follow::FollowError;
use job::exit::Exit;
use mini::RunFolder;
use proto_hadoop::{ApplicationId, CallError};
use staging::error::exit_of;
use storage::StorageError;

/// One sentence, with the option, the value and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataError {
    /// The ResourceManager does not answer.
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error("{text} is no application id; one looks like application_1700000000000_0042")]
    NoApplicationId {
        /// As typed.
        text: String,
    },
    /// The file system refuses.
    #[error("{option}: {source}")]
    Storage {
        option: &'static str,
        source: Box<StorageError>,
    },
    /// No place that can be used.
    #[error("{option} {url}: {why}")]
    BadPlace {
        option: String,
        url: String,
        why: String,
        exit: Exit,
    },
    /// A path alone, where the default file system is this machine's own.
    #[error(
        "{option} {url}: fs.defaultFS is {value}, so that a path alone names no place that the nodes see; \
         write hdfs://HOST:PORT/PATH, or file:/PATH for a folder that all nodes have"
    )]
    NoSharedFileSystem {
        option: String,
        url: String,
        value: String,
    },
    #[error("--stage-in: there is no {url}; the name in the container stands behind the last =")]
    NothingToStageIn { url: String },
    #[error(
        "--stage-in: with {url} more than {most} files would be brought; pack them, or read them from the \
         program"
    )]
    TooManyFiles { url: String, most: usize },
    #[error("--stage-in: {url} is an empty folder")]
    EmptyFolder { url: String },
    /// A name that cannot stand in a container.
    #[error(
        "--stage-in: {url} cannot lie in a container as {link}: the name {part} is kept for others there, or \
         has characters besides letters, digits and . _ + -; give another with {url}=NAME"
    )]
    BadName {
        url: String,
        link: String,
        part: String,
    },
    #[error(
        "--stage-in: {url} would lie in the container as {first} and as {second}, and YARN gives a file one \
         name alone; leave out one, and make a link of it in the program"
    )]
    TwoNames {
        url: String,
        first: String,
        second: String,
    },
    #[error(
        "--stage-in: {url} would lie in the container as {link}, which is taken by something else; give it \
         another name with URL=NAME"
    )]
    NameTaken { url: String, link: String },
    #[error("--near {url}: only HDFS tells where its files lie")]
    NotOnHdfs { url: String },
    #[error("--near: there is no {url}")]
    NothingNear { url: String },
    #[error("--near {url}: {source}")]
    NameNode { url: String, source: Box<CallError> },
    #[error(
        "--stage-out {name}={path}: %h stands for a node's host, %p for its number, %% for % itself, and no other % is known"
    )]
    BadPattern { name: String, path: String },
    #[error("--stage-out: {first} and {second} would both become {url}, or one lie in the other")]
    Collision {
        first: String,
        second: String,
        url: String,
    },
    #[error(
        "--stage-out: {url} exists already, and nothing is written over; remove it, or give another address"
    )]
    ResultExists { url: String },
    #[error(
        "--record: {url} exists already, and nothing is written over; remove it, or give another address"
    )]
    RecordExists { url: String },
    #[error("--record: there is no folder {url}; make it, or give another address")]
    NoRecordFolder { url: String },
    #[error("--stage-out: {file} is a file, so that {url} cannot lie in it")]
    InAFile { file: String, url: String },
    #[error("--get {name}={path}: {why}")]
    BadGet {
        name: String,
        path: String,
        why: String,
    },
    #[error("--get: there is no folder {} here to bring a result to", folder.display())]
    NoFolder { folder: PathBuf },
    #[error("--get: {} may not be written to", folder.display())]
    NotWritable { folder: PathBuf },
    #[error("--get: {} is a folder that is there already, and is not written over", folder.display())]
    InTheWay { folder: PathBuf },
    #[error(
        "--get: {why}; for {} days the results lie in {}", RunFolder::RESULTS_DAYS, places.join(", ")
    )]
    NotBrought { why: String, places: Vec<String> },
    #[error(
        "--get: how the job ended is not known; where it succeeds, the results lie in {}",
        places.join(", ")
    )]
    MayCome { places: Vec<String> },
    #[error("--get: {why}; nor can the results be kept, and they go with the job: {error}")]
    GoneWithTheJob { why: String, error: io::Error },
    #[error(
        "--checkpoint-signal says how to ask for checkpoints, and nothing says that there are any; give \
         --checkpoint-interval, or --checkpoint-dir"
    )]
    SignalAlone,
    #[error("--restore: {url} has no complete checkpoint; a job that has succeeded keeps none")]
    NoCheckpoint { url: String },
    #[error("--restore: {url} makes no sense: {source}")]
    BadManifest {
        url: String,
        source: serde_json::Error,
    },
    #[error("--restore: {url} is of {ranks} processes, this job has {processes}; write -n {ranks}")]
    OtherSize {
        url: String,
        ranks: usize,
        processes: u32,
    },
    #[error(
        "{id} does not run, or was not started with --checkpoint-dir or --checkpoint-interval: there is no \
         {folder}"
    )]
    SavesNothing { id: ApplicationId, folder: String },
    #[error("{id} was not saved within {seconds} s")]
    NotSaved { id: ApplicationId, seconds: u64 },
    #[error("{id} has ended before it was saved")]
    EndedUnsaved { id: ApplicationId },
    /// In the words of the ApplicationMaster.
    #[error("{sentence}")]
    NotSavedBy { sentence: String },
}

impl DataError {
    /// What the command returns.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Follow(error) => error.exit(),
            Self::Storage { source, .. } => exit_of(source),
            Self::BadPlace { exit, .. } => *exit,
            Self::NoSharedFileSystem { .. } => Exit::Config,
            Self::NameNode { source, .. } => match **source {
                CallError::Remote { .. } => Exit::Staging,
                _ => Exit::Unavailable,
            },
            Self::TooManyFiles { .. }
            | Self::BadName { .. }
            | Self::TwoNames { .. }
            | Self::NameTaken { .. }
            | Self::NotOnHdfs { .. }
            | Self::BadPattern { .. }
            | Self::Collision { .. }
            | Self::BadGet { .. }
            | Self::SignalAlone
            | Self::NoApplicationId { .. }
            | Self::OtherSize { .. } => Exit::Usage,
            Self::SavesNothing { .. } => Exit::Impossible,
            Self::NotSaved { .. } => Exit::NotInTime,
            Self::EndedUnsaved { .. } => Exit::Lost,
            Self::NothingToStageIn { .. }
            | Self::EmptyFolder { .. }
            | Self::NothingNear { .. }
            | Self::ResultExists { .. }
            | Self::RecordExists { .. }
            | Self::NoRecordFolder { .. }
            | Self::InAFile { .. }
            | Self::NoFolder { .. }
            | Self::NotWritable { .. }
            | Self::InTheWay { .. }
            | Self::NotBrought { .. }
            | Self::MayCome { .. }
            | Self::NoCheckpoint { .. }
            | Self::BadManifest { .. }
            | Self::GoneWithTheJob { .. }
            | Self::NotSavedBy { .. } => Exit::Staging,
        }
    }
}
