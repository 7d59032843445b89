//! A file system in memory that refuses what it is told to: for tests of those who write to one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::{Owner, Status, StorageError, reader};

/// What is refused.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Files that no DataNode takes, the first ones.
    pub without_datanodes: u32,
    /// Files of this length, bytes, or more are over the quota; the writing of shorter ones never ends.
    pub quota: Option<u64>,
    /// Somebody else has a file of these contents by the time that one gets its name.
    pub rival: Option<Bytes>,
}

#[derive(Debug)]
pub(crate) struct Scripted(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    script: Script,
    files: BTreeMap<String, Vec<u8>>,
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Writing {
    state: Arc<Mutex<State>>,
    path: String,
    contents: Vec<u8>,
}

pub(crate) fn url(path: &str) -> String {
    format!("scripted:{path}")
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn status(path: &str, contents: &[u8]) -> Status {
    Status {
        path: path.to_owned(),
        size: contents.len() as u64,
        modified_ms: 1,
        used_ms: None,
        is_folder: false,
        owner: Owner::Named("alice".into()),
        is_ours: true,
        mode: 0o600,
    }
}

impl Scripted {
    pub(crate) fn new(script: Script) -> Self {
        let files = BTreeMap::new();
        Self(Arc::new(Mutex::new(State { script, files })))
    }

    pub(crate) fn stat(&self, path: &str) -> Option<Status> {
        let state = lock(&self.0);
        state.files.get(path).map(|contents| status(path, contents))
    }

    pub(crate) fn list(&self, path: &str, most: usize) -> (Vec<Status>, bool) {
        let state = lock(&self.0);
        let inside = (state.files.iter()).filter(|(name, _)| crate::parent(name) == path);
        let mut all: Vec<Status> =
            (inside.map(|(name, contents)| status(name, contents))).collect();
        let whole = all.len() <= most;
        all.truncate(most);
        (all, whole)
    }

    pub(crate) fn create(&self, path: &str) -> Writing {
        lock(&self.0).files.insert(path.to_owned(), Vec::new());
        Writing {
            state: Arc::clone(&self.0),
            path: path.to_owned(),
            contents: Vec::new(),
        }
    }

    pub(crate) fn read(&self, path: &str, from: u64) -> Result<reader::Scripted, StorageError> {
        let state = lock(&self.0);
        let absent = || StorageError::Absent { url: url(path) };
        let contents = state.files.get(path).ok_or_else(absent)?;
        let rest = usize::try_from(from)
            .ok()
            .and_then(|from| contents.get(from..));
        Ok(reader::Scripted {
            rest: Bytes::copy_from_slice(rest.unwrap_or_default()),
            size: contents.len() as u64,
        })
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let mut state = lock(&self.0);
        if let Some(rival) = state.script.rival.clone() {
            state.files.insert(to.to_owned(), rival.into());
        }
        if state.files.contains_key(to) {
            return Err(StorageError::Exists { url: url(to) });
        }
        let absent = || StorageError::Absent { url: url(from) };
        let contents = state.files.remove(from).ok_or_else(absent)?;
        state.files.insert(to.to_owned(), contents);
        Ok(())
    }

    pub(crate) fn remove(&self, path: &str) -> bool {
        lock(&self.0).files.remove(path).is_some()
    }
}

impl Writing {
    pub(crate) fn write(&mut self, piece: &[u8]) {
        self.contents.extend_from_slice(piece);
    }

    pub(crate) async fn close(self) -> Result<(), StorageError> {
        let (doing, url) = ("writing", url(&self.path));
        let length = self.contents.len() as u64;
        let quota = {
            let mut state = lock(&self.state);
            if state.script.without_datanodes > 0 {
                state.script.without_datanodes -= 1;
                let said = "refused".into();
                return Err(StorageError::DataNodes { doing, url, said });
            }
            state.script.quota
        };
        match quota {
            Some(quota) if length < quota => std::future::pending().await,
            Some(_) => {
                let said = "too much".into();
                Err(StorageError::Quota { doing, url, said })
            }
            None => {
                lock(&self.state).files.insert(self.path, self.contents);
                Ok(())
            }
        }
    }
}
