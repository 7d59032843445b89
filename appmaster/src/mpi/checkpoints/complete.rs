//! What is complete in the file system: found, and made.

use std::sync::Arc;

use job::Checkpoints as Plan;
use job::data::{MANIFEST, MANIFEST_MAX, Manifest, number, of_job};
use storage::Storage;

use super::{CheckpointState, ENTRIES_MAX, KEPT, Saved};

impl CheckpointState {
    /// Of a job of `size` processes that has not begun: nothing grows and nothing is due.
    pub(super) fn new(
        plan: Plan,
        storage: Arc<Storage>,
        application: String,
        attempt: i32,
        size: u32,
    ) -> Self {
        Self {
            folder: of_job(&plan.root, &application),
            plan,
            storage,
            application,
            attempt,
            size,
            number: 0,
            growing: None,
            asked: false,
            running: false,
            cut_off: false,
            due: None,
            look: None,
        }
    }

    /// The newest complete checkpoint of this job, of an earlier attempt of it; or the one that the
    /// user wants.
    pub(super) async fn begin_from(&mut self) -> Result<Option<Saved>, String> {
        let words = |error: storage::StorageError| error.to_string();
        self.storage
            .make_folder(&self.folder)
            .await
            .map_err(words)?;
        let found = self
            .storage
            .list(&self.folder, ENTRIES_MAX)
            .await
            .map_err(words)?;
        let newest = found.iter().filter_map(|entry| number(entry.name())).max();
        self.number = newest.unwrap_or(0);
        // What an attempt before this one did not finish.
        for entry in found.iter().filter(|entry| is_unfinished(entry.name())) {
            let _later = self.storage.remove(&entry.path).await.is_ok();
        }
        let (address, path) = match (newest, &self.plan.restore) {
            (Some(newest), _) => (
                self.plan.address.clone(),
                format!("{}/{newest}", self.folder),
            ),
            (None, Some(wanted)) => wanted.clone(),
            (None, None) => return Ok(None),
        };
        let storage = Storage::open(&address).map_err(words)?;
        let bytes = storage
            .read(&format!("{path}/{MANIFEST}"), MANIFEST_MAX)
            .await;
        let manifest: Manifest = serde_json::from_slice(&bytes.map_err(words)?)
            .map_err(|error| format!("{}/{MANIFEST}: {error}", address.url(&path)))?;
        if u32::try_from(manifest.ranks.len()) != Ok(self.size) {
            return Err(format!(
                "{} is of {} processes, the job has {}",
                address.url(&path),
                manifest.ranks.len(),
                self.size
            ));
        }
        Ok(Some(Saved {
            address,
            path,
            manifest,
        }))
    }

    pub(super) fn growing_path(&self) -> String {
        format!("{}/{}.{}.tmp", self.folder, self.number, self.attempt)
    }

    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.folder, self.number)
    }
}

/// Whether an entry of a job's folder is a checkpoint that is not complete.
fn is_unfinished(name: &str) -> bool {
    name.ends_with(".tmp")
}

/// Makes what lies in `from` complete under the name `to`, and removes what is older than it needs.
pub(crate) async fn close(
    storage: &Storage,
    from: &str,
    to: &str,
    manifest: &Manifest,
) -> Result<(), String> {
    let words = |error: storage::StorageError| error.to_string();
    let bytes = serde_json::to_vec(manifest).map_err(|error| error.to_string())?;
    if bytes.len() > MANIFEST_MAX {
        let most = MANIFEST_MAX >> 20;
        return Err(format!("the list of its files is longer than {most} MiB"));
    }
    let written = storage.write(&format!("{from}/{MANIFEST}"), bytes).await;
    written.map_err(words)?;
    storage.rename(from, to).await.map_err(words)?;
    // It is complete; what cannot be removed now is removed with the next.
    let folder = storage::parent(to);
    for old in storage.list(folder, ENTRIES_MAX).await.unwrap_or_default() {
        let is_old = match number(old.name()) {
            Some(number) => number.saturating_add(KEPT) <= manifest.number,
            None => is_unfinished(old.name()),
        };
        if is_old {
            let _later = storage.remove(&old.path).await.is_ok();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use job::wire;
    use storage::Address;

    use super::super::Checkpoints;
    use super::*;

    fn plan(root: &str, restore: Option<(Address, String)>) -> CheckpointState {
        let plan = Plan {
            folder: "ck".into(),
            signal: 10,
            interval_ms: Some(1),
            address: Address::Shared,
            root: root.into(),
            restore,
        };
        let storage = Arc::new(Storage::open(&plan.address).unwrap());
        CheckpointState::new(plan, storage, "application_1_0001".into(), 1, 2)
    }

    #[tokio::test]
    async fn the_newest_complete_one_is_found_and_brought_to_whoever_runs_the_rank() {
        let root = tempfile::tempdir().unwrap();
        let mut own = plan(root.path().to_str().unwrap(), None);
        assert!(own.begin_from().await.unwrap().is_none());
        for number in 1..=4 {
            own.number = number;
            let file = format!("{}/1/state", own.growing_path());
            own.storage.write(&file, vec![1; 3]).await.unwrap();
            let manifest = Manifest {
                application: own.application.clone(),
                number,
                ranks: vec![Vec::new(), vec![("state".into(), 3)]],
            };
            let (from, to) = (own.growing_path(), own.path());
            if number < 4 {
                close(&own.storage, &from, &to, &manifest).await.unwrap();
            }
        }
        let left = own.storage.list(&own.folder, 10).await.unwrap();
        let left: Vec<&str> = left.iter().map(storage::Status::name).collect();
        assert_eq!(left, ["2", "3", "4.1.tmp"]);

        own.size = 3;
        let refused = own.begin_from().await.unwrap_err();
        assert!(refused.contains("is of 2 processes"), "{refused}");
        (own.size, own.attempt) = (2, 2);
        let newest = own.begin_from().await.unwrap();
        let left = own.storage.list(&own.folder, 10).await.unwrap();
        assert_eq!(left.len(), 2, "what is not complete goes: {left:?}");
        assert_eq!(
            (own.number, newest.as_ref().unwrap().manifest.number),
            (3, 3)
        );
        let checkpoints = Checkpoints {
            own: Some(own),
            newest,
            trouble: None,
        };
        let share = |ranks: &[u32]| {
            let mut share = wire::Share {
                ranks: ranks.to_vec(),
                ..wire::Share::default()
            };
            checkpoints.add_to(&mut share).unwrap();
            share
        };
        assert_eq!(share(&[0]).restore.unwrap().copies, []);
        let copies = share(&[1]).restore.unwrap().copies;
        assert_eq!(copies[0].local, "ck/1/state");
        assert!(copies[0].remote.ends_with("application_1_0001/3/1/state"));
        assert_eq!(share(&[1]).restored, 3);
    }
}
