//! A client gives the input of a job.

use std::sync::Arc;

use job::wire;
use tokio::sync::mpsc;

use crate::console::Console;
use crate::detached::DetachedJob;

/// A client gives the input of a job. Where that breaks off, also because the client is gone, rank 0 sees no end of it:
/// to rank 0 an end would say that this was all. The job of that client ends; to one that is detached another may give
/// the rest.
pub(super) struct Giving {
    /// `None`: it has come to its end.
    pub(super) to_rank: Option<mpsc::Sender<wire::InputChunk>>,
    pub(super) console: Arc<Console>,
    /// The job, if it is detached.
    pub(super) kept: Option<Arc<DetachedJob>>,
}

impl Giving {
    /// `false`: rank 0 has closed its standard input, or is gone, and the rest has no reader.
    pub(super) async fn give(&self, chunk: wire::InputChunk) -> bool {
        match &self.to_rank {
            Some(to_rank) => to_rank.send(chunk).await.is_ok(),
            None => false,
        }
    }

    /// Rank 0 sees it.
    pub(super) fn end(&mut self) {
        self.to_rank = None;
    }
}

impl Drop for Giving {
    fn drop(&mut self) {
        let Some(broken) = self.to_rank.take() else {
            return;
        };
        self.console.keep_input(broken);
        if let Some(kept) = &self.kept {
            kept.release_input();
        }
    }
}
