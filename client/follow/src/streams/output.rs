//! What the ranks print, on its way to our own output.

use std::fs::File;
use std::io::{self, ErrorKind, Stderr};
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use job::wire;
use job::wire::client_order::Order;
use nix::fcntl::{FcntlArg, fcntl};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_stream::{Stream, StreamExt as _};
use tonic::Status;

use super::mpi_io::{SENTENCE, SharedFileWatch};
use crate::lanes::{Door, Lanes, Take};
use crate::output::{Layout, OutputWriter};
use crate::progress::Aside;
use terminal::say;

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
    Unwritable(io::Error),
    /// The connection broke: bytes may be missing.
    Broken,
    /// A lane broke, and that has been said: bytes of one stream may be missing.
    Incomplete,
}

/// What the ranks print, from the ApplicationMaster.
pub(crate) type OutputChunks =
    Pin<Box<dyn Stream<Item = Result<wire::OutputChunk, Status>> + Send>>;

/// Output in such amounts that lanes are worth it, bytes.
const MUCH: usize = 8 * 1024 * 1024;

/// What the writing thread is given.
enum Item {
    Chunk(wire::OutputChunk),
    /// What came by a lane could not be written.
    Unwritable(io::Error),
}

type SharedWriter = Arc<Mutex<OutputWriter<File, Stderr>>>;

/// What there is for output that is much.
pub(crate) struct Wide {
    /// Opened then.
    pub door: Option<Door>,
    /// The launchers are told where it is.
    pub orders: mpsc::Sender<wire::ClientOrder>,
}

/// Copies output until its end, as `layout` says. Before the first of it `line` is taken away.
pub(crate) async fn output(
    mut chunks: OutputChunks,
    layout: Layout,
    line: Aside,
    mut wide: Wide,
) -> OutputEnd {
    let (sender, receiver) = mpsc::channel(OUTPUT_QUEUE);
    let (done, written) = oneshot::channel();
    let runtime = Handle::current();
    let lanes = Lanes::default();
    let to_lanes = (lanes.clone(), sender.downgrade());
    let writer = thread::Builder::new().name("output".into()).spawn(move || {
        let _awaited = done
            .send(write(receiver, &to_lanes, layout, runtime))
            .is_ok();
    });
    if let Err(error) = writer {
        return OutputEnd::Unwritable(error);
    }
    let mut letting_in = JoinSet::new();
    let mut bytes = 0_usize;
    let broken = loop {
        let chunk = tokio::select! {
            chunk = chunks.next() => chunk,
            // Also where nothing comes this way: what comes by a lane could not be written.
            () = sender.closed() => break false,
        };
        match chunk {
            Some(Ok(chunk)) => {
                // The news that the ranks run may come later.
                line.clear();
                bytes = bytes.saturating_add(chunk.data.len());
                if sender.send(Item::Chunk(chunk)).await.is_err() {
                    break false;
                }
            }
            None => break false,
            Some(Err(_status)) => break true,
        }
        if bytes > MUCH
            && let Some(door) = wide.door.take()
            && let Ok((address, accepting)) = door.open(lanes.clone()).await
        {
            letting_in.spawn(accepting);
            let order = wire::ClientOrder {
                order: Some(Order::Door(address)),
            };
            // A link that is gone has its own report.
            let _sent = wide.orders.send(order).await.is_ok();
        }
    };
    if broken {
        // What still comes has nowhere to go.
        lanes.close();
    }
    // The ApplicationMaster waits for this.
    drop(chunks);
    drop(sender);
    let written = written.await;
    lanes.close();
    match written {
        Ok(Err(error)) if error.kind() == ErrorKind::BrokenPipe => OutputEnd::NoReader,
        Ok(Err(error)) => OutputEnd::Unwritable(error),
        Ok(Ok(_)) if broken => OutputEnd::Broken,
        Ok(Ok(true)) => OutputEnd::Complete,
        Ok(Ok(false)) => OutputEnd::Incomplete,
        Err(_) => OutputEnd::Broken,
    }
}

/// The writing thread: until neither the ApplicationMaster nor a lane brings anything more. Whether no lane
/// broke in the last run of the program.
fn write(
    mut items: mpsc::Receiver<Item>,
    (lanes, queue): &(Lanes, mpsc::WeakSender<Item>),
    layout: Layout,
    runtime: Handle,
) -> io::Result<bool> {
    let (mut run, mut is_whole) = (0, true);
    let mut shared_file = SharedFileWatch::default();
    // By its descriptor: lanes write too, each in its thread, and none of it is to be copied once more.
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut outlet = OutputWriter::new(layout, stdout, io::stderr());
    outlet.keep(runtime)?;
    let outlet = Arc::new(Mutex::new(outlet));
    while let Some(item) = items.blocking_recv() {
        if let Item::Chunk(chunk) = &item
            && chunk.run > run
        {
            // It says everything once more.
            (run, is_whole) = (chunk.run, true);
        }
        let misses_a_file = matches!(&item, Item::Chunk(chunk) if shared_file.sees(chunk));
        match item {
            Item::Chunk(chunk) if chunk.left_out > 0 => lock(&outlet).leave_out(chunk.left_out)?,
            Item::Chunk(chunk) if chunk.lane != 0 => {
                widen();
                if let Some(queue) = queue.upgrade() {
                    lanes.begin(chunk.lane, take(Arc::clone(&outlet), chunk, queue));
                }
            }
            Item::Chunk(chunk) if chunk.lost => {
                is_whole = false;
                say(format!(
                    "a connection to rank {} broke while output was on its way: some of it is missing",
                    chunk.rank
                ));
            }
            Item::Chunk(chunk) => lock(&outlet).take(chunk)?,
            Item::Unwritable(error) => return Err(error),
        }
        if misses_a_file {
            say(SENTENCE);
        }
    }
    match Arc::into_inner(outlet) {
        Some(outlet) => outlet
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .finish()?,
        // A lane gives it back before its sender goes.
        None => return Err(io::Error::other("a lane holds the output")),
    }
    Ok(is_whole)
}

/// Where our output is a pipe: fewer turns between this process and whoever reads it. Without it they are
/// more.
fn widen() {
    /// The largest that a user may have, bytes (`fs.pipe-max-size`).
    const LENGTH: i32 = 1024 * 1024;
    let _set = fcntl(io::stdout(), FcntlArg::F_SETPIPE_SZ(LENGTH)).is_ok();
}

/// Writes what comes by a lane: the stream is that of the chunk which announced it.
fn take(outlet: SharedWriter, announced: wire::OutputChunk, queue: mpsc::Sender<Item>) -> Take {
    // Dropped in this order.
    let mut held = (outlet, queue);
    Box::new(move |data| {
        let (outlet, queue) = &mut held;
        if queue.is_closed() {
            return false;
        }
        let chunk = wire::OutputChunk {
            data,
            rank: announced.rank,
            stream: announced.stream,
            run: announced.run,
            ..wire::OutputChunk::default()
        };
        let taken = lock(outlet).take(chunk);
        match taken {
            Ok(()) => true,
            Err(error) => {
                let _heard = queue.blocking_send(Item::Unwritable(error)).is_ok();
                false
            }
        }
    })
}

fn lock(outlet: &SharedWriter) -> MutexGuard<'_, OutputWriter<File, Stderr>> {
    outlet.lock().unwrap_or_else(PoisonError::into_inner)
}
