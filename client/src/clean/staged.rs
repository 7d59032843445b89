//! What lies in the staging folder.

use std::collections::BTreeSet;

use follow::timing::now_us;
use proto_hadoop::ApplicationId;
use staging::collect;
use staging::root;
use storage::{Status, Storage, StorageError};

use super::kept::{Fate, Kept, Removable};
use crate::cluster::Cluster;
use crate::failure::Failure;

/// Entries of a folder that are looked at.
const ENTRIES_MAX: usize = 100_000;

/// Folders that gerbil makes there: what each has, and whether applications that run need it.
const FOLDERS: [(&str, &str, Need); 6] = [
    (
        "cache",
        "programs, libraries, environments and files",
        Need::RunningJobs,
    ),
    (
        "own",
        "programs, libraries, environments and files",
        Need::RunningJobs,
    ),
    (
        collect::COMMITS,
        "where jobs were with their output",
        Need::RunningJobs,
    ),
    (
        collect::HISTORY,
        "what became of MapReduce jobs",
        Need::Nothing,
    ),
    (
        "get",
        "results that did not come home",
        Need::User("fetch what you want with hdfs dfs -get"),
    ),
    (
        "checkpoints",
        "checkpoints of jobs",
        Need::User("--restore begins from them"),
    ),
];

#[derive(Clone, Copy)]
enum Need {
    RunningJobs,
    Nothing,
    /// It is no file of gerbil's alone.
    User(&'static str),
}

/// The staging folder.
pub(super) struct Staging {
    storage: Storage,
    path: String,
}

impl Staging {
    /// `given` or the default. No server is asked.
    pub(super) fn open(given: Option<&str>, cluster: &Cluster) -> Result<Self, Failure> {
        let files = cluster.configuration.files().first();
        let conf_dir = files.and_then(|file| file.parent());
        let conf_dir = conf_dir.map(|folder| folder.display().to_string());
        let hadoop = |key: &str| cluster.configuration.get(key).ok().flatten();
        let root = root::resolve(given, &cluster.user, &hadoop, conf_dir.as_deref())?;
        Ok(Self {
            storage: Storage::open(&root.address)?,
            path: root.path,
        })
    }

    /// All that is in it, folder after folder.
    pub(super) async fn kept(
        &self,
        running: &BTreeSet<ApplicationId>,
    ) -> Result<Vec<Kept>, Failure> {
        let now_ms = now_us() / 1000;
        let mut found = Vec::new();
        for (name, what, need) in FOLDERS {
            let folder = format!("{}/{name}", self.path);
            if self.storage.stat(&folder).await?.is_none() {
                continue;
            }
            let entries = self.storage.list_some(&folder, ENTRIES_MAX).await?;
            found.push((name, what, need, folder, entries));
        }
        let mut entries = found.iter().flat_map(|(.., entries)| entries);
        let is_staging = entries.any(|entry| entry.is_ours && collect::is_under_way(entry, now_ms));
        let mut all = Vec::new();
        for (name, what, need, folder, entries) in &found {
            let of_user = matches!(need, Need::User(_));
            let is_ours = |entry: &&Status| {
                entry.is_ours && (of_user || collect::is_made_by_us(name, entry, now_ms))
            };
            let (ours, others): (Vec<&Status>, Vec<&Status>) = entries.iter().partition(is_ours);
            let fate = match need {
                Need::User(why) => Fate::Stays((*why).to_owned()),
                Need::RunningJobs => match running.first() {
                    Some(id) => Fate::Stays(format!("{id} may need it, which is not over")),
                    None if is_staging => Fate::Stays(
                        "files of a job are being uploaded, which may need it".to_owned(),
                    ),
                    None => Fate::Goes,
                },
                Need::Nothing => Fate::Goes,
            };
            all.push(self.row(what, folder, &ours, fate).await?);
            let why = "gerbil has not made it, it is another user's, or it is being uploaded";
            let why = Fate::Stays(why.to_owned());
            all.push(self.row("other files", folder, &others, why).await?);
        }
        all.retain(|kept| !kept.is_empty());
        Ok(all)
    }

    async fn row(
        &self,
        what: &'static str,
        folder: &str,
        entries: &[&Status],
        fate: Fate,
    ) -> Result<Kept, Failure> {
        let (mut files, mut bytes) = (0, 0u64);
        for entry in entries {
            if !entry.is_folder {
                files += 1;
                bytes = bytes.saturating_add(entry.size);
                continue;
            }
            let below = self.storage.walk(&entry.path, ENTRIES_MAX).await?;
            files += u64::try_from(below.len()).unwrap_or(u64::MAX).max(1);
            bytes = below
                .iter()
                .fold(bytes, |sum, file| sum.saturating_add(file.size));
        }
        Ok(Kept {
            what,
            place: self.storage.url(folder),
            files,
            bytes,
            fate,
            removable: Removable::Staged {
                paths: entries.iter().map(|entry| entry.path.clone()).collect(),
                folder: folder.to_owned(),
            },
        })
    }

    /// Removes what goes, and the folders that are empty then.
    pub(super) async fn remove(&self, all: &[Kept]) -> Result<(), Failure> {
        for kept in all.iter().filter(|kept| kept.fate == Fate::Goes) {
            let Removable::Staged { paths, folder } = &kept.removable else {
                continue;
            };
            for path in paths {
                self.storage.remove(path).await?;
            }
            self.remove_empty(folder).await?;
        }
        self.remove_empty(&self.path).await
    }

    /// One that has something in it stays.
    async fn remove_empty(&self, folder: &str) -> Result<(), Failure> {
        match self.storage.remove_empty(folder).await {
            Ok(_) | Err(StorageError::Exists { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use job::history::SUFFIX;
    use storage::Address;

    use super::*;

    fn file(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "12").unwrap();
    }

    #[tokio::test]
    async fn beside_an_upload_that_is_under_way_all_that_jobs_need_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let digest = "0a".repeat(32);
        file(&root.join(format!("cache/{digest}")));
        file(&root.join("cache/.uploading-x"));
        file(&root.join(format!("own/{digest}")));
        file(&root.join(format!("history/application_1_0001{SUFFIX}")));
        let staging = Staging {
            storage: Storage::open(&Address::Shared).unwrap(),
            path: root.display().to_string(),
        };
        let all = staging.kept(&BTreeSet::new()).await.unwrap();
        assert_eq!(fates(&all, "/cache"), [(1, false), (1, false)]);
        assert_eq!(fates(&all, "/own"), [(1, false)]);
        assert_eq!(fates(&all, "/history"), [(1, true)]);
    }

    fn fates(all: &[Kept], folder: &str) -> Vec<(u64, bool)> {
        let of = all.iter().filter(|kept| kept.place.ends_with(folder));
        of.map(|kept| (kept.files, kept.fate == Fate::Goes))
            .collect()
    }

    #[tokio::test]
    async fn what_gerbil_has_made_goes_and_all_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("staging");
        let digest = "0a".repeat(32);
        for name in [
            format!("cache/{digest}"),
            format!("cache/{digest}.tar"),
            "cache/notes.txt".to_owned(),
            format!("history/application_1_0001{SUFFIX}"),
            "commits/application_1_0002/record".to_owned(),
            "get/1-2/0/log".to_owned(),
            "checkpoints/application_1_0001/1/x".to_owned(),
            "mine/x".to_owned(),
        ] {
            file(&root.join(name));
        }
        let staging = Staging {
            storage: Storage::open(&Address::Shared).unwrap(),
            path: root.display().to_string(),
        };
        let id: ApplicationId = "application_1700000000000_0042".parse().unwrap();
        // Beside an application that runs, what it may need stays.
        let busy = staging.kept(&BTreeSet::from([id])).await.unwrap();
        assert_eq!(fates(&busy, "/cache"), [(2, false), (1, false)]);
        assert_eq!(fates(&busy, "/commits"), [(1, false)]);
        assert_eq!(fates(&busy, "/history"), [(1, true)]);

        let all = staging.kept(&BTreeSet::new()).await.unwrap();
        assert_eq!(fates(&all, "/cache"), [(2, true), (1, false)]);
        assert_eq!(fates(&all, "/commits"), [(1, true)]);
        assert_eq!(fates(&all, "/get"), [(1, false)]);
        assert_eq!(fates(&all, "/checkpoints"), [(1, false)]);
        staging.remove(&all).await.unwrap();
        let mut left: Vec<String> = fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["cache", "checkpoints", "get", "mine"]);
        let cache = fs::read_dir(root.join("cache")).unwrap();
        assert_eq!(cache.count(), 1, "notes.txt alone");
    }
}
