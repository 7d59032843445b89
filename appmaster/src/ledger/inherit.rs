//! What an ApplicationMaster does that comes after another: it takes no job, and brings those of the one before to
//! an end. A commit whose manifest stands is finished, every other job is given up, and YARN hears what became of
//! each ([`Recovered`]).
//!
//! All of it is one task whose end is news. It ends within [`WITHIN`] and the time that the records take to be
//! read, whatever the NameNode does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use job::StagingFolder;
use job::history::{FOLDER, HistoryFolder, JobHistory, JobState};
use job::recovered::{LOST, Recovered};
use policy::commit::Inheritance;
use proto_hadoop::AppAttemptId;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::Storages;
use crate::mapreduce::{Book, Folder, Record, keep};

/// For all jobs: at a millisecond for a rename, a commit of hundreds of thousands of files.
const WITHIN: Duration = Duration::from_secs(900);
/// Jobs that are worked on at once; each has several calls under way.
const AT_ONCE: usize = 8;

/// A job of the ApplicationMaster before.
#[derive(Debug)]
struct LeftJob {
    job: u32,
    record: Record,
    folder: Folder,
}

/// What has become of all of them.
pub(crate) async fn inherited(staging: StagingFolder, own: AppAttemptId) -> Recovered {
    let book = match Book::open(&staging, own.application, &Storages::default()) {
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
    let mut left = records.into_iter().map(|(job, record)| LeftJob {
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
    sort::ascending(&mut recovered.finished);
    sort::ascending(&mut recovered.failed);
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
    left: LeftJob,
    history: HistoryFolder,
    own: AppAttemptId,
    until: Instant,
) -> (u32, String, Result<Inheritance, String>) {
    let LeftJob {
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
        // What it came to is kept already, or unknown.
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
        if let Err(sentence) = keep(&history, kept, &Storages::default()).await {
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
        Ok(Inheritance::Taken { whole }) => recovered.failed.push((
            job,
            format!(
                "somebody else has made {url} while it ran: its output is whole, in {whole}: give it another name \
                 before a job writes to {url} again"
            ),
        )),
        Ok(Inheritance::Unreadable) => recovered.failed.push((
            job,
            format!("the manifest of its output {url} is not what it has written"),
        )),
        Err(sentence) => recovered.failed.push((job, sentence)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use policy::commit::{OWNER, absolute, job_folder};
    use proto_hadoop::ApplicationId;
    use storage::Address;
    use tokio::net::TcpListener;

    use super::*;

    const OWN: AppAttemptId = AppAttemptId {
        application: ApplicationId {
            cluster_timestamp: 1_700_000_000_000,
            id: 42,
        },
        attempt: 2,
    };

    /// The address of a NameNode that takes connections and never answers, as long as its task is owned.
    async fn silent() -> (Address, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connect = format!("hdfs://{}", listener.local_addr().unwrap());
        let mut owner = JoinSet::new();
        owner.spawn(async move {
            let mut all = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                all.push(stream);
            }
        });
        let address = Address::Hdfs {
            origin: connect.clone(),
            connect,
            user: "ann".into(),
            settings: Vec::new(),
        };
        (address, owner)
    }

    fn staging(folder: &Path) -> StagingFolder {
        StagingFolder {
            address: Address::Shared,
            path: folder.to_str().unwrap().to_owned(),
        }
    }

    fn record(name: &str, address: Option<Address>, out: &Path) -> Record {
        Record {
            name: name.into(),
            began_ms: 1,
            address,
            path: out.to_str().unwrap().to_owned(),
        }
    }

    /// What `job` has where its output `out` is to be: what one attempt has written and, where it commits, its success.
    fn left(out: &Path, job: u32, commits: bool) {
        let text = Folder::job(OWN.application, job);
        let at = |path: &str| absolute(out.to_str().unwrap(), path);
        let written = at(&format!("{}/written", job_folder(&text)));
        fs::create_dir_all(&written).unwrap();
        fs::write(format!("{written}/part-m-00000"), "x").unwrap();
        fs::write(at(OWNER), &text).unwrap();
        if commits {
            fs::write(format!("{written}/_SUCCESS"), "").unwrap();
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let all = fs::read_dir(folder).unwrap();
        let mut all: Vec<String> = all
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        all.sort();
        all
    }

    #[tokio::test(start_paused = true)]
    async fn what_can_be_finished_is_though_another_file_system_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let staging = staging(&at("staging"));
        left(&at("a"), 1, true);
        left(&at("b"), 2, false);
        fs::create_dir(at("d")).unwrap();
        let book = Book::open(&staging, OWN.application, &Storages::default()).unwrap();
        let (silent, _serving) = silent().await;
        for (job, record) in [
            (1, record("one", None, &at("a"))),
            (2, record("two", None, &at("b"))),
            (3, record("three", Some(silent), &at("c"))),
            (4, record("four", None, &at("d"))),
        ] {
            book.write(0, job, &record).await.unwrap();
        }
        let since = Instant::now();
        let recovered = inherited(staging, OWN).await;
        assert!(since.elapsed() <= WITHIN, "{:?}", since.elapsed());
        let one = (1, format!("file:{}", at("a").display()));
        assert_eq!(recovered.finished, [one]);
        assert_eq!(names(&at("a")), ["_SUCCESS", "part-m-00000"]);
        assert_eq!(recovered.given_up, [2].into());
        assert_eq!(names(folder.path()), ["a", "d", "staging"]);
        let [(3, why)] = recovered.failed.as_slice() else {
            panic!("{recovered:?}");
        };
        assert!(why.contains("/c was out of reach for"), "{why}");
        assert!(recovered.before.is_empty() && recovered.unread.is_empty());
        assert!(names(&at("staging/commits")).is_empty());
        let kept = names(&at("staging/history"));
        assert_eq!(kept.len(), 3, "{kept:?}");
        let first: JobHistory =
            serde_json::from_slice(&fs::read(at("staging/history").join(&kept[0])).unwrap())
                .unwrap();
        assert_eq!(
            (first.name.as_str(), first.state),
            ("one", JobState::Succeeded)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn records_that_nobody_gives_are_not_waited_for_for_ever() {
        let (address, _serving) = silent().await;
        let staging = StagingFolder {
            address,
            path: "/staging".into(),
        };
        let since = Instant::now();
        let recovered = inherited(staging, OWN).await;
        assert!(since.elapsed() < WITHIN, "{:?}", since.elapsed());
        let sentence = recovered.sentence();
        assert!(
            sentence.contains("could not be read: ") && sentence.contains("hdfs://127.0.0.1"),
            "{sentence}"
        );
    }
}
