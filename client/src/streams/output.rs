//! What the ranks print, on its way to our own output.

use std::io::ErrorKind;
use std::pin::Pin;
use std::thread;

use job::wire;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::{Stream, StreamExt as _};
use tonic::Status;

use crate::outlet::{Layout, Outlet};

/// Chunks between the network and the thread that writes.
const OUTPUT_QUEUE: usize = 16;

/// How the output ended.
#[derive(Debug)]
pub(crate) enum OutputEnd {
    /// Every byte is written.
    Complete,
    /// Nobody reads our standard output or error any more, as in `gerbil-run … | head`.
    NoReader,
    /// Our standard output or error takes no more, for this reason.
    Unwritable(std::io::Error),
    /// The connection broke: bytes may be missing.
    Broken,
}

/// What the ranks print, from the ApplicationMaster.
pub(crate) type Output = Pin<Box<dyn Stream<Item = Result<wire::OutputChunk, Status>> + Send>>;

/// Copies output until its end, as `layout` says.
pub(crate) async fn output(mut chunks: Output, layout: Layout) -> OutputEnd {
    let (sender, receiver) = mpsc::channel(OUTPUT_QUEUE);
    let (done, written) = oneshot::channel();
    let runtime = Handle::current();
    let writer = thread::Builder::new().name("output".into()).spawn(move || {
        let _awaited = done.send(write(receiver, layout, runtime)).is_ok();
    });
    if let Err(error) = writer {
        return OutputEnd::Unwritable(error);
    }
    let broken = loop {
        match chunks.next().await {
            Some(Ok(chunk)) => {
                if sender.send(chunk).await.is_err() {
                    break false;
                }
            }
            None => break false,
            Some(Err(_status)) => break true,
        }
    };
    // The ApplicationMaster waits for this.
    drop(chunks);
    drop(sender);
    match written.await {
        Ok(Err(error)) if error.kind() == ErrorKind::BrokenPipe => OutputEnd::NoReader,
        Ok(Err(error)) => OutputEnd::Unwritable(error),
        Ok(Ok(())) if !broken => OutputEnd::Complete,
        Ok(Ok(())) | Err(_) => OutputEnd::Broken,
    }
}

/// The writing thread.
fn write(
    mut chunks: mpsc::Receiver<wire::OutputChunk>,
    layout: Layout,
    runtime: Handle,
) -> std::io::Result<()> {
    let mut outlet = Outlet::new(layout, std::io::stdout().lock(), std::io::stderr());
    outlet.keep(runtime)?;
    while let Some(chunk) = chunks.blocking_recv() {
        outlet.take(chunk)?;
    }
    outlet.finish()
}
