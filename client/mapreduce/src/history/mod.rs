//! What became of jobs that are over: read from the staging folder, where their ApplicationMasters have left it.

pub mod page;
pub mod text;

use job::history::{FOLDER, JobHistory, SUFFIX};
use proto_hadoop::ApplicationId;
use session::JobName;
use staging::root;
use storage::{Status, Storage, StorageError};

use crate::cluster::Cluster;
use crate::error::MapReduceError;

/// Most jobs that are looked at: newer ones first.
const JOBS: usize = 1_000;
/// Longest file of a job, bytes: fifty thousand attempts fit.
const LONGEST: usize = 64 << 20;

/// The folder of what became of the user's jobs.
#[derive(Debug)]
pub struct History {
    storage: Storage,
    path: String,
}

/// A job that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Its application.
    pub application: ApplicationId,
    /// Its number there.
    pub number: u32,
    /// When it ended, ms since 1970 by the file system's clock.
    pub ended_ms: i64,
    path: String,
}

impl Past {
    /// `None`: it is no file of a job.
    fn of(entry: &Status) -> Option<Self> {
        let text = entry.name().strip_suffix(SUFFIX)?;
        let (application, number) = text.rsplit_once('_')?;
        (!entry.is_folder).then_some(())?;
        Some(Self {
            application: application.parse().ok()?,
            number: number.parse().ok()?,
            ended_ms: entry.modified_ms,
            path: entry.path.clone(),
        })
    }
}

impl History {
    /// That of the staging folder, which is the usual one where none is named.
    ///
    /// # Errors
    ///
    /// There is no such file system.
    pub fn open(cluster: &Cluster, staging: Option<&str>) -> Result<Self, MapReduceError> {
        let conf_dir = cluster
            .conf_dir()
            .map(|folder| folder.display().to_string());
        let conf_dir = conf_dir.as_deref();
        let hadoop = |key: &str| cluster.hadoop(key);
        let root = root::resolve(staging, &cluster.user, &hadoop, conf_dir)?;
        Ok(Self {
            storage: Storage::open(&root.address)?,
            path: format!("{}/{FOLDER}", root.path),
        })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.storage.url(&self.path)
    }

    /// The jobs that are over, the last one first.
    ///
    /// # Errors
    ///
    /// The file system refuses.
    pub async fn list(&self) -> Result<Vec<Past>, MapReduceError> {
        let entries = match self.storage.list_some(&self.path, usize::MAX).await {
            Err(StorageError::Absent { .. }) => Vec::new(),
            entries => entries?,
        };
        let mut all: Vec<Past> = entries.iter().filter_map(Past::of).collect();
        sort::by_key(&mut all, |past| {
            std::cmp::Reverse((past.ended_ms, past.number))
        });
        all.truncate(JOBS);
        Ok(all)
    }

    /// What became of a job.
    ///
    /// # Errors
    ///
    /// The file is gone, or not what an ApplicationMaster has written.
    pub async fn read(&self, past: &Past) -> Result<JobHistory, MapReduceError> {
        let text = self.storage.read(&past.path, LONGEST).await?;
        serde_json::from_slice(&text).map_err(|error| {
            let url = self.storage.url(&past.path);
            MapReduceError::Asked(format!("{url} is no history of a job: {error}"))
        })
    }

    /// The last job of this name; `None`: there is none.
    ///
    /// # Errors
    ///
    /// The file system refuses.
    pub async fn find(&self, name: JobName) -> Result<Option<Past>, MapReduceError> {
        let all = self.list().await?;
        let is_meant = |past: &Past| name.is(past.application, past.number);
        Ok(all.into_iter().find(is_meant))
    }
}

/// What people call a job: `s42.7`.
#[must_use]
pub fn id(job: &JobHistory) -> String {
    let name = job.job.parse::<JobName>();
    name.map_or_else(|_odd| job.job.clone(), |name| name.to_string())
}

#[cfg(test)]
mod tests {
    use storage::Owner;

    use super::*;

    #[test]
    fn a_job_is_known_by_the_name_of_its_file() {
        let entry = |name: &str| Status {
            path: format!("/h/{name}"),
            size: 1,
            modified_ms: 5,
            used_ms: None,
            is_folder: false,
            owner: Owner::Named("alice".into()),
            is_ours: true,
            mode: 0o600,
        };
        let past = Past::of(&entry("application_1700000000000_0042_7.json")).unwrap();
        assert_eq!(
            (past.application.id, past.number, past.ended_ms),
            (42, 7, 5)
        );
        for odd in [
            "application_17_0042_x.json",
            "notes.json",
            ".draft",
            "application_17_0042_7",
        ] {
            assert_eq!(Past::of(&entry(odd)), None, "{odd}");
        }
    }
}
