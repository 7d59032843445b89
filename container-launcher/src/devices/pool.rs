//! The devices that this container owns, and which of them processes have.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::lease::{Leased, lease};
use super::{DeviceKind, Devices};

/// Names of devices.
type DeviceNames = BTreeSet<String>;

/// Devices of one kind, which are the container's for as long as this lives.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// None: the node has none, or nobody has asked for any.
    kind: Option<DeviceKind>,
    /// In the order in which they are granted.
    own: Vec<Leased>,
    /// Those that processes have.
    granted: Arc<Mutex<DeviceNames>>,
}

/// Some devices of a pool, which are a process's until this is dropped.
#[derive(Debug)]
pub(crate) struct Grant {
    kind: DeviceKind,
    /// Empty: the process is to see none.
    names: Vec<String>,
    granted: Arc<Mutex<DeviceNames>>,
}

/// Its holders cannot panic between two changes.
fn lock(granted: &Mutex<DeviceNames>) -> MutexGuard<'_, DeviceNames> {
    granted.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Sees to it that `count` more processes can have `each` devices of those `here`. Where they are
    /// `counted` by YARN those that are missing are leased; another container that is about to end may
    /// hold some until `until`. Elsewhere all are everybody's.
    ///
    /// # Errors
    ///
    /// There are too few: a sentence without the host.
    pub(crate) async fn reserve(
        &mut self,
        here: Option<Devices>,
        count: usize,
        each: usize,
        counted: bool,
        until: Instant,
    ) -> Result<(), String> {
        let wanted = count.saturating_mul(each);
        self.forget_what_is_gone(here.as_ref());
        if let Some(mut others) = here {
            let kind = *self.kind.get_or_insert(others.kind);
            let is_new = |own: &Leased, name: &str| own.device.name != name;
            let names = |name: &str| self.own.iter().all(|own| is_new(own, name));
            others
                .each
                .retain(|device| others.kind == kind && names(&device.name));
            let missing = wanted.saturating_sub(self.free().len());
            let more = match counted {
                true => lease(&others, missing, until).await?,
                false => others.each.into_iter().map(Leased::shared).collect(),
            };
            self.own.extend(more);
        }
        let there = self.free().len();
        if wanted > there {
            return Err(format!(
                "{count} processes with {each} GPUs each want {wanted}, and the node has {there}; ask \
                 for fewer with -gpus-per-proc, for fewer processes on a node with -ppn, or for nodes \
                 that have more with --node-label"
            ));
        }
        Ok(())
    }

    /// Of what is not on the node any more only that stays which a process has.
    fn forget_what_is_gone(&mut self, here: Option<&Devices>) {
        let granted = lock(&self.granted);
        self.own.retain(|own| {
            granted.contains(&own.device.name)
                || here.is_some_and(|here| here.each.contains(&own.device))
        });
        if self.own.is_empty() {
            self.kind = None;
        }
    }

    /// Names of those that no process has.
    fn free(&self) -> Vec<&str> {
        let granted = lock(&self.granted);
        let names = self.own.iter().map(|own| own.device.name.as_str());
        names.filter(|name| !granted.contains(*name)).collect()
    }

    /// `each` devices for one more process, none of them where fewer are free. `None`: there are no
    /// devices here at all.
    pub(crate) fn grant(&self, each: usize) -> Option<Grant> {
        let kind = self.kind?;
        let free = self.free();
        let names = free.get(..each).unwrap_or_default();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        lock(&self.granted).extend(names.iter().cloned());
        Some(Grant {
            kind,
            names,
            granted: Arc::clone(&self.granted),
        })
    }
}

impl Grant {
    /// The variables by which the process knows its devices.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let list = match self.names[..] {
            [] => self.kind.none.to_owned(),
            _ => self.names.join(","),
        };
        let order = self.kind.order;
        let order = order.map(|(variable, value)| (variable, value.to_owned()));
        [(self.kind.variable, list)].into_iter().chain(order)
    }

    /// What the process finds in the variable of its devices.
    #[cfg(test)]
    fn list(&self) -> String {
        self.variables().map(|(_, value)| value).next().unwrap()
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        lock(&self.granted).retain(|name| !self.names.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    async fn reserve(
        pool: &mut Pool,
        here: Option<&Devices>,
        count: usize,
        each: usize,
        counted: bool,
    ) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(1);
        pool.reserve(here.cloned(), count, each, counted, until)
            .await
    }

    /// What so many processes are told that have `each`.
    async fn told(here: Option<&Devices>, count: usize, each: usize) -> Result<String, String> {
        let mut pool = Pool::default();
        reserve(&mut pool, here, count, each, false).await?;
        let grants: Vec<Option<Grant>> = (0..count).map(|_| pool.grant(each)).collect();
        let told = grants.iter().map(|grant| match grant {
            Some(grant) => grant.list(),
            None => "nothing".to_owned(),
        });
        Ok(told.collect::<Vec<_>>().join(" "))
    }

    #[tokio::test]
    async fn no_device_is_granted_twice() {
        let devices = Devices::of(Path::new("/dev"), &["0", "1", "GPU-a"]);
        let here = Some(&devices);
        assert_eq!(told(here, 3, 1).await.unwrap(), "0 1 GPU-a");
        assert_eq!(told(here, 1, 2).await.unwrap(), "0,1");
        assert_eq!(told(here, 2, 0).await.unwrap(), "-1 -1");
        let refused = told(here, 2, 2).await.unwrap_err();
        assert!(
            refused.contains("want 4") && refused.contains("has 3"),
            "{refused}"
        );
        assert_eq!(told(None, 2, 0).await.unwrap(), "nothing nothing");
        assert!(told(None, 1, 1).await.unwrap_err().contains("has 0"));
        // What is spawned takes what is free, and sees nothing of what is not.
        let mut pool = Pool::default();
        reserve(&mut pool, here, 2, 1, false).await.unwrap();
        let name = |grant: &Option<Grant>| grant.as_ref().unwrap().list();
        let mut all: Vec<_> = (0..4).map(|_| pool.grant(1)).collect();
        let names: Vec<String> = all.iter().map(name).collect();
        assert_eq!(names, ["0", "1", "GPU-a", "-1"]);
        drop(all.remove(0));
        assert_eq!(name(&pool.grant(1)), "0");
        assert!(Pool::default().grant(0).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_grows_by_what_is_missing_and_stays_when_processes_end() {
        let folder = tempfile::tempdir().unwrap();
        let devices = Devices::of(folder.path(), &["0", "1", "2"]);
        let here = Some(&devices);
        let (mut first, mut second) = (Pool::default(), Pool::default());
        reserve(&mut first, here, 1, 1, true).await.unwrap();
        let one = first.grant(1);
        reserve(&mut second, here, 1, 1, true).await.unwrap();
        // A second job of the same container wants one more than is there.
        reserve(&mut first, here, 1, 1, true).await.unwrap();
        let other = first.grant(1);
        assert_eq!(other.as_ref().unwrap().list(), "2");
        let refused = reserve(&mut first, here, 1, 1, true).await.unwrap_err();
        assert!(refused.contains("others have 1 of them"), "{refused}");
        drop((one, other));
        // Begun again it finds what it had.
        reserve(&mut first, here, 2, 1, true).await.unwrap();
        let again = [first.grant(1), first.grant(1)].map(|grant| grant.unwrap().list());
        assert_eq!(again, ["0", "2"]);
        // What the node has lost is not granted any more.
        let left = Devices::of(folder.path(), &["1", "2"]);
        reserve(&mut first, Some(&left), 1, 1, true).await.unwrap();
        assert_eq!(first.grant(1).unwrap().list(), "2");
    }
}
