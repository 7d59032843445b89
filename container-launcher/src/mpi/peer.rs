//! A rank as the process manager knows it: who asks over a socket and is answered.

use std::path::PathBuf;

use tokio::sync::mpsc;

/// What is known of the rank behind one PMI socket.
#[derive(Debug)]
pub(crate) struct RankSocket {
    /// Answers on their way to it.
    replies: mpsc::Sender<String>,
    /// It will say nothing more.
    closed: bool,
    /// It asked to end the job, or broke the protocol.
    aborted: bool,
    /// Where it notes how long it waited for messages.
    waits: Option<PathBuf>,
}

impl RankSocket {
    /// One whose answers go into `replies`.
    pub(crate) const fn new(replies: mpsc::Sender<String>, waits: Option<PathBuf>) -> Self {
        Self {
            replies,
            closed: false,
            aborted: false,
            waits,
        }
    }

    /// One that asks elsewhere: nothing is heard of it here.
    pub(crate) fn absent(waits: Option<PathBuf>) -> Self {
        let (replies, _) = mpsc::channel(1);
        Self {
            closed: true,
            ..Self::new(replies, waits)
        }
    }

    /// Queues an answer. False: the rank does not read its answers.
    pub(crate) fn reply(&self, line: String) -> bool {
        let queued = self.replies.try_send(line);
        !matches!(queued, Err(mpsc::error::TrySendError::Full(_)))
    }

    /// Notes that it asked to end the job. False: it did so before.
    pub(crate) const fn abort(&mut self) -> bool {
        !std::mem::replace(&mut self.aborted, true)
    }

    /// Nothing more will be heard of it.
    pub(crate) const fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// The file in which it notes how long it waited.
    pub(crate) fn waits(&self) -> Option<&std::path::Path> {
        self.waits.as_deref()
    }
}
