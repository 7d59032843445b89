//! Output on its way from the launchers to whoever takes it, and input on its way back.
//!
//! Both are bounded queues with one taker. While nobody takes the output the launchers' streams
//! stand still, and so do the ranks that write: nothing is lost and nothing grows.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use job::wire;
use tokio::sync::mpsc;

/// Chunks of output under way inside the AM: with [`job::CHUNK_MAX`] at most 1 MiB.
const OUTPUT_QUEUE: usize = 16;
/// Chunks of input under way inside the AM.
const INPUT_QUEUE: usize = 4;

/// Both queues.
#[derive(Debug)]
pub(crate) struct Console {
    /// Given to each launcher's output stream. Taken away at the end, so that the queue ends with
    /// the last stream.
    output: Mutex<Option<mpsc::Sender<wire::OutputChunk>>>,
    /// Tells whether any stream still holds one.
    streams: mpsc::WeakSender<wire::OutputChunk>,
    handed_over: AtomicBool,
    output_taker: Mutex<Option<mpsc::Receiver<wire::OutputChunk>>>,
    input: Mutex<Option<mpsc::Sender<wire::InputChunk>>>,
    input_taker: Mutex<Option<mpsc::Receiver<wire::InputChunk>>>,
}

impl Console {
    pub(crate) fn new() -> Self {
        let (output, output_taker) = mpsc::channel(OUTPUT_QUEUE);
        let (input, input_taker) = mpsc::channel(INPUT_QUEUE);
        Self {
            streams: output.downgrade(),
            handed_over: AtomicBool::new(false),
            output: Mutex::new(Some(output)),
            output_taker: Mutex::new(Some(output_taker)),
            input: Mutex::new(Some(input)),
            input_taker: Mutex::new(Some(input_taker)),
        }
    }

    /// Where a launcher's output goes; `None` once the job is closed.
    pub(crate) fn output(&self) -> Option<mpsc::Sender<wire::OutputChunk>> {
        lock(&self.output).clone()
    }

    /// No further launcher will bring output.
    pub(crate) fn close(&self) {
        lock(&self.output).take();
    }

    /// Whether, after [`Console::close`], every stream has brought its last byte.
    pub(crate) fn is_closed(&self) -> bool {
        self.streams.upgrade().is_none()
    }

    /// Whether output waits for its taker.
    pub(crate) fn is_backed_up(&self) -> bool {
        let streams = self.streams.upgrade();
        streams.is_some_and(|queue| queue.capacity() < queue.max_capacity())
    }

    /// Noted by whoever took the output, when it has handed on the last of it.
    pub(crate) fn handed_over(&self) {
        self.handed_over.store(true, Ordering::Release);
    }

    /// Whether the last byte has left this process, or will never.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_closed() && self.handed_over.load(Ordering::Acquire)
    }

    /// The reading end, for the first who asks.
    pub(crate) fn take_output(&self) -> Option<mpsc::Receiver<wire::OutputChunk>> {
        lock(&self.output_taker).take()
    }

    /// Where the client's input goes, for the first who asks.
    pub(crate) fn input(&self) -> Option<mpsc::Sender<wire::InputChunk>> {
        lock(&self.input).take()
    }

    /// Input begins again, for another run: what is still under way has no reader any more.
    pub(crate) fn renew_input(&self) {
        let (input, input_taker) = mpsc::channel(INPUT_QUEUE);
        *lock(&self.input) = Some(input);
        *lock(&self.input_taker) = Some(input_taker);
    }

    /// What the launcher of rank 0 reads, for the first who asks.
    pub(crate) fn take_input(&self) -> Option<mpsc::Receiver<wire::InputChunk>> {
        lock(&self.input_taker).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing in here panics while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes output into this container's own log files, for a job that no client could reach.
pub(crate) async fn write_to_log(
    mut output: mpsc::Receiver<wire::OutputChunk>,
    console: Arc<Console>,
) {
    while let Some(chunk) = output.recv().await {
        let written = match chunk.stream() {
            wire::Stream::Stdout => std::io::stdout().write_all(&chunk.data),
            wire::Stream::Stderr => std::io::stderr().write_all(&chunk.data),
        };
        if let Err(error) = written {
            tracing::warn!(
                "cannot write output of rank {} to the log: {error}",
                chunk.rank
            );
        }
    }
    console.handed_over();
}
