//! What an ApplicationMaster does that comes after another: it takes no job, and brings those of the one before to
//! an end. A commit whose manifest stands is finished, every other job is given up, and YARN hears what became of
//! each ([`Recovered`]).
//!
//! All of it is one task whose end is news. It ends within [`WITHIN`] and the time that the records take to be
//! read, whatever the NameNode does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use job::history::{FOLDER, HistoryFolder, JobHistory, JobState};
use job::recovered::Recovered;
use job::{SessionPlan, StagingFolder};
use policy::commit::Inheritance;
use proto_hadoop::AppAttemptId;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::mapreduce::{Book, Folder, Record, keep};
use crate::news::News;
use crate::session::Session;
use crate::sharing::Stage;

/// For all jobs: at a millisecond for a rename, a commit of hundreds of thousands of files.
const WITHIN: Duration = Duration::from_secs(900);
/// Jobs that are worked on at once; each has several calls under way.
const AT_ONCE: usize = 8;
/// Why a job that is given up has failed.
const LOST: &str = "its ApplicationMaster was lost";

/// A job of the ApplicationMaster before.
#[derive(Debug)]
struct Left {
    job: u32,
    record: Record,
    folder: Folder,
}

impl Session {
    /// Begins to end the jobs of the ApplicationMaster before this one.
    pub(crate) fn inherit(&self, plan: &SessionPlan) {
        let (staging, own, news) = (plan.staging.clone(), self.attempt, self.news.clone());
        self.tasks.spawn(async move {
            let recovered = inherited(staging, own).await;
            let _heard = news.send(News::Recovered(recovered)).await.is_ok();
        });
    }

    /// They are over, as far as that could be done: so is the session.
    pub(crate) fn recovered(&mut self, recovered: &Recovered) {
        let words = recovered.sentence();
        tracing::warn!("{words}");
        if let Some(sharing) = &mut self.sharing {
            use proto_hadoop::yarn::FinalApplicationStatus::Failed;
            sharing.stage = Stage::Stopping(Failed, words);
        }
    }
}

/// What has become of all of them.
async fn inherited(staging: StagingFolder, own: AppAttemptId) -> Recovered {
    let book = match Book::open(&staging, own.application) {
        Ok(book) => book,
        Err(error) => return unread(error.to_string()),
    };
    let records = match Box::pin(book.read()).await {
        Ok(records) => records,
        Err(sentence) => return unread(sentence),
    };
    let history = HistoryFolder {
        address: staging.address,
        path: format!("{}/{FOLDER}", staging.path),
    };
    let until = Instant::now() + WITHIN;
    let mut left = records.into_iter().map(|(job, record)| Left {
        job,
        folder: Folder {
            address: book.address(record.address.clone()),
            path: record.path.clone(),
            job: Folder::job(own.application, job),
        },
        record,
    });
    let mut recovered = Recovered::default();
    let mut working = JoinSet::new();
    loop {
        while working.len() < AT_ONCE
            && let Some(left) = left.next()
        {
            working.spawn(end(left, history.clone(), own, until));
        }
        match working.join_next().await {
            Some(Ok((job, url, became))) => note(&mut recovered, job, url, became),
            Some(Err(broken)) => tracing::error!("ending a job was broken off: {broken}"),
            None => break,
        }
    }
    recovered.finished.sort();
    recovered.failed.sort();
    if let Err(sentence) = book.clear().await {
        tracing::warn!("records of jobs are left: {sentence}");
    }
    recovered
}

fn unread(sentence: String) -> Recovered {
    Recovered {
        unread: sentence,
        ..Recovered::default()
    }
}

/// Ends one; its number, its output's URL, and what became of it or why nothing did.
async fn end(
    left: Left,
    history: HistoryFolder,
    own: AppAttemptId,
    until: Instant,
) -> (u32, String, Result<Inheritance, String>) {
    let Left {
        job,
        record,
        folder,
    } = left;
    let (url, text) = (folder.url(), folder.job.clone());
    let late = || {
        format!(
            "{url} was not brought to an end within {} s",
            WITHIN.as_secs()
        )
    };
    let became = timeout_at(until, Box::pin(folder.inherit(own)))
        .await
        .unwrap_or_else(|_late| Err(late()));
    let state = match &became {
        Ok(Inheritance::Finished) => Some((JobState::Succeeded, String::new())),
        Ok(Inheritance::GivenUp) => Some((JobState::Failed, LOST.to_owned())),
        // What it came to is kept already, or nobody knows it.
        Ok(_) => None,
        Err(sentence) => Some((JobState::Failed, format!("{LOST}, and {sentence}"))),
    };
    if let Some((state, sentence)) = state {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        });
        let kept = JobHistory {
            version: JobHistory::VERSION,
            job: text,
            name: record.name,
            output: url.clone(),
            took_ms: now.saturating_sub(record.began_ms),
            state,
            sentence,
            ..JobHistory::default()
        };
        if let Err(sentence) = keep(&history, kept).await {
            tracing::warn!("what became of job {job} is not kept: {sentence}");
        }
    }
    (job, url, became)
}

/// Takes down what became of a job.
fn note(recovered: &mut Recovered, job: u32, url: String, became: Result<Inheritance, String>) {
    match became {
        Ok(Inheritance::Finished) => recovered.finished.push((job, url)),
        Ok(Inheritance::Before) => {
            recovered.before.insert(job);
        }
        Ok(Inheritance::GivenUp) => {
            recovered.given_up.insert(job);
        }
        // It was over, or had not begun.
        Ok(Inheritance::Absent) => {}
        Ok(Inheritance::Missing(file)) => recovered.failed.push((
            job,
            format!("{file} of its output {url} was removed by somebody else"),
        )),
        Ok(Inheritance::Unreadable) => recovered.failed.push((
            job,
            format!("its manifest in {url}/_temporary is not what it has written"),
        )),
        Err(sentence) => recovered.failed.push((job, sentence)),
    }
}
