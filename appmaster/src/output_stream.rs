//! The output on its way to the client, over the wire or inside one process.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use job::wire;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::Status;

use crate::console::Console;

/// What the ranks print, chunk by chunk, as fast as it is taken; ends after the last byte of the last
/// rank. To be dropped when the last is taken, or when nobody takes it any more: the AM waits for that
/// before it leaves.
#[derive(Debug)]
pub struct OutputReceiver {
    chunks: mpsc::Receiver<wire::OutputChunk>,
    console: Arc<Console>,
}

impl OutputReceiver {
    pub(crate) fn new(chunks: mpsc::Receiver<wire::OutputChunk>, console: &Arc<Console>) -> Self {
        Self {
            chunks,
            console: Arc::clone(console),
        }
    }
}

impl Stream for OutputReceiver {
    type Item = Result<wire::OutputChunk, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.chunks.poll_recv(context).map(|chunk| chunk.map(Ok))
    }
}

impl Drop for OutputReceiver {
    fn drop(&mut self) {
        self.console.handed_over();
    }
}
