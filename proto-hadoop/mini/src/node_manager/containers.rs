//! What the NodeManager knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proto_hadoop::server::{ContainerIdentifier, MasterKey};
use proto_hadoop::yarn::{ContainerLaunch, ContainerState, ContainerStatus, exit_status};
use proto_hadoop::{ApplicationId, ContainerId, NodeId};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::NodeManagerOptions;
use super::files::Cache;
use super::stand_in::Hollow;
use crate::MiniError;

/// Containers that may wait to be started.
pub(super) const STARTS: usize = 1024;
/// Folders are the user's own.
const CLOSED: u32 = 0o700;

/// A container that was accepted.
#[derive(Debug)]
pub(super) struct AcceptedStart {
    pub(super) identifier: ContainerIdentifier,
    pub(super) launch: ContainerLaunch,
    pub(super) stop: CancellationToken,
}

/// One container, from being accepted until the ResourceManager has heard of its end.
#[derive(Debug)]
pub(super) struct ContainerEntry {
    pub(super) state: ContainerState,
    pub(super) exit_status: i32,
    pub(super) diagnostics: String,
    /// Ends it.
    pub(super) stop: CancellationToken,
    /// Who ordered its end, as an exit status, and in words.
    pub(super) stopped: Option<(i32, &'static str)>,
}

/// Keys and the ResourceManager they are of.
#[derive(Debug, Default)]
struct Trust {
    container: Option<MasterKey>,
    /// The newest last.
    nm: Vec<MasterKey>,
    resource_manager: i64,
}

/// Keys of log-ins that are still taken: the newest and the one before.
const NM_KEYS: usize = 2;

/// What the parts of a NodeManager share.
pub(super) struct Desk {
    pub(super) id: NodeId,
    pub(super) options: NodeManagerOptions,
    pub(super) hollow: Hollow,
    pub(super) cache: Cache,
    containers: Mutex<BTreeMap<ContainerId, ContainerEntry>>,
    /// Containers that ever ran here: a grant starts a container once.
    used: Mutex<BTreeSet<ContainerId>>,
    trust: Mutex<Trust>,
    starts: mpsc::Sender<AcceptedStart>,
    /// Ends everything.
    pub(super) closing: CancellationToken,
    /// A container has ended: the ResourceManager is told at once.
    pub(super) news: Notify,
    /// How many have not ended.
    alive: watch::Sender<usize>,
    /// Heartbeats that the ResourceManager has answered.
    pub(super) beats: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Desk {
    pub(super) fn open(
        id: NodeId,
        options: NodeManagerOptions,
        hollow: Hollow,
    ) -> Result<(Self, mpsc::Receiver<AcceptedStart>), MiniError> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(CLOSED)
            .create(&options.folder);
        made.map_err(|source| MiniError::File {
            doing: "making the folder",
            path: options.folder.clone(),
            source,
        })?;
        let (starts, queue) = mpsc::channel(STARTS);
        let cache = Cache::new(options.folder.join("filecache"));
        let desk = Self {
            id,
            options,
            hollow,
            cache,
            containers: Mutex::default(),
            used: Mutex::default(),
            trust: Mutex::default(),
            starts,
            closing: CancellationToken::new(),
            news: Notify::new(),
            alive: watch::Sender::new(0),
            beats: AtomicU64::new(0),
        };
        Ok((desk, queue))
    }

    pub(super) fn take_keys(&self, container: Option<MasterKey>, nm: Option<MasterKey>) {
        let mut trust = lock(&self.trust);
        if container.is_some() {
            trust.container = container;
        }
        if let Some(key) = nm {
            trust.nm.retain(|old| old.id != key.id);
            trust.nm.push(key);
            let surplus = trust.nm.len().saturating_sub(NM_KEYS);
            trust.nm.drain(..surplus);
        }
    }

    pub(super) fn take_resource_manager(&self, started_ms: i64) {
        lock(&self.trust).resource_manager = started_ms;
    }

    pub(super) fn resource_manager(&self) -> i64 {
        lock(&self.trust).resource_manager
    }

    pub(super) fn container_key(&self) -> Option<MasterKey> {
        lock(&self.trust).container.clone()
    }

    /// The key with this number, or the newest.
    pub(super) fn nm_key(&self, id: Option<i32>) -> Option<MasterKey> {
        let trust = lock(&self.trust);
        match id {
            None => trust.nm.last().cloned(),
            Some(id) => trust.nm.iter().find(|key| key.id == id).cloned(),
        }
    }

    /// Takes a container in; a sentence when it is not taken.
    pub(super) fn accept(
        &self,
        identifier: ContainerIdentifier,
        launch: ContainerLaunch,
    ) -> Result<(), (&'static str, String)> {
        let id = identifier.container;
        let Ok(room) = self.starts.try_reserve() else {
            return Err((
                "NMNotYetReadyException",
                format!("{STARTS} containers wait to be started already"),
            ));
        };
        if self.closing.is_cancelled() {
            return Err(("NMNotYetReadyException", "the node is ending".to_owned()));
        }
        if !lock(&self.used).insert(id) {
            let words = format!("Container {id} already is running on this node!!");
            return Err(("YarnException", words));
        }
        let stop = self.closing.child_token();
        let entry = ContainerEntry {
            state: ContainerState::Running,
            exit_status: exit_status::INVALID,
            diagnostics: String::new(),
            stop: stop.clone(),
            stopped: None,
        };
        lock(&self.containers).insert(id, entry);
        self.alive.send_modify(|alive| *alive += 1);
        room.send(AcceptedStart {
            identifier,
            launch,
            stop,
        });
        Ok(())
    }

    /// Orders the end of a container; false when it is not known here.
    pub(super) fn stop_container(&self, id: ContainerId, by: (i32, &'static str)) -> bool {
        let mut containers = lock(&self.containers);
        let Some(entry) = containers.get_mut(&id) else {
            return false;
        };
        entry.stopped.get_or_insert(by);
        entry.stop.cancel();
        true
    }

    /// Orders the end of all containers of an application.
    pub(super) fn stop_application(&self, id: ApplicationId) {
        let containers = lock(&self.containers);
        let of_it: Vec<ContainerId> = containers
            .keys()
            .filter(|container| container.attempt.application == id)
            .copied()
            .collect();
        drop(containers);
        for container in of_it {
            let by = (
                exit_status::KILLED_AFTER_APPLICATION_END,
                "Container killed because its application has ended.",
            );
            self.stop_container(container, by);
        }
    }

    /// Orders the end of everything.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Returns when no container is alive.
    pub(super) async fn idle(&self) {
        let mut alive = self.alive.subscribe();
        let _none = alive.wait_for(|alive| *alive == 0).await.is_ok();
    }

    /// A container has ended with this code, or did not begin for this reason.
    pub(super) fn ended(&self, id: ContainerId, code: i32, words: String) {
        if let Some(entry) = lock(&self.containers).get_mut(&id) {
            entry.state = ContainerState::Complete;
            (entry.exit_status, entry.diagnostics) = match entry.stopped {
                Some((by, why)) if by < 0 => (by, format!("{why}\n{words}")),
                _ => (code, words),
            };
        }
        self.alive
            .send_modify(|alive| *alive = alive.saturating_sub(1));
        self.news.notify_one();
    }

    pub(super) fn status(&self, id: ContainerId) -> Option<ContainerStatus> {
        let containers = lock(&self.containers);
        containers.get(&id).map(|entry| entry.status(id))
    }

    pub(super) fn statuses(&self) -> Vec<ContainerStatus> {
        let containers = lock(&self.containers);
        let all = containers.iter();
        all.map(|(&id, entry)| entry.status(id)).collect()
    }

    /// The ResourceManager has heard of the end of these.
    pub(super) fn forget(&self, heard: &[ContainerId]) {
        lock(&self.containers)
            .retain(|id, entry| entry.state != ContainerState::Complete || !heard.contains(id));
    }
}

impl ContainerEntry {
    fn status(&self, id: ContainerId) -> ContainerStatus {
        ContainerStatus {
            id,
            state: self.state,
            is_localizing: self.state == ContainerState::New,
            exit_status: self.exit_status,
            diagnostics: self.diagnostics.clone(),
        }
    }
}
