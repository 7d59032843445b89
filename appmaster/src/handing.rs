//! The output on its way to the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use job::wire;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::console::Console;
use crate::news::{News, NewsSender};

/// Hands the console's output to the connection, chunk by chunk, as fast as that takes it. Dropped by
/// the connection when the last is under way, or when nobody takes it any more: then it is told.
#[derive(Debug)]
pub(crate) struct Handing {
    pub chunks: mpsc::Receiver<wire::OutputChunk>,
    pub console: Arc<Console>,
    pub news: NewsSender,
    pub tasks: TaskTracker,
}

impl Stream for Handing {
    type Item = Result<wire::OutputChunk, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.chunks.poll_recv(context).map(|chunk| chunk.map(Ok))
    }
}

impl Drop for Handing {
    fn drop(&mut self) {
        self.console.handed_over();
        let news = self.news.clone();
        // The loop may be busy, and this must not wait.
        self.tasks.spawn(async move {
            let _heard = news.send(News::OutputHandedOver).await.is_ok();
        });
    }
}
