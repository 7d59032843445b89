//! `gerbil logs`: what a job of a session, or of an application that `gerbil mr` has for itself, has printed so far.

use std::time::Duration;

use proto_hadoop::ApplicationId;
use session::logs::{LogOf, LogsJob};
use session::reach::{SessionAddress, place_of};
use session::{JobName, Reached, SessionError, SessionRecord, SessionsFolder, reach};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::subcommands::LogsOptions;

use super::watch::layout;

/// What is left of applications that were killed with their command is removed after so long.
pub(crate) const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Prints it; the exit code.
pub(super) async fn logs(
    folder: &SessionsFolder,
    job: LogsJob,
    given: LogsOptions,
) -> Result<u8, Failure> {
    if let Some(kept) = folder.session_where(&job, |id| job.is_of(id))? {
        let rm = reach::resource_managers(&kept.owned);
        let reached = Reached::new(&rm, folder, &kept).await?;
        return printed(reached, &kept, job, given).await;
    }
    let applications = super::applications()?;
    match (applications.session_where(&job, |id| job.is_of(id))?, job) {
        (Some(kept), _) => own(&applications, &kept, job, given).await,
        (None, LogsJob::Application(id)) => Err(elsewhere(id).await?.into()),
        (None, LogsJob::Job(job)) => Err(no_such_job(folder, job, given)),
    }
}

fn no_such_job(folder: &SessionsFolder, job: JobName, given: LogsOptions) -> Failure {
    match (given.of, folder.session_of(job)) {
        (Some(LogOf::Task(_)), _) => SessionError::LogGone { job }.into(),
        (_, Err(none)) => none.into(),
        // It has just been started.
        (_, Ok(kept)) => SessionError::NoJobRuns {
            application: kept.owned.application,
        }
        .into(),
    }
}

/// Of an application that a command has for itself.
async fn own(
    applications: &SessionsFolder,
    kept: &SessionRecord,
    job: LogsJob,
    given: LogsOptions,
) -> Result<u8, Failure> {
    let id = kept.owned.application;
    let rm = reach::resource_managers(&kept.owned);
    let reached = match place_of(&rm, id).await? {
        SessionAddress::At(address) => Reached::at(address, kept).await?,
        SessionAddress::Starting(_) => {
            return Err(SessionError::NoJobRuns { application: id }.into());
        }
        SessionAddress::Over { .. } => {
            applications.forget(&kept.name, id)?;
            return Err(over(id, &Cluster::find()?).into());
        }
    };
    printed(reached, kept, job, given).await
}

async fn printed(
    mut reached: Reached,
    kept: &SessionRecord,
    job: LogsJob,
    given: LogsOptions,
) -> Result<u8, Failure> {
    let number = match job {
        LogsJob::Job(job) => job.job,
        LogsJob::Application(application) => {
            let status = reached.status(kept).await?;
            // The last one: a driver has its jobs one after the other.
            let last = status.jobs.last();
            last.ok_or(SessionError::NoJobRuns { application })?.job
        }
    };
    let rank = match given.of {
        Some(LogOf::Task(task)) => return Ok(reached.task_log(kept, number, task).await?),
        Some(LogOf::Rank(rank)) => Some(rank),
        None => None,
    };
    let layout = layout(given.label);
    Ok(reached.logs(kept, number, rank, layout).await?)
}

/// Why nothing is printed of an application of which nothing is kept here.
async fn elsewhere(id: ApplicationId) -> Result<SessionError, Failure> {
    let cluster = Cluster::find()?;
    Ok(match place_of(&cluster.rm(), id).await? {
        SessionAddress::Over { .. } => over(id, &cluster),
        SessionAddress::At(_) | SessionAddress::Starting(_) => {
            SessionError::LogsElsewhere { application: id }
        }
    })
}

fn over(application: ApplicationId, cluster: &Cluster) -> SessionError {
    let place = cluster.place_of_logs(application);
    SessionError::LogsOver { application, place }
}
