//! The draft of the next allocate call.
//!
//! Whoever holds the containers writes it, the task that owns the stream sends it, and neither waits for
//! the other. It grows with what is wanted and held, not with the time that the ResourceManager takes:
//! what is written twice stands there once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use policy::ClusterView;
use proto_hadoop::ContainerId;
use proto_hadoop::yarn::FinalApplicationStatus;
use tokio::sync::Notify;

use crate::requests::{Asking, RequestTable};

/// What an application may tell of its progress at most, in thousandths.
const WHOLE: u16 = 1000;

/// What a read of the nodes has brought, or why it brought nothing.
pub type Nodes = Result<ClusterView, String>;

/// How the application ends, as YARN records it.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    pub status: FinalApplicationStatus,
    /// For YARN's pages.
    pub diagnostics: String,
}

/// Its clones are the same draft.
#[derive(Clone, Debug)]
pub(crate) struct Draft(Arc<SharedDraft>);

#[derive(Debug)]
struct SharedDraft {
    state: Mutex<DraftState>,
    changed: Notify,
}

/// What stands in it.
#[derive(Debug)]
pub(crate) struct DraftState {
    pub table: RequestTable,
    /// What the next call gives back.
    pub releases: BTreeSet<ContainerId>,
    /// Containers that the next call asks for and none has asked for.
    pub asks: u32,
    /// Something is about to come: look more often.
    pub hurry: bool,
    /// Reads of the nodes that wait for the next call's answer.
    pub reads: Vec<Nodes>,
    /// When something was last written, reads aside.
    pub written: Instant,
    /// The verdict, once there is one.
    pub finish: Option<Finish>,
    /// In thousandths.
    progress: u16,
    /// Something stands here that no call has been made for.
    is_new: bool,
    /// Nobody writes any more.
    is_abandoned: bool,
}

impl DraftState {
    /// From 0 to 1.
    pub(crate) fn progress(&self) -> f32 {
        f32::from(self.progress) / f32::from(WHOLE)
    }

    /// A call is about to be made for what stands here, and for these reads of the nodes.
    pub(crate) fn begin(&mut self) -> Vec<Nodes> {
        self.is_new = false;
        std::mem::take(&mut self.reads)
    }

    /// Whether something stands here that no call has been made for. The verdict is not sent by a call.
    pub(crate) const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Nobody writes any more.
    pub(crate) const fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }
}

impl Draft {
    /// Of an application that has asked for nothing yet.
    pub(crate) fn new(table: RequestTable) -> Self {
        Self(Arc::new(SharedDraft {
            state: Mutex::new(DraftState {
                table,
                releases: BTreeSet::new(),
                asks: 0,
                hurry: false,
                reads: Vec::new(),
                written: Instant::now(),
                finish: None,
                progress: 0,
                is_new: false,
                is_abandoned: false,
            }),
            changed: Notify::new(),
        }))
    }

    /// For a moment: nothing waits while it has this.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DraftState> {
        // Nothing panics while it has the lock.
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, change: impl FnOnce(&mut DraftState)) {
        let mut state = self.lock();
        change(&mut state);
        state.is_new = true;
        drop(state);
        self.0.changed.notify_one();
    }

    fn write_now(&self, change: impl FnOnce(&mut DraftState)) {
        self.write(|state| {
            change(state);
            state.written = Instant::now();
        });
    }

    /// Replaces what is asked for by `request`. Whatever was to be seen soon has been.
    pub(crate) fn ask(&self, request: u32, asking: &Asking) {
        self.write_now(|state| {
            let fresh = u32::try_from(asking.fresh().count()).unwrap_or(u32::MAX);
            state.asks = state.asks.saturating_add(fresh);
            state.hurry = false;
            state.table.replace(request, asking);
        });
    }

    /// Gives containers back.
    pub(crate) fn release(&self, containers: &[ContainerId]) {
        self.write_now(|state| state.releases.extend(containers));
    }

    /// Looks more often from now on, until something is asked for.
    pub(crate) fn hurry(&self) {
        self.write_now(|state| state.hurry = true);
    }

    /// A read of the nodes, to be told after what the next call brings: containers that have been granted
    /// and not told count as used there, and would be taken for somebody else's. Who only looks asks for
    /// nothing more.
    pub(crate) fn read(&self, nodes: Nodes) {
        self.write(|state| state.reads.push(nodes));
    }

    /// How much of the application's work is done, in thousandths. Told with the next call, and no reason
    /// for one.
    pub(crate) fn progress(&self, thousandths: u16) {
        self.lock().progress = thousandths.min(WHOLE);
    }

    /// The application ends, once what stands here has been sent.
    pub(crate) fn finish(&self, finish: Finish) {
        self.lock().finish = Some(finish);
        self.0.changed.notify_one();
    }

    /// Nobody writes any more: whoever sends it stops.
    pub(crate) fn abandon(&self) {
        self.lock().is_abandoned = true;
        self.0.changed.notify_one();
    }

    /// Until something is to be done for it. One task may wait.
    pub(crate) async fn changed(&self) {
        let is_due =
            |state: &DraftState| state.is_new || state.finish.is_some() || state.is_abandoned;
        while !is_due(&self.lock()) {
            self.0.changed.notified().await;
        }
    }

    /// Until the application is to end, or nobody writes any more.
    pub(crate) async fn finished(&self) {
        let is_due = |state: &DraftState| state.finish.is_some() || state.is_abandoned;
        while !is_due(&self.lock()) {
            self.0.changed.notified().await;
        }
    }
}
