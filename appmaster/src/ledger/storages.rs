//! The file systems of a session's jobs, each with one client for all of them: what a NameNode tells a client once it
//! is not asked for each job.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use storage::{Address, Storage, StorageError};

/// So many are kept; jobs on further ones have clients of their own.
const KEPT: usize = 16;

/// Clients by their file systems. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storages(Arc<Mutex<BTreeMap<Address, Arc<Storage>>>>);

impl Storages {
    /// A client of this file system. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The settings make no sense.
    pub(crate) fn of(&self, address: &Address) -> Result<Arc<Storage>, StorageError> {
        // A thread that panicked while it held the lock has left the map whole.
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(storage) = open.get(address) {
            return Ok(Arc::clone(storage));
        }
        let storage = Arc::new(Storage::open(address)?);
        if open.len() < KEPT {
            open.insert(address.clone(), Arc::clone(&storage));
        }
        Ok(storage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_one_client_unless_there_are_very_many() {
        let storages = Storages::default();
        let hdfs = |number: usize| Address::Hdfs {
            connect: format!("hdfs://n{number}:8020"),
            origin: format!("hdfs://n{number}:8020"),
            user: "ann".into(),
            settings: Vec::new(),
        };
        let is_kept = |address: &Address| {
            let [one, other] = [0, 1].map(|_| storages.clone().of(address).unwrap());
            Arc::ptr_eq(&one, &other)
        };
        let kept = (0..2 * KEPT).filter(|number| is_kept(&hdfs(*number)));
        assert_eq!(kept.count(), KEPT);
    }
}
