//! The program's output on its way to our own, and our input on its way to rank 0.
//!
//! Both ends block in threads of their own, behind short queues: a terminal that stands still
//! stops the reading from the ApplicationMaster, and in the end the rank that writes.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek as _, SeekFrom, Write};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use job::wire;
use job::wire::clients_client::ClientsClient;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::Status;
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

/// What rank 0 reads, run after run.
#[derive(Clone)]
pub(crate) enum Source {
    /// Nothing.
    Nothing,
    /// A file, which every run reads from its beginning.
    File(PathBuf),
    /// Our own standard input, a file too: every run reads it from where we found it.
    Again(Arc<File>, u64),
    /// Our own standard input, that can be read once.
    Once(Arc<Pipe>),
}

/// An input that is read by one thread and given to whichever run is the present one.
pub(crate) struct Pipe {
    chunks: Mutex<Option<mpsc::Receiver<wire::InputChunk>>>,
    is_used: AtomicBool,
}

impl Source {
    pub(crate) fn new(from: Input) -> Self {
        match from {
            Input::None => Self::Nothing,
            Input::File(path) => Self::File(path),
            Input::Own => own(),
        }
    }

    /// A run has read of it what no other can.
    pub(crate) fn is_spent(&self) -> bool {
        matches!(self, Self::Once(pipe) if pipe.is_used.load(Ordering::Acquire))
    }
}

/// Our standard input.
fn own() -> Source {
    let file = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(File::from);
    if let Ok(mut file) = file
        && file.metadata().is_ok_and(|about| about.is_file())
        && let Ok(begin) = file.stream_position()
    {
        return Source::Again(Arc::new(file), begin);
    }
    Source::Once(Arc::new(Pipe {
        chunks: Mutex::new(None),
        is_used: AtomicBool::new(false),
    }))
}

/// Copies the input to rank 0 until its end, or until the job has no use for it.
///
/// The thread that reads is not waited for: a read from a terminal ends only with the process.
pub(crate) async fn input(mut client: ClientsClient<Channel>, from: Source) {
    let reader = thread::Builder::new().name("input".into());
    let (sender, receiver) = mpsc::channel(INPUT_QUEUE);
    let taken = match from {
        Source::Nothing => return,
        Source::File(path) => reader.spawn(move || match File::open(&path) {
            Ok(mut file) => read(&mut file, &sender, false),
            Err(error) => say(format!("--input {}: {error}", path.display())),
        }),
        Source::Again(file, begin) => reader.spawn(move || {
            let mut file = file.as_ref();
            if let Err(error) = file.seek(SeekFrom::Start(begin)) {
                say(format!("cannot read standard input again: {error}"));
                return;
            }
            read(&mut file, &sender, false);
        }),
        Source::Once(pipe) => {
            let mut chunks = pipe.chunks.lock().await;
            let chunks = match &mut *chunks {
                Some(chunks) => chunks,
                empty => {
                    let started =
                        reader.spawn(move || read(&mut std::io::stdin().lock(), &sender, true));
                    if started.is_err() {
                        return;
                    }
                    empty.insert(receiver)
                }
            };
            let (to_job, outgoing) = mpsc::channel(1);
            let calling = client.input(ReceiverStream::new(outgoing));
            let passing = async {
                // A place first: what is taken is on its way.
                while let Ok(place) = to_job.reserve().await
                    && let Some(chunk) = chunks.recv().await
                {
                    pipe.is_used.store(true, Ordering::Release);
                    place.send(chunk);
                }
                drop(to_job);
            };
            let (_taken, ()) = tokio::join!(calling, passing);
            return;
        }
    };
    if taken.is_ok() {
        // Refused or broken: the job has no use for input, and its own link says what is wrong.
        let _taken = client.input(ReceiverStream::new(receiver)).await.is_ok();
    }
}

fn read(from: &mut impl Read, sender: &mpsc::Sender<wire::InputChunk>, once: bool) {
    let mut buffer = vec![0; job::CHUNK_MAX];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_unreadable) => return,
        };
        let data = bytes::Bytes::copy_from_slice(&buffer[..length]);
        if sender
            .blocking_send(wire::InputChunk { data, once })
            .is_err()
        {
            return;
        }
    }
}
