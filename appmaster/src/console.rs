//! Output of one job on its way from the launchers to whoever takes it, and input on its way back.
//!
//! Both are bounded queues with one taker. While nobody takes the output the launchers' streams
//! stand still, and so do the ranks that write: nothing is lost and nothing grows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use job::JobId;
use job::sequence::Incoming;
use job::wire;
use policy::ContainerId;
use tokio::sync::mpsc;

use crate::ended_streams::EndedStreams;
use crate::output_ends::OutputEnds;

/// Chunks of output under way inside the AM: with [`job::CHUNK_MAX`] at most 1 MiB.
const OUTPUT_QUEUE: usize = 16;
/// Chunks of input under way inside the AM.
const INPUT_QUEUE: usize = 4;

/// Both queues, and what is known of who fills them.
#[derive(Debug)]
pub(crate) struct Console {
    /// Made for the first who uses one: they are some kilobytes, and thousands of jobs may wait.
    queues: OnceLock<Queues>,
    ends: Mutex<OutputEnds>,
    job: JobId,
    /// Hears when a stream, a launcher's call or all output has come to its end.
    ended_streams: Arc<EndedStreams>,
    handed_over: AtomicBool,
    /// Streams whose output goes by a lane.
    lanes: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Queues {
    /// Borrowed for each chunk that a launcher brings. Taken away at the end, so that the queue ends.
    output: Mutex<Option<mpsc::Sender<wire::OutputChunk>>>,
    /// Tells whether anybody still holds one.
    streams: mpsc::WeakSender<wire::OutputChunk>,
    output_taker: Mutex<Option<mpsc::Receiver<wire::OutputChunk>>>,
    input: Mutex<Option<mpsc::Sender<wire::InputChunk>>>,
    input_taker: Mutex<Option<mpsc::Receiver<wire::InputChunk>>>,
}

impl Queues {
    fn new() -> Self {
        let (output, output_taker) = mpsc::channel(OUTPUT_QUEUE);
        let (input, input_taker) = mpsc::channel(INPUT_QUEUE);
        Self {
            streams: output.downgrade(),
            output: Mutex::new(Some(output)),
            output_taker: Mutex::new(Some(output_taker)),
            input: Mutex::new(Some(input)),
            input_taker: Mutex::new(Some(input_taker)),
        }
    }
}

impl Console {
    /// Of this job; `ended_streams` hears of the ends of its streams.
    pub(crate) fn new(job: JobId, ended_streams: Arc<EndedStreams>) -> Self {
        Self {
            queues: OnceLock::new(),
            ends: Mutex::default(),
            job,
            ended_streams,
            handed_over: AtomicBool::new(false),
            lanes: Arc::default(),
        }
    }

    fn queues(&self) -> &Queues {
        self.queues.get_or_init(Queues::new)
    }

    /// Where a chunk goes; `None` once the job is closed. Not to be kept: the queue would not end.
    fn output(&self) -> Option<mpsc::Sender<wire::OutputChunk>> {
        lock(&self.queues().output).clone()
    }

    /// Whether each of `launchers` has ended as many streams of `run` as it has begun.
    pub(crate) fn has_all(&self, run: u32, launchers: &BTreeMap<ContainerId, u64>) -> bool {
        lock(&self.ends).are_all(run, launchers)
    }

    /// A launcher is to have a share of the job, and has none.
    pub(crate) fn expect(&self, container: &ContainerId) {
        lock(&self.ends).expect(container);
    }

    /// No further output is taken.
    pub(crate) fn close(&self) {
        lock(&self.queues().output).take();
    }

    /// Whether, after [`Console::close`], all that was brought has been taken over.
    pub(crate) fn is_closed(&self) -> bool {
        self.queues().streams.upgrade().is_none()
    }

    /// Whether output waits for its taker, here or in a lane.
    pub(crate) fn is_backed_up(&self) -> bool {
        let streams = self.queues().streams.upgrade();
        let waits = streams.is_some_and(|queue| queue.capacity() < queue.max_capacity());
        waits || self.lanes.load(Ordering::Acquire) > 0
    }

    /// For one launcher's output.
    fn lanes(&self) -> LauncherLanes {
        LauncherLanes {
            all: Arc::clone(&self.lanes),
            own: BTreeSet::new(),
        }
    }

    /// Noted by whoever took the output, when it has handed on the last of it.
    pub(crate) fn handed_over(&self) {
        self.handed_over.store(true, Ordering::Release);
        self.ended_streams.tell(self.job);
    }

    /// Whether the last byte has left this process, or will never.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_closed() && self.handed_over.load(Ordering::Acquire)
    }

    /// The reading end, for the first who asks.
    pub(crate) fn take_output(&self) -> Option<mpsc::Receiver<wire::OutputChunk>> {
        lock(&self.queues().output_taker).take()
    }

    /// Where the client's input goes, for the first who asks.
    pub(crate) fn input(&self) -> Option<mpsc::Sender<wire::InputChunk>> {
        lock(&self.queues().input).take()
    }

    /// Whether somebody may give input, since nobody does and rank 0 has not been given all of it.
    pub(crate) fn has_input(&self) -> bool {
        lock(&self.queues().input).is_some()
    }

    /// Input that has broken off: rank 0 sees no end of it, and another may give the rest. Where another run has begun
    /// its input is another one.
    pub(crate) fn keep_input(&self, broken: mpsc::Sender<wire::InputChunk>) {
        if !broken.is_closed() {
            lock(&self.queues().input).get_or_insert(broken);
        }
    }

    /// Input begins again, for another run: what is still under way has no reader any more.
    pub(crate) fn renew_input(&self) {
        let (input, input_taker) = mpsc::channel(INPUT_QUEUE);
        *lock(&self.queues().input) = Some(input);
        *lock(&self.queues().input_taker) = Some(input_taker);
    }
}

impl Console {
    /// A launcher begins to bring its output; `None`: none is taken any more.
    pub(crate) fn open(
        self: Arc<Self>,
        container: ContainerId,
    ) -> Option<Box<dyn holding::Bringing>> {
        self.output()?;
        let number = lock(&self.ends).open(&container);
        Some(Box::new(Bringing {
            container,
            number,
            lanes: self.lanes(),
            incoming: Incoming::default(),
            console: self,
        }))
    }

    /// What the launcher of rank 0 reads.
    pub(crate) fn take_input(&self) -> Option<mpsc::Receiver<wire::InputChunk>> {
        lock(&self.queues().input_taker).take()
    }
}

/// The output of one launcher, until it is over.
#[derive(Debug)]
struct Bringing {
    container: ContainerId,
    /// Of its launcher's calls.
    number: u32,
    lanes: LauncherLanes,
    incoming: Incoming,
    console: Arc<Console>,
}

#[tonic::async_trait]
impl holding::Bringing for Bringing {
    fn taken(&self) -> u64 {
        self.incoming.taken()
    }

    fn is_new(&self, number: u64) -> bool {
        self.incoming.is_new(number) == Ok(true)
    }

    /// Where nobody takes output any more it is dropped, so that the ranks can end.
    async fn take(&mut self, number: u64, chunk: wire::OutputChunk) {
        self.incoming.took(number);
        let (run, is_end) = (chunk.run, chunk.end);
        let is_mark = self.lanes.hear(&chunk) || chunk.lost;
        // Of a stream that ends without a word the client need not hear.
        if (is_mark || !chunk.data.is_empty())
            && let Some(output) = self.console.output()
        {
            let _taken = output.send(chunk).await.is_ok();
        }
        if is_end {
            lock(&self.console.ends).hear(&self.container, self.number, run);
            self.console.ended_streams.tell(self.console.job);
        }
    }
}

impl Drop for Bringing {
    fn drop(&mut self) {
        lock(&self.console.ends).close(&self.container, self.number);
        self.console.ended_streams.tell(self.console.job);
    }
}

/// Which streams of one launcher go by a lane.
#[derive(Debug)]
struct LauncherLanes {
    all: Arc<AtomicUsize>,
    /// By rank and stream.
    own: BTreeSet<(u32, i32)>,
}

impl LauncherLanes {
    /// A lane begins with a chunk that says so, and is over with the next one of its stream. Whether this
    /// is such a chunk.
    fn hear(&mut self, chunk: &wire::OutputChunk) -> bool {
        let stream = (chunk.rank, chunk.stream);
        if chunk.lane != 0 {
            if self.own.insert(stream) {
                self.all.fetch_add(1, Ordering::AcqRel);
            }
            return true;
        }
        let is_over = self.own.remove(&stream);
        if is_over {
            self.all.fetch_sub(1, Ordering::AcqRel);
        }
        is_over
    }
}

impl Drop for LauncherLanes {
    /// The launcher is gone, or has brought its last byte.
    fn drop(&mut self) {
        self.all.fetch_sub(self.own.len(), Ordering::AcqRel);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(rank: u32, lane: u64) -> wire::OutputChunk {
        wire::OutputChunk {
            rank,
            lane,
            ..wire::OutputChunk::default()
        }
    }

    #[test]
    fn a_lane_holds_the_output_up_until_its_stream_comes_back() {
        let console = Console::new(JobId(1), Arc::default());
        let (mut one, mut other) = (console.lanes(), console.lanes());
        for _again in 0..2 {
            one.hear(&chunk(0, 7));
        }
        one.hear(&chunk(1, 0));
        other.hear(&chunk(2, 9));
        assert!(console.is_backed_up());
        one.hear(&chunk(0, 0));
        assert!(console.is_backed_up());
        // Its launcher is lost.
        drop(other);
        assert!(!console.is_backed_up());
    }
}
