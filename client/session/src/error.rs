//! Why a session cannot be used.

use std::io;
use std::path::PathBuf;

use follow::FollowError;
use job::exit::Exit;
use proto_hadoop::ApplicationId;
use tonic::Code;

use crate::name::Name;
use crate::record::{Owned, SessionsFolder};

/// One sentence, with the value and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Neither a state folder nor a home.
    #[error(
        "there is no folder to keep sessions in; set XDG_STATE_HOME or HOME to an absolute path"
    )]
    NoFolder,
    /// The operating system does not let us.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// "read", "write", …
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A key that is no secret.
    #[error(
        "{} can be read by others (its mode is {mode:04o}), so the key in it is not used; where you know that \
         nobody has read it: chmod 600 {0}; else end the application {application}, and start another session",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Of the file.
        mode: u32,
        /// As far as the file can be believed; may be empty.
        application: String,
    },
    /// A file that somebody else has put there.
    #[error(
        "{} belongs to the user with the id {owner}, not to you, so it is not used; remove it, or set \
         XDG_STATE_HOME to a folder of your own",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// What is kept of the session makes no sense.
    #[error(
        "cannot understand {}: {why}; remove it, and look with gerbil ps whether an application of it still runs",
        path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What is to be a session's key is none.
    #[error("{} is no key of a session, as gerbil session key writes it: {why}", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The session does not know the key, or the key is none.
    #[error(
        "the key that is kept here of session {name} is not its key: it is another session's, or was spoilt ({why}); gerbil \
         session key {name} on the host where it was started prints the right one, for gerbil session import here"
    )]
    WrongKey {
        /// The session.
        name: Name,
        /// What TLS says.
        why: String,
    },
    /// Client and session are of different builds.
    #[error(
        "session {name} was started by gerbil {theirs}, and this is gerbil {ours}: they do not understand each \
         other; use that one, or start another session with this one"
    )]
    OtherBuild {
        /// The session.
        name: Name,
        /// The build that the session runs.
        theirs: String,
        /// This client's build.
        ours: &'static str,
    },
    /// No such session.
    #[error("there is no session {name}; {}", those(there))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        there: Vec<String>,
    },
    /// No session of the user's has such a job.
    #[error("no session of yours has a job {job}; {}", those(there))]
    NoSuchJob {
        /// What was asked for.
        job: String,
        /// The sessions that there are.
        there: Vec<String>,
    },
    /// Applications of several clusters have the same number.
    #[error(
        "{meant} may be {}; write the one that is meant",
        applications(meant, choices)
    )]
    Ambiguous {
        /// What was asked for: an application's number, and that of a job.
        meant: String,
        /// The sessions that it may be of.
        choices: Vec<(Name, ApplicationId)>,
    },
    /// Which of several jobs is to be ended is not said.
    #[error("{application} has the jobs {}; write the one that is meant", jobs.join(", "))]
    Several {
        /// The application.
        application: ApplicationId,
        /// Its jobs.
        jobs: Vec<String>,
    },
    /// An application that one command has for itself, and that has ended.
    #[error("{application} is over: {why}; gerbil mr list shows what became of its jobs")]
    ApplicationOver {
        /// The application.
        application: ApplicationId,
        /// In YARN's words.
        why: String,
    },
    /// What is asked for of a job that is over is not kept.
    #[error(
        "{job} is over, and nothing is kept of what {what} has printed: that is kept of attempts that have failed alone"
    )]
    NothingKept {
        /// The job.
        job: String,
        /// A task, or an attempt at one.
        what: String,
    },
    /// The logs of an application that is over, and of which nothing is kept.
    #[error(
        "{application} is over, and no MapReduce job of it is among those that are kept (gerbil mr list); what its \
         ApplicationMaster and launchers wrote {place}"
    )]
    LogsOver {
        /// The application.
        application: ApplicationId,
        /// Where that is, as the rest of a sentence.
        place: String,
    },
    /// The logs of an application whose key is not here.
    #[error(
        "{application} is none of your sessions, and no gerbil mr of yours on this host runs it: what its program prints \
         is shown where it was started; what YARN has of it: yarn logs -applicationId {application}"
    )]
    LogsElsewhere {
        /// The application.
        application: ApplicationId,
    },
    /// An application of one's own that runs no job now.
    #[error("{application} runs no job at the moment; gerbil logs {application}.1 is its first")]
    NoJobRuns {
        /// The application.
        application: ApplicationId,
    },
    /// Another has the name.
    #[error(
        "session {name} is there already, as {application}; take another name, or end it with gerbil session \
         stop {name}"
    )]
    Taken {
        /// The name.
        name: Name,
        /// The application of the session that has the name.
        application: ApplicationId,
    },
    /// The cluster on which it was started does not answer.
    #[error(
        "session {name} was started as {application} on a cluster that does not answer ({source}); try again when it \
         does, or, if that cluster is gone for good, remove {}",
        file.display()
    )]
    NoCluster {
        /// The session.
        name: Name,
        /// Its application there.
        application: ApplicationId,
        /// What is kept of it on this machine.
        file: PathBuf,
        /// What its ResourceManagers said.
        source: FollowError,
    },
    /// YARN says that its application has ended.
    #[error(
        "session {name} is over ({application}): {why}; start another with gerbil session start {name}"
    )]
    Over {
        /// The session.
        name: Name,
        /// What it was to YARN.
        application: ApplicationId,
        /// In YARN's words.
        why: String,
    },
    /// Its ApplicationMaster does not run yet.
    #[error(
        "session {name} ({application}) is only starting: {why}; try again when gerbil session status {name} \
         shows its containers"
    )]
    Starting {
        /// The session.
        name: Name,
        /// What it is to YARN.
        application: ApplicationId,
        /// What YARN waits for.
        why: String,
    },
    /// Another cluster than the one where jobs are staged.
    #[error(
        "session {name} is on the cluster of {}, and Hadoop's settings here are those of {}; set \
         HADOOP_CONF_DIR to those that it was started with",
        theirs.join(", "),
        here.join(", ")
    )]
    Elsewhere {
        /// The session.
        name: Name,
        /// Its ResourceManagers.
        theirs: Vec<String>,
        /// Those of the settings.
        here: Vec<String>,
    },
    /// A session that has one machine for itself, which is not this one.
    #[error(
        "{application} is a session of {host} alone (session start --local): it is used on {host}"
    )]
    OtherHost {
        /// Its application.
        application: ApplicationId,
        /// Where it was started.
        host: String,
    },
    /// Nobody answers.
    #[error(
        "cannot reach the ApplicationMaster of session {name} ({application}) at {address}: {why}; is a firewall \
         between here and that port? gerbil session start --am-ports holds it in a range"
    )]
    Unreachable {
        /// The session.
        name: Name,
        /// What it is to YARN.
        application: ApplicationId,
        /// Where it should be.
        address: String,
        /// In words.
        why: String,
    },
    /// The ApplicationMaster has answered that it does not.
    #[error("session {name}: {why}")]
    Refused {
        /// The session.
        name: Name,
        /// Which kind of refusal.
        code: Code,
        /// In its words.
        why: String,
    },
    /// The ResourceManager, keys.
    #[error(transparent)]
    Follow(#[from] FollowError),
}

fn those(there: &[String]) -> String {
    match there {
        [] => "there is none: gerbil session start starts one".to_owned(),
        [one] => format!("there is {one}"),
        several => format!("there are {}", several.join(", ")),
    }
}

/// Each of `choices` once, as `meant` would name it without a doubt.
fn applications(meant: &str, choices: &[(Name, ApplicationId)]) -> String {
    let job = meant.rsplit_once('.').map_or("", |(_, job)| job);
    let mut seen: Vec<ApplicationId> = Vec::new();
    let mut words = Vec::new();
    for (name, application) in choices {
        if !seen.contains(application) {
            seen.push(*application);
            words.push(format!("{application}.{job} of session {name}"));
        }
    }
    words.join(" or ")
}

impl SessionError {
    /// Whether the job may be over that nothing is known of.
    #[must_use]
    pub const fn is_of_past(&self) -> bool {
        match self {
            Self::NoSuchJob { .. }
            | Self::NoJobRuns { .. }
            | Self::Over { .. }
            | Self::ApplicationOver { .. } => true,
            Self::Refused { code, .. } => matches!(code, Code::NotFound),
            _ => false,
        }
    }

    /// The same, which names the session where no ResourceManager of it answers: its cluster may be gone, and what is
    /// kept of it here is in the way of another session of that name.
    #[must_use]
    pub fn of_session(self, name: &Name, owned: &Owned, folder: &SessionsFolder) -> Self {
        match self {
            Self::Follow(source @ FollowError::ResourceManager(_)) => Self::NoCluster {
                name: name.clone(),
                application: owned.application,
                file: folder.path_of(name),
                source,
            },
            other => other,
        }
    }

    /// What the command returns.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::NoFolder
            | Self::File { .. }
            | Self::Open { .. }
            | Self::Foreign { .. }
            | Self::Broken { .. }
            | Self::NoKey { .. }
            | Self::WrongKey { .. }
            | Self::OtherBuild { .. }
            | Self::Elsewhere { .. }
            | Self::OtherHost { .. } => Exit::Config,
            Self::Unknown { .. }
            | Self::NoSuchJob { .. }
            | Self::Ambiguous { .. }
            | Self::Several { .. }
            | Self::NothingKept { .. }
            | Self::LogsElsewhere { .. }
            | Self::Taken { .. } => Exit::Usage,
            Self::Over { .. }
            | Self::LogsOver { .. }
            | Self::ApplicationOver { .. }
            | Self::NoJobRuns { .. }
            | Self::NoCluster { .. }
            | Self::Starting { .. }
            | Self::Unreachable { .. } => Exit::Unavailable,
            Self::Refused { code, .. } => match code {
                Code::InvalidArgument | Code::OutOfRange | Code::FailedPrecondition => {
                    Exit::Impossible
                }
                Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted => {
                    Exit::Unavailable
                }
                _ => Exit::Lost,
            },
            Self::Follow(error) => error.exit(),
        }
    }
}
