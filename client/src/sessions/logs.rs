//! `gerbil logs`: what a job of a session, or of an application that `gerbil mr` has for itself, has printed; of one that
//! is over, what attempts have printed that failed.

use std::time::Duration;

use ::job::history::{JobHistory, TaskAttempt, TaskStage};
use ::job::wire;
use mapreduce_client::history::text;
use session::logs::{LogOf, TaskName};
use session::reach::{SessionAddress, place_of};
use session::status::JobStatus;
use session::{JobName, SessionError};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::mapreduce::Histories;
use crate::subcommands::LogsOptions;

use super::watch::layout;
use super::{Held, held, no_such_job};

/// What is left of applications that were killed with their command is removed after so long.
pub(crate) const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Prints it; the exit code.
pub(super) async fn logs(job: JobName, given: LogsOptions) -> Result<u8, Failure> {
    let living = match held(job)? {
        Some(held) => living(&held, job, &given).await,
        None => Err(no_such_job(job).into()),
    };
    let failure = match living {
        Err(Failure::Session(error)) if error.is_of_past() => Failure::Session(error),
        printed => return printed,
    };
    // What is kept is of jobs that are over, and has no ranks.
    let found = match given.of {
        Some(LogOf::Rank(_)) => None,
        _ => past(job, given.staging.clone()).await?,
    };
    match found {
        Some(history) => over(&history, &given).await,
        None => Err(said_better(failure, job).await?),
    }
}

/// What became of a job, where histories are kept and have it. A file system that does not answer has not said that
/// there is no such job.
async fn past(job: JobName, staging: Option<String>) -> Result<Option<JobHistory>, Failure> {
    match Histories::open(staging) {
        Ok(histories) => histories.find(job).await,
        Err(_nowhere) => Ok(None),
    }
}

/// What its ApplicationMaster has of it.
async fn living(held: &Held, job: JobName, given: &LogsOptions) -> Result<u8, Failure> {
    let mut reached = held.reached().await?;
    let kept = &held.kept;
    let number = reached.number(kept, job).await?;
    let rank = match given.of {
        Some(LogOf::Task(task)) => return Ok(reached.task_log(kept, number, task).await?),
        Some(LogOf::Rank(rank)) => Some(rank),
        None => None,
    };
    let status = reached.status(kept).await?;
    if rank.is_none()
        && status
            .kept
            .iter()
            .any(|of| of.job == number && of.has_tasks)
    {
        // What its tasks have printed is with its history.
        return Err(SessionError::NoJobRuns {
            application: kept.owned.application,
        }
        .into());
    }
    let has_tasks = |of: &JobStatus| of.job == number && of.tasks.is_some();
    if rank.is_none() && status.jobs.iter().any(has_tasks) {
        return Ok(reached.tasks(kept, number).await?);
    }
    let layout = layout(given.label);
    Ok(reached.logs(kept, number, rank, layout).await?)
}

/// What is kept of a job that is over.
async fn over(history: &JobHistory, given: &LogsOptions) -> Result<u8, Failure> {
    let name = mapreduce_client::history::id(history);
    let printed = |of: &&TaskAttempt| !(of.stdout.is_empty() && of.stderr.is_empty());
    let mut kept: Vec<&TaskAttempt> = history.attempts.iter().filter(printed).collect();
    sort::by_key(&mut kept, |of| (of.stage, of.task, of.attempt));
    let nothing = |what: String| SessionError::NothingKept {
        job: name.clone(),
        what,
    };
    let Some(LogOf::Task(task)) = given.of else {
        if kept.is_empty() {
            return Err(nothing("any of its tasks".to_owned()).into());
        }
        let attempts = kept.iter().map(|of| wire::LoggedAttempt {
            reduce: of.stage == TaskStage::Reduce,
            task: of.task,
            attempt: of.attempt,
            host: of.host.clone(),
            state: text::end(of.end).to_owned(),
        });
        let logs = wire::TaskLog {
            attempts: attempts.collect(),
            ..wire::TaskLog::default()
        };
        return Ok(follow::print_task_logs(&name, logs).await);
    };
    let is_meant = |of: &&&TaskAttempt| {
        let stage = match task.is_reduce {
            true => TaskStage::Reduce,
            false => TaskStage::Map,
        };
        (of.stage, of.task) == (stage, task.number)
            && task.attempt.is_none_or(|attempt| attempt == of.attempt)
    };
    let Some(found) = kept.iter().rfind(is_meant) else {
        return Err(nothing(words(task)).into());
    };
    let log = wire::TaskLog {
        attempt: found.attempt,
        host: found.host.clone(),
        stdout: Some(found.stdout.clone().stream()),
        stderr: Some(found.stderr.clone().stream()),
        ..wire::TaskLog::default()
    };
    Ok(follow::print_task_log(task.is_reduce, task.number, log).await)
}

/// map 3, or attempt 1 at map 3.
fn words(task: TaskName) -> String {
    let stage = match task.is_reduce {
        true => "reduce",
        false => "map",
    };
    let number = task.number;
    match task.attempt {
        None => format!("{stage} {number}"),
        Some(attempt) => format!("attempt {attempt} at {stage} {number}"),
    }
}

/// Of an application that is named: whether it runs elsewhere, and where YARN keeps what it has written.
async fn said_better(failure: Failure, job: JobName) -> Result<Failure, Failure> {
    let application = match &failure {
        Failure::Session(SessionError::ApplicationOver { application, .. }) => *application,
        Failure::Session(SessionError::NoSuchJob { .. }) => match job.application() {
            Some(application) => application,
            None => return Ok(failure),
        },
        _ => return Ok(failure),
    };
    let cluster = Cluster::find()?;
    let error = match place_of(&cluster.rm(), application).await? {
        SessionAddress::Over { .. } => SessionError::LogsOver {
            application,
            place: cluster.place_of_logs(application),
        },
        SessionAddress::At(_) | SessionAddress::Starting(_) => {
            SessionError::LogsElsewhere { application }
        }
    };
    Ok(error.into())
}
