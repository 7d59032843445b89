//! Why something could not be staged.

use std::io;
use std::path::PathBuf;

use job::exit::Exit;
use storage::StorageError;

/// Why a program, its libraries or this binary could not be brought to where the nodes fetch them.
///
/// Each message names the offending value and what to change. What a server said is shortened to
/// its first line: a NameNode sends its whole stack trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// No file has the program's name.
    #[error("program {program} was not found; looked {looked}")]
    ProgramNotFound {
        /// As given by the user.
        program: String,
        /// "in PATH (…)" or "at /path".
        looked: String,
    },
    /// The program's name is a folder's.
    #[error("{} is a folder, not a program", path.display())]
    ProgramIsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file that the user brings along cannot come to lie under that name.
    #[error("{} cannot be brought along as {name}: {why}", path.display())]
    NotShipped {
        /// The file.
        path: PathBuf,
        /// Its name in the container.
        name: String,
        /// Why, and what to do.
        why: &'static str,
    },
    /// The same of a file whose name is at fault.
    #[error("{} cannot be brought along as {name}: {why}; give it another name with FILE#NAME", path.display())]
    NoLink {
        /// The file.
        path: PathBuf,
        /// Its name in the container.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// A file that is to be brought along is not there.
    #[error(
        "there is no file {}, which is to be brought along; commas part the names of --files, so a file with a comma in \
         its name comes by a link that has none (ln -s)",
        path.display()
    )]
    NoFile {
        /// As it was understood.
        path: PathBuf,
    },
    /// The execute permission is missing.
    #[error("{} is not executable (its mode is {mode:04o}); try: chmod +x {}", path.display(), path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Permission bits.
        mode: u32,
    },
    /// The kernel would not start it.
    #[error("{} cannot be executed: it is {what}", path.display())]
    NotAProgram {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// Built for another processor.
    #[error(
        "{} is built for {found}, but the cluster is taken to be {wanted}, which this gerbil-run is \
         built for; build the program for {wanted}",
        path.display()
    )]
    WrongArchitecture {
        /// The program.
        path: PathBuf,
        /// Its machine.
        found: String,
        /// This binary's machine.
        wanted: String,
    },
    /// The program would not start here either.
    #[error(
        "library {library}, which {} needs, was not found; looked in {looked}; put its folder into \
         LD_LIBRARY_PATH, or use --no-ship-libs if the nodes have it",
        wanted_by.display()
    )]
    LibraryMissing {
        /// Name as the file that needs it gives it.
        library: String,
        /// Which file needs it.
        wanted_by: PathBuf,
        /// Folders, in the order of the search.
        looked: String,
    },
    /// Its processes would not know of each other.
    #[error(
        "{} is linked to Open MPI ({library}), and there is no libpmix.so.2 to serve it by: each of the {processes} \
         processes would be a job of its own; give --pmix LIBPMIX, or use an Open MPI 4 or 5 that has one, or MPICH or one \
         of its kin",
        program.display()
    )]
    OpenMpi {
        /// The program.
        program: PathBuf,
        /// Name of the library.
        library: String,
        /// How many processes the job has.
        processes: u32,
    },
    /// It loads two that know nothing of each other.
    #[error(
        "{} loads two MPI libraries: {} is needed by {}, and {} by {}; build all of it with one of them",
        program.display(), needed.0, needed.1.display(), needed.2, needed.3.display()
    )]
    TwoMpiLibraries {
        /// The program.
        program: PathBuf,
        /// Name of a library, and the file that needs it; the same of the other.
        needed: Box<(String, PathBuf, String, PathBuf)>,
    },
    /// It speaks no PMIx that gerbil speaks.
    #[error(
        "{} is linked to Open MPI {release} ({}), which is not spoken; 4.0 or later is",
        program.display(),
        library.display()
    )]
    OldOpenMpi {
        /// The program.
        program: PathBuf,
        /// The library.
        library: PathBuf,
        /// Which Open MPI that is of.
        release: &'static str,
    },
    /// What was asked for is not what it speaks.
    #[error(
        "{} is linked to Open MPI ({library}), which speaks no PMI: each of the {processes} processes would be a job of \
         its own; leave --pm out",
        program.display()
    )]
    PmiForOpenMpi {
        /// The program.
        program: PathBuf,
        /// Name of the library.
        library: String,
        /// How many processes the job has.
        processes: u32,
    },
    /// It is to speak PMIx.
    #[error(
        "{}: no libpmix.so.2 is found among its libraries, in LD_LIBRARY_PATH, or in the system's folders; give --pmix \
         LIBPMIX, or leave --pm out",
        program.display()
    )]
    NoPmix {
        /// The program.
        program: PathBuf,
    },
    /// It is to be a libpmix.
    #[error("--pmix {}: it is no library that this machine can load", path.display())]
    NoLibrary {
        /// As it was understood.
        path: PathBuf,
    },
    /// A local file could not be read.
    #[error("{doing} {}: {source}", path.display())]
    Local {
        /// "reading", …
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A local file is not what it was a moment before.
    #[error("{} changed while it was being staged; start again when it is finished", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A thread of this process ended early.
    #[error("{doing} was broken off")]
    BrokenOff {
        /// What it did.
        doing: &'static str,
    },
    /// Nothing says where the nodes could fetch files from.
    #[error(
        "there is no file system that the nodes share: fs.defaultFS is {value}; set it in the \
         core-site.xml of {conf}, or give --staging hdfs://HOST:PORT/FOLDER or, for a folder that \
         is mounted on every node, --staging file:/FOLDER"
    )]
    NoSharedFileSystem {
        /// "not set" or the value.
        value: String,
        /// The folder of the Hadoop settings.
        conf: String,
    },
    /// The staging root cannot be used as given.
    #[error("the staging folder {root} cannot be used: {why}")]
    BadRoot {
        /// As given or configured.
        root: String,
        /// The reason, and what to give instead.
        why: String,
    },
    /// The file system that has the staging folder.
    #[error("{}{}", .0, advice(.0))]
    Storage(#[from] StorageError),
    /// The home folder is missing and may not be made.
    #[error(
        "user {user} has no home folder {home} on HDFS and may not make it: {said}; ask an \
         administrator for: hdfs dfs -mkdir -p {home} && hdfs dfs -chown {user} {home}; or give \
         --staging a folder that {user} may write to"
    )]
    NoHome {
        /// Who wants one.
        user: String,
        /// Where it would be.
        home: String,
        /// The server's words.
        said: String,
    },
    /// The NodeManager's user could not read what is staged.
    #[error(
        "{} has mode {mode:04o}: other users, such as the one that runs the NodeManagers, may not \
         enter it, so they could not read what is staged in {root}; try: chmod o+x {}; or give \
         --staging another folder",
        folder.display(),
        folder.display()
    )]
    NotReadableByNodes {
        /// The closed folder: the staging root or one above it.
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The staging root.
        root: String,
    },
    /// A file of the right name has the wrong length.
    #[error(
        "{url} should have {expected} bytes and has {found}: it was cut off or tampered with; delete \
         it and start again"
    )]
    Damaged {
        /// Where it lies.
        url: String,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
    /// Somebody else may have put there, or changed, what the nodes would run in the user's name.
    #[error(
        "{url} {why}, so that what lies there may be somebody else's; remove it, or give --staging a \
         folder in which you alone write"
    )]
    NotOurs {
        /// The folder or file of the cache.
        url: String,
        /// "belongs to mallory", …
        why: String,
    },
}

impl StageError {
    /// What `gerbil-run` returns.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::ProgramNotFound { .. } => Exit::NotFound,
            Self::NotShipped { .. } | Self::NoLink { .. } => Exit::Usage,
            Self::OpenMpi { .. }
            | Self::OldOpenMpi { .. }
            | Self::TwoMpiLibraries { .. }
            | Self::PmiForOpenMpi { .. }
            | Self::NoPmix { .. } => Exit::Impossible,
            Self::ProgramIsFolder { .. }
            | Self::NotExecutable { .. }
            | Self::NotAProgram { .. }
            | Self::WrongArchitecture { .. }
            | Self::LibraryMissing { .. }
            | Self::NoLibrary { .. } => Exit::NotExecutable,
            Self::NoSharedFileSystem { .. } | Self::BadRoot { .. } => Exit::Config,
            Self::Storage(error) => exit_of(error),
            Self::Local { .. }
            | Self::Changed { .. }
            | Self::NoFile { .. }
            | Self::BrokenOff { .. }
            | Self::NoHome { .. }
            | Self::NotReadableByNodes { .. }
            | Self::Damaged { .. }
            | Self::NotOurs { .. } => Exit::Staging,
        }
    }
}

/// What `gerbil-run` returns for an error of a file system.
#[must_use]
pub const fn exit_of(error: &StorageError) -> Exit {
    match error {
        StorageError::Settings { .. } | StorageError::Authentication { .. } => Exit::Config,
        outage if outage.is_outage() => Exit::Unavailable,
        _ => Exit::Staging,
    }
}

/// What else than the file system can be changed.
fn advice(error: &StorageError) -> String {
    match error {
        StorageError::Quota { .. } | StorageError::Full { .. } => {
            "; or give --staging another folder".to_owned()
        }
        StorageError::Permission { user, .. } => {
            format!("; give --staging a folder that {user} may write to")
        }
        _ => String::new(),
    }
}
