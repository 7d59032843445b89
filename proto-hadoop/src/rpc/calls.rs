//! The calls that wait on one connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{oneshot, watch};

use super::connection::Disconnect;

/// What a waiting call is told.
pub(crate) type CallResult = Result<Bytes, CallFailure>;

/// Why a call got no result.
#[derive(Debug, Clone)]
pub(crate) enum CallFailure {
    /// The server's exception for this call alone.
    Exception {
        class: String,
        message: String,
        stack: String,
    },
    /// The answer's header and body do not fit together.
    Malformed { problem: String },
    /// The connection is over.
    End(Disconnect),
}

/// Matches answers to callers. Once closed it stays closed: whoever comes later learns the same
/// reason as those who waited, and nobody waits on a dead connection.
#[derive(Debug)]
pub(crate) struct Calls {
    table: Mutex<CallTable>,
    closed: watch::Sender<bool>,
}

#[derive(Debug)]
struct CallTable {
    next: i32,
    waiting: BTreeMap<i32, oneshot::Sender<CallResult>>,
    /// Messages from the peer so far.
    heard: u64,
    end: Option<Disconnect>,
}

impl Calls {
    pub(crate) fn new() -> Self {
        let table = CallTable {
            next: 0,
            waiting: BTreeMap::new(),
            heard: 0,
            end: None,
        };
        Self {
            table: Mutex::new(table),
            closed: watch::Sender::new(false),
        }
    }

    /// No code panics while it holds the lock, and the table is whole between any two steps.
    fn table(&self) -> MutexGuard<'_, CallTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an id for a new call, or says how the connection ended.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<WaitingCall, Disconnect> {
        let mut table = self.table();
        if let Some(end) = &table.end {
            return Err(end.clone());
        }
        let (sender, answer) = oneshot::channel();
        let mut id = table.next;
        while table.waiting.contains_key(&id) {
            id = id.checked_add(1).unwrap_or(0);
        }
        // Negative ids mean other things than calls.
        table.next = id.checked_add(1).unwrap_or(0);
        table.waiting.insert(id, sender);
        let heard_before = table.heard;
        Ok(WaitingCall {
            calls: Arc::clone(self),
            id,
            answer,
            heard_before,
        })
    }

    /// Hands an answer to its caller. Late and repeated answers find nobody.
    pub(crate) fn answer(&self, id: i32, answer: CallResult) {
        let waiting = self.table().waiting.remove(&id);
        match waiting.map(|sender| sender.send(answer)) {
            Some(Ok(())) => {}
            Some(Err(_)) | None => tracing::debug!(call = id, "an answer that nobody waits for"),
        }
    }

    /// Notes that the peer is alive.
    pub(crate) fn heard(&self) {
        self.table().heard += 1;
    }

    /// Ends all waiting calls for the same reason, and all that come later. The first reason stays.
    pub(crate) fn close(&self, end: &Disconnect) {
        let waiting = {
            let mut table = self.table();
            if table.end.is_none() {
                table.end = Some(end.clone());
            }
            std::mem::take(&mut table.waiting)
        };
        for (id, sender) in waiting {
            if sender.send(Err(CallFailure::End(end.clone()))).is_err() {
                tracing::debug!(call = id, "the caller has gone");
            }
        }
        self.closed.send_replace(true);
    }

    /// Returns once [`close`](Self::close) was called.
    pub(crate) async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _still_open = closed.wait_for(|&closed| closed).await.is_err();
    }

    /// How the connection ended, if it did.
    pub(crate) fn end(&self) -> Option<Disconnect> {
        self.table().end.clone()
    }

    pub(crate) fn any_waiting(&self) -> bool {
        !self.table().waiting.is_empty()
    }
}

/// One waiting call. Dropping it forgets the call; its answer, should it come, is thrown away.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    calls: Arc<Calls>,
    pub(crate) id: i32,
    answer: oneshot::Receiver<CallResult>,
    /// Messages that had come when the call began.
    heard_before: u64,
}

impl WaitingCall {
    pub(crate) async fn answer(&mut self) -> CallResult {
        match (&mut self.answer).await {
            Ok(answer) => answer,
            Err(_dropped) => Err(CallFailure::End(
                self.calls.end().unwrap_or(Disconnect::Dropped),
            )),
        }
    }

    /// Nothing at all has come from the peer since this call began: it is half open, or stuck.
    pub(crate) fn peer_is_silent(&self) -> bool {
        self.calls.table().heard == self.heard_before
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.calls.table().waiting.remove(&self.id);
    }
}
