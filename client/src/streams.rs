//! The program's output on its way to our own, and our input on its way to rank 0.
//!
//! Both ends block in threads of their own, behind short queues: a terminal that stands still
//! stops the reading from the ApplicationMaster, and in the end the rank that writes.

use std::io::{ErrorKind, Read, Write};
use std::thread;
use std::time::Duration;

use job::wire;
use job::wire::clients_client::ClientsClient;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

use crate::arguments::Input;
use crate::failure::say;
use crate::outlet::{Layout, Outlet};

/// Chunks between the network and the thread that writes.
const OUTPUT_QUEUE: usize = 16;
/// Chunks between the thread that reads and the network.
const INPUT_QUEUE: usize = 2;

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

/// Copies output until its end, as `layout` says.
pub(crate) async fn output(mut chunks: Streaming<wire::OutputChunk>, layout: Layout) -> OutputEnd {
    let (sender, receiver) = mpsc::channel(OUTPUT_QUEUE);
    let (done, written) = oneshot::channel();
    let writer = thread::Builder::new().name("output".into()).spawn(move || {
        let _awaited = done.send(write(receiver, layout)).is_ok();
    });
    if let Err(error) = writer {
        return OutputEnd::Unwritable(error);
    }
    let broken = loop {
        match chunks.message().await {
            Ok(Some(chunk)) => {
                if sender.send(chunk).await.is_err() {
                    break false;
                }
            }
            Ok(None) => break false,
            Err(_status) => break true,
        }
    };
    drop(sender);
    match written.await {
        Ok(Err(error)) if error.kind() == ErrorKind::BrokenPipe => OutputEnd::NoReader,
        Ok(Err(error)) => OutputEnd::Unwritable(error),
        Ok(Ok(())) if !broken => OutputEnd::Complete,
        Ok(Ok(())) | Err(_) => OutputEnd::Broken,
    }
}

/// The writing thread.
fn write(mut chunks: mpsc::Receiver<wire::OutputChunk>, layout: Layout) -> std::io::Result<()> {
    let mut outlet = Outlet::new(layout, std::io::stdout().lock(), std::io::stderr());
    while let Some(chunk) = chunks.blocking_recv() {
        outlet.take(chunk)?;
    }
    outlet.finish()
}

/// As `write_all`, also where whoever shares our terminal or pipe has made it non-blocking.
pub(crate) fn write_whole(to: &mut impl Write, mut data: &[u8]) -> std::io::Result<()> {
    /// A pause of this thread alone, until the other side may have read.
    const FULL: Duration = Duration::from_millis(10);
    while !data.is_empty() {
        match to.write(data) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => data = &data[length..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::park_timeout(FULL),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Copies our standard input, or a file, to rank 0 until its end, or until the job has no use for it.
///
/// The thread that reads is not waited for: a read from a terminal ends only with the process.
pub(crate) async fn input(mut client: ClientsClient<Channel>, from: Input) {
    let (sender, receiver) = mpsc::channel(INPUT_QUEUE);
    let reader = thread::Builder::new()
        .name("input".into())
        .spawn(move || match from {
            Input::Own => read(&mut std::io::stdin().lock(), &sender),
            Input::File(path) => match std::fs::File::open(&path) {
                Ok(mut file) => read(&mut file, &sender),
                Err(error) => say(format!("--input {}: {error}", path.display())),
            },
            Input::None => {}
        });
    if reader.is_ok() {
        // Refused or broken: the job has no use for input, and its own link says what is wrong.
        let _taken = client.input(ReceiverStream::new(receiver)).await.is_ok();
    }
}

fn read(from: &mut impl Read, sender: &mpsc::Sender<wire::InputChunk>) {
    let mut buffer = vec![0; job::CHUNK_MAX];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_unreadable) => return,
        };
        let data = buffer[..length].to_vec();
        if sender.blocking_send(wire::InputChunk { data }).is_err() {
            return;
        }
    }
}
