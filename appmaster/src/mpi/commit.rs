//! Gives results their final names, once, whichever attempt of the ApplicationMaster comes to do it.
//!
//! What the launchers of attempt A copied for the result of index I lies in `.gerbil-A-I` beside the
//! destination. When all of it is there, the list of what is to be renamed is written to
//! `.gerbil-A-I.commit`, and only then is the first thing renamed. Who finds such a list finishes the work,
//! and the results are those of attempt A; without one, what A has copied is of no use and goes. The
//! list stays until the job is unregistered, because until then another attempt may come.

use std::collections::BTreeSet;

use job::StageOut;
use proto_hadoop::AppAttemptId;
use serde_json::Error as JsonError;
use storage::{Address, Storage, StorageError, parent};

/// From, to: absolute paths.
pub(crate) type Renames = BTreeSet<(String, String)>;

/// Bytes of a list, at most.
const LIST_MAX: usize = 16 << 20;

/// Where the files of one result are until they have their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingFolder {
    pub(crate) address: Address,
    /// The folder.
    pub(crate) path: String,
}

/// The deepest folder above a result's path that is the same for all nodes.
pub(crate) fn fixed(pattern: &str) -> &str {
    let until = pattern.find('%').unwrap_or(pattern.len());
    parent(&pattern[..until])
}

impl PendingFolder {
    /// That of `attempt` for the result `out`, which is the one of that index.
    pub(crate) fn of(out: &StageOut, index: usize, attempt: &AppAttemptId) -> Self {
        let top = fixed(&out.path).trim_end_matches('/');
        Self {
            address: out.address.clone(),
            path: format!("{top}/.gerbil-{attempt}-{index}"),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.address.url(&self.path)
    }

    fn list(&self) -> String {
        format!("{}.commit", self.path)
    }

    /// What [`commit`](Self::commit) writes down of these.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn list_of(&self, renames: &Renames) -> Result<Vec<u8>, String> {
        let list = serde_json::to_vec(renames).map_err(|error: JsonError| error.to_string())?;
        if list.len() > LIST_MAX {
            let most = LIST_MAX >> 20;
            return Err(format!("the list of names is longer than {most} MiB"));
        }
        Ok(list)
    }

    /// Writes the list and gives everything its final name. What was cut short can be done again.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) async fn commit(&self, renames: &Renames, list: &[u8]) -> Result<(), StorageError> {
        let storage = Storage::open(&self.address)?;
        match storage.write(&self.list(), list.to_vec()).await {
            // By an earlier try of this attempt; as long as it is not whole, nothing has its name.
            Err(StorageError::Exists { .. }) => {
                if storage.read(&self.list(), LIST_MAX).await? != list {
                    storage.remove(&self.list()).await?;
                    storage.write(&self.list(), list.to_vec()).await?;
                }
            }
            written => written?,
        }
        self.carry_on(&storage, renames).await
    }

    /// Does what is still to be done of a list.
    async fn carry_on(&self, storage: &Storage, renames: &Renames) -> Result<(), StorageError> {
        for (from, to) in renames {
            // What is not there any more has its name already.
            if storage.stat(from).await?.is_some() {
                storage.make_folder(parent(to)).await?;
                storage.rename(from, to).await?;
            }
        }
        storage.remove(&self.path).await
    }

    /// Whether an attempt that is over had everything together: then it has its names now. Otherwise
    /// nothing of it is left.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) async fn finish(&self) -> Result<bool, StorageError> {
        let storage = Storage::open(&self.address)?;
        let list = match storage.stat(&self.list()).await? {
            Some(_) => storage.read(&self.list(), LIST_MAX).await?,
            None => Vec::new(),
        };
        // One that is not whole was not acted on.
        let renames: Option<Renames> = serde_json::from_slice(&list).ok();
        match &renames {
            Some(renames) => self.carry_on(&storage, renames).await?,
            None => self.forget().await?,
        }
        Ok(renames.is_some())
    }

    /// Removes everything that was not given a final name, and the list.
    pub(crate) async fn forget(&self) -> Result<(), StorageError> {
        let storage = Storage::open(&self.address)?;
        storage.remove(&self.path).await?;
        storage.remove(&self.list()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: i32) -> AppAttemptId {
        let attempt = format!("appattempt_1700000000000_0007_{number:06}");
        attempt.parse().unwrap()
    }

    struct Bed {
        folder: tempfile::TempDir,
        storage: Storage,
        out: StageOut,
    }

    impl Bed {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let out = StageOut {
                local: "res".into(),
                address: Address::Shared,
                path: format!("{}/%h/res", folder.path().display()),
                option: "--stage-out".into(),
            };
            let storage = Storage::open(&Address::Shared).unwrap();
            Self {
                folder,
                storage,
                out,
            }
        }

        fn top(&self) -> String {
            self.folder.path().display().to_string()
        }

        /// Files of two nodes, copied by attempt 1.
        async fn copied(&self) -> (PendingFolder, Renames) {
            let own = PendingFolder::of(&self.out, 0, &attempt(1));
            let mut renames = Renames::new();
            for host in ["h0", "h1"] {
                let from = format!("{}/{host}/res", own.path);
                let file = format!("{from}/a");
                self.storage.write(&file, b"1".to_vec()).await.unwrap();
                renames.insert((from, format!("{}/{host}/res", self.top())));
            }
            (own, renames)
        }

        async fn names(&self) -> Vec<String> {
            let files = self.storage.walk(&self.top(), 100).await.unwrap();
            let names = files.iter().map(|file| file.path.as_str());
            let names = names.map(|path| path.strip_prefix(&self.top()).unwrap().to_owned());
            names.collect()
        }
    }

    const LIST: &str = "/.gerbil-appattempt_1700000000000_0007_000001-0.commit";

    #[tokio::test]
    async fn results_get_their_names_and_the_list_stays_until_it_is_forgotten() {
        let bed = Bed::new();
        let (own, renames) = bed.copied().await;
        let list = own.list_of(&renames).unwrap();
        own.commit(&renames, &list).await.unwrap();
        assert_eq!(bed.names().await, [LIST, "/h0/res/a", "/h1/res/a"]);
        own.commit(&renames, &list).await.unwrap();
        assert_eq!(bed.names().await, [LIST, "/h0/res/a", "/h1/res/a"]);
        assert!(own.finish().await.unwrap(), "the next attempt sees it");
        own.forget().await.unwrap();
        assert_eq!(bed.names().await, ["/h0/res/a", "/h1/res/a"]);
    }

    #[tokio::test]
    async fn what_was_begun_is_finished_by_the_next_attempt() {
        let bed = Bed::new();
        let (own, renames) = bed.copied().await;
        let list = serde_json::to_vec(&renames).unwrap();
        bed.storage.write(&own.list(), list).await.unwrap();
        let (from, to) = renames.first().unwrap();
        bed.storage.make_folder(parent(to)).await.unwrap();
        bed.storage.rename(from, to).await.unwrap();
        assert!(own.finish().await.unwrap());
        assert_eq!(bed.names().await, [LIST, "/h0/res/a", "/h1/res/a"]);
    }

    #[tokio::test]
    async fn a_list_that_was_cut_short_is_written_anew() {
        let bed = Bed::new();
        let (own, renames) = bed.copied().await;
        let list = own.list_of(&renames).unwrap();
        let half = list[..list.len() / 2].to_vec();
        bed.storage.write(&own.list(), half).await.unwrap();
        own.commit(&renames, &list).await.unwrap();
        assert_eq!(bed.names().await, [LIST, "/h0/res/a", "/h1/res/a"]);
    }

    #[tokio::test]
    async fn what_was_copied_in_part_goes() {
        let bed = Bed::new();
        let (own, renames) = bed.copied().await;
        let list = serde_json::to_vec(&renames).unwrap();
        let half = list[..list.len() / 2].to_vec();
        bed.storage.write(&own.list(), half).await.unwrap();
        assert!(!own.finish().await.unwrap());
        assert_eq!(bed.names().await, Vec::<String>::new());
        assert!(!own.finish().await.unwrap(), "nor when there is nothing");
    }
}
