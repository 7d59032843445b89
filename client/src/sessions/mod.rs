//! `gerbil session`: starts sessions, shows them, ends them; a job that is run in one; and those that are
//! left to it.

mod dry_run;
mod job;
mod key;
mod kill;
mod list;
pub(crate) mod logs;
mod lost;
mod slots;
mod start;
mod watch;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use ::job::exit::Exit;
use follow::progress::Progress;
use mini::RunFolder;
use session::nodes::lines;
use session::record::Owned;
use session::status::JobStatus;
use session::stop::{How, Stopped, end, stop};
use session::{JobName, Name, Reached, SessionError, SessionRecord, SessionsFolder, reach};
use terminal::signals::Signals;
use terminal::{Text, blocking, interruptible, print, say, write_whole};

use crate::arguments::Arguments;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::local::{self, Local};
use crate::run::thread;
use crate::subcommands::{GanttFile, SessionTask};
use crate::usage::UsageError;
use crate::{frame, history};

pub(crate) use dry_run::dry_run;
pub(crate) use job::job;
pub(crate) use kill::ended_in_order;

/// The whole command.
pub(crate) fn main(task: SessionTask) -> ExitCode {
    match task {
        SessionTask::Start(given) => {
            frame::main(async |signals| Box::pin(start::start(*given, &folder()?, signals)).await)
        }
        SessionTask::Attach { job, given } => {
            frame::main(async |signals| Box::pin(watch::attach(job, given, signals)).await)
        }
        SessionTask::Stop { name, now, .. } => frame::main(async |signals| {
            let how = match now {
                true => How::Now,
                false => How::Drain,
            };
            ended(&folder()?, &name, how, signals).await
        }),
        other => frame::interrupted_anywhere(run(other)),
    }
}

/// What a signal may end wherever it is.
async fn run(task: SessionTask) -> Result<u8, Failure> {
    let folder = folder()?;
    match task {
        SessionTask::List { json } => list::list(&folder, json).await,
        SessionTask::Status {
            name,
            gantt: Some(file),
            ..
        } => gantt(&folder, &folder.find_session(&name)?, &file).await,
        SessionTask::Status { name, json, .. } => {
            status(&folder, &folder.find_session(&name)?, json).await
        }
        SessionTask::Nodes { name, json } => {
            nodes(&folder, &folder.find_session(&name)?, json).await
        }
        SessionTask::Kill { job } => killed(job).await,
        SessionTask::Logs { job, given } => logs::logs(job, given).await,
        SessionTask::Key { name, output } => key::show(&folder, name, output.as_deref()).await,
        SessionTask::Import { file, name } => key::import(&folder, &file, name),
        // They hear signals themselves.
        SessionTask::Start(_) | SessionTask::Attach { .. } | SessionTask::Stop { .. } => {
            Ok(Exit::Success.code())
        }
    }
}

/// Ends a job of one of the user's sessions, or of a `gerbil mr` of the user's on this host.
pub(crate) async fn kill(job: JobName) -> Result<u8, Failure> {
    match killed(job).await {
        Err(Failure::Session(source @ SessionError::NoSuchJob { .. })) => {
            Err(UsageError::NoSuchJob { source }.into())
        }
        other => other,
    }
}

/// The jobs of the user's sessions, and on `cluster` those of each `gerbil mr` on this host, as far as these answer.
pub(crate) async fn jobs(cluster: Option<&Cluster>) -> Vec<JobStatus> {
    let sessions = async {
        match folder() {
            Ok(folder) => list::jobs(&folder, |_any| true).await,
            Err(_nowhere) => Vec::new(),
        }
    };
    let own = async {
        match (applications(), cluster) {
            // What commands that were killed have left may be of clusters that are gone.
            (Ok(folder), Some(cluster)) => list::jobs(&folder, |owned| is_on(cluster, owned)).await,
            _ => Vec::new(),
        }
    };
    let (mut jobs, own) = tokio::join!(sessions, own);
    jobs.extend(own);
    jobs
}

/// A job that one of the user's sessions has, or a `gerbil mr` of the user's on this host, as far as that answers.
pub(crate) async fn find_job(job: JobName) -> Result<Option<JobStatus>, SessionError> {
    match held(job) {
        Ok(Some(held)) => Ok(list::job(&held.folder, &held.kept.name, job).await),
        Ok(None) => Ok(None),
        Err(doubt @ SessionError::Ambiguous { .. }) => Err(doubt),
        Err(_none) => Ok(None),
    }
}

/// What is kept of the application that has a job.
pub(crate) struct Held {
    pub(crate) folder: SessionsFolder,
    pub(crate) kept: SessionRecord,
    /// It is one that a `gerbil mr` has for itself.
    pub(crate) is_own: bool,
}

/// The application that has a job: a session of the user's, or what a `gerbil mr` has for itself.
///
/// # Errors
///
/// It cannot be used, or more than one may be meant.
pub(crate) fn held(job: JobName) -> Result<Option<Held>, SessionError> {
    for (folder, is_own) in [(folder()?, false), (applications()?, true)] {
        let is_meant = |id| job.is_of(id);
        if let Some(kept) = folder.session_where(&job, is_meant, is_on_hadoop)? {
            return Ok(Some(Held {
                folder,
                kept,
                is_own,
            }));
        }
    }
    Ok(None)
}

/// Whether an application is on the cluster that the user's settings name.
fn is_on_hadoop(owned: &Owned) -> bool {
    Cluster::find().is_ok_and(|cluster| is_on(&cluster, owned))
}

fn is_on(cluster: &Cluster, owned: &Owned) -> bool {
    let rm = &cluster.resource_managers.client;
    owned.resource_managers.iter().any(|at| rm.contains(at))
}

impl Held {
    /// Its ApplicationMaster.
    ///
    /// # Errors
    ///
    /// It is over, or cannot be reached.
    pub(crate) async fn reached(&self) -> Result<Reached, SessionError> {
        let rm = reach::resource_managers(&self.kept.owned);
        match Reached::new(&rm, &self.folder, &self.kept).await {
            Err(SessionError::Over {
                application, why, ..
            }) if self.is_own => Err(SessionError::ApplicationOver { application, why }),
            reached => reached,
        }
    }
}

/// That nothing of the user's has this job.
pub(crate) fn no_such_job(job: JobName) -> SessionError {
    let names = folder().and_then(|folder| folder.names());
    SessionError::NoSuchJob {
        job: job.to_string(),
        there: names
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}

/// Where sessions are kept.
pub(crate) fn folder() -> Result<SessionsFolder, SessionError> {
    SessionsFolder::below(history::state_folder(&|name: &str| -> Option<OsString> {
        std::env::var_os(name)
    }))
}

/// Where applications are kept that one command has for itself.
pub(crate) fn applications() -> Result<SessionsFolder, SessionError> {
    SessionsFolder::of_applications(history::state_folder(&|name: &str| -> Option<OsString> {
        std::env::var_os(name)
    }))
}

/// The cluster that the session of this job is on: Hadoop's, or the one that was started for it on this machine,
/// where files are staged unless another folder is `given`.
pub(crate) fn cluster_of_job(name: &Name, given: &mut Arguments) -> Result<Cluster, Failure> {
    given.session.is_local = folder()?.find_session(name)?.owned.local.is_some();
    cluster_of(name, &mut given.staging)
}

/// The cluster of an application that is to be ended: a session of the user's may have one of its own on this machine.
pub(crate) fn cluster_of_application(id: &str) -> Result<Cluster, Failure> {
    let held = id
        .parse()
        .ok()
        .and_then(|id| held(JobName::of(id)).ok().flatten());
    let local = held.and_then(|held| held.kept.owned.local);
    match local.filter(|folder| RunFolder::is_held(folder)) {
        Some(folder) => Ok(local::daemon::settings(&folder)?),
        None => Ok(Cluster::find_for_a_job()?),
    }
}

/// The same of any job, whose files are staged in `staging`, if that says a folder.
pub(crate) fn cluster_of(name: &Name, staging: &mut Option<String>) -> Result<Cluster, Failure> {
    let Some(folder) = folder()?.find_session(name)?.owned.local else {
        return Ok(Cluster::find()?);
    };
    if !RunFolder::is_held(&folder) {
        // There is nothing to read. That the session is over, or another machine's, is said where it is used.
        return Ok(Local::expected()?);
    }
    staging.get_or_insert_with(|| local::staging(&folder));
    Ok(local::daemon::settings(&folder)?)
}

/// Those that were started on this machine for sessions, and are still there.
pub(crate) fn clusters_here() -> Vec<Cluster> {
    let here = clusters_staging_here().into_iter();
    here.map(|(cluster, _staging)| cluster).collect()
}

/// The same, with the folder of each that its jobs' programs are staged in.
pub(crate) fn clusters_staging_here() -> Vec<(Cluster, String)> {
    let Ok(folder) = folder() else {
        return Vec::new();
    };
    let names = folder.names().unwrap_or_default();
    let owned = names.iter().filter_map(|name| folder.owned(name).ok()?);
    owned
        .filter_map(|owned| owned.local)
        .filter(|local| RunFolder::is_held(local))
        .filter_map(|local| {
            let cluster = local::daemon::settings(&local).ok()?;
            Some((cluster, local::staging(&local)))
        })
        .collect()
}

/// Refuses a session of another cluster than the one where jobs are staged: its nodes do not look there.
pub(crate) fn is_here(kept: &SessionRecord, cluster: &Cluster) -> Result<(), SessionError> {
    let (theirs, here) = (
        &kept.owned.resource_managers,
        &cluster.resource_managers.client,
    );
    match kept.owned.local.is_some() || theirs.iter().any(|address| here.contains(address)) {
        true => Ok(()),
        false => Err(SessionError::Elsewhere {
            name: kept.name.clone(),
            theirs: theirs.clone(),
            here: here.clone(),
        }),
    }
}

async fn status(folder: &SessionsFolder, kept: &SessionRecord, json: bool) -> Result<u8, Failure> {
    let rm = reach::resource_managers(&kept.owned);
    let status = Reached::now(&rm, folder, kept).await?.status(kept).await?;
    let text = match json {
        true => Text::Json(serde_json::to_string(&status).unwrap_or_default()),
        false => Text::Lines(status.lines()),
    };
    print(text).await?;
    Ok(Exit::Success.code())
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Writes what had which slots when.
async fn gantt(
    folder: &SessionsFolder,
    kept: &SessionRecord,
    file: &GanttFile,
) -> Result<u8, Failure> {
    let rm = reach::resource_managers(&kept.owned);
    let mut reached = Reached::now(&rm, folder, kept).await?;
    let timeline = reached.timeline(kept).await?;
    let text = match file.is_json {
        true => serde_json::to_string_pretty(&timeline).unwrap_or_default(),
        false => timeline.svg(now_ms()),
    };
    let path = &file.path;
    let written = match follow::descriptor::named(path) {
        Ok(Some(mut file)) => write_whole(&mut file, text.as_bytes()),
        Ok(None) => std::fs::write(path, text),
        Err(error) => Err(error),
    };
    written.map_err(|source| SessionError::File {
        doing: "write",
        path: path.clone(),
        source,
    })?;
    say(format!(
        "what {} of session {} had of its slots is in {}{}",
        match timeline.jobs().len() {
            1 => "1 job".to_owned(),
            jobs => format!("{jobs} jobs"),
        },
        kept.name,
        path.display(),
        match timeline.left_out {
            0 => String::new(),
            older => format!("; {older} older spans are not kept"),
        }
    ));
    Ok(Exit::Success.code())
}

async fn nodes(folder: &SessionsFolder, kept: &SessionRecord, json: bool) -> Result<u8, Failure> {
    let rm = reach::resource_managers(&kept.owned);
    let nodes = Reached::new(&rm, folder, kept).await?.nodes(kept).await?;
    let text = match json {
        true => Text::Json(serde_json::to_string(&nodes).unwrap_or_default()),
        false => Text::Lines(lines(&nodes)),
    };
    print(text).await?;
    Ok(Exit::Success.code())
}

async fn killed(job: JobName) -> Result<u8, Failure> {
    let held = held(job)?.ok_or_else(|| no_such_job(job))?;
    let (kept, id) = (&held.kept, held.kept.owned.application);
    if held.is_own && job.number.is_none() {
        let rm = reach::resource_managers(&kept.owned);
        let why = "killed with gerbil kill";
        // Of one that is over YARN has the last word.
        let _in_order = ended_in_order(&rm, id, why).await;
        let _report = follow::kill::kill(&rm, &id, why).await?;
        say(format!("{id} is over"));
        return Ok(Exit::Success.code());
    }
    let mut reached = held.reached().await?;
    let number = reached.only(kept, job).await?;
    reached.kill(kept, number).await?;
    say(format!("{} is over", job.numbered(number)));
    Ok(Exit::Success.code())
}

async fn ended(
    folder: &SessionsFolder,
    name: &Name,
    how: How,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let mut progress = Progress::new(false);
    progress.show(format!("stopping session {name}"));
    let (there, called) = (folder.clone(), name.clone());
    let found = blocking(signals, move || there.find_session(&called)).await;
    let stopped = match found.map_err(thread())? {
        ControlFlow::Break(signal) => Stopped::Untold(signal),
        ControlFlow::Continue(Ok(kept)) => {
            let rm = reach::resource_managers(&kept.owned);
            let stopped = stop(&rm, folder, &kept, how, &mut progress, signals).await;
            stopped.map_err(|error| error.of_session(name, &kept.owned, folder))?
        }
        // It understands no word of ours, but YARN does.
        ControlFlow::Continue(Err(other @ SessionError::OtherBuild { .. })) => {
            match folder.owned(name)? {
                Some(owned) => {
                    progress.clear();
                    say(format!("{other}; it is killed through YARN"));
                    let rm = reach::resource_managers(&owned);
                    match interruptible(signals, end(&rm, folder, name, &owned)).await {
                        ControlFlow::Continue(ended) => {
                            ended.map_err(|error| error.of_session(name, &owned, folder))?
                        }
                        ControlFlow::Break(signal) => Stopped::Untold(signal),
                    }
                }
                None => Stopped::Over,
            }
        }
        ControlFlow::Continue(Err(error)) => return Err(error.into()),
    };
    progress.clear();
    match stopped {
        Stopped::Over => {
            say(format!("session {name} is over"));
            Ok(Exit::Success.code())
        }
        Stopped::Interrupted(signal) => {
            say(format!(
                "session {name} takes no further job, and is over when its last one has ended; gerbil session \
                 stop {name} --now ends it at once"
            ));
            Ok(128u8.saturating_add(signal))
        }
        Stopped::Untold(signal) => {
            say(format!(
                "session {name} could not be told yet, and goes on; gerbil session stop {name} --now ends it"
            ));
            Ok(128u8.saturating_add(signal))
        }
    }
}
