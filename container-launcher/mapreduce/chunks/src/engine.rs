//! An engine: one thread that reads when it is granted a chunk, and streams that copy and compute.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gerbil_task::FromEngine;

use crate::tokens::{Introduction, Tokens, Told, connect, listen};
use crate::{
    BLOCK, ChunkBuffer, ChunkLine, ChunkSource, ChunkTimes, Device, Freed, Span, WrongChunk, now,
};

/// Most tasks of an engine.
pub const ENGINE_TASKS: usize = 8;
/// Buffers of a task, on the host and on the device.
pub const BUFFERS: usize = 2;
/// A stream that waits looks up this often.
const LOOK: Duration = Duration::from_millis(100);

/// What an engine is started with.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Where the read broker listens.
    pub broker: PathBuf,
    /// What its job is called.
    pub job: String,
    /// What the node calls its GPU.
    pub gpu: String,
    /// `shared`, `own` or a name.
    pub container: String,
    /// Of its job, 1 to 10.
    pub priority: u32,
    /// Bytes of a chunk, a multiple of [`BLOCK`].
    pub chunk: u64,
    /// When host buffers are free.
    pub freed: Freed,
}

/// What a task reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPiece {
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

impl TaskPiece {
    /// A file of so many bytes in pieces of whole chunks, as even as can be: the first ones have what is left over.
    #[must_use]
    pub fn even(bytes: u64, chunk: u64, tasks: u64) -> Vec<Self> {
        let chunks = bytes.div_ceil(chunk.max(1));
        let tasks = tasks.max(1);
        let mut offset = 0;
        let mut piece = |number| {
            let more = u64::from(number < chunks % tasks);
            let own = (chunks / tasks).saturating_add(more);
            let own = own.saturating_mul(chunk).min(bytes.saturating_sub(offset));
            let piece = Self { offset, bytes: own };
            offset = offset.saturating_add(own);
            piece
        };
        (0..tasks).map(&mut piece).collect()
    }
}

/// What an engine has done.
#[derive(Clone, Debug, Default)]
pub struct EngineResult {
    /// Each chunk, in the order in which they were done.
    pub chunks: Vec<ChunkTimes>,
    /// How often a broker was found.
    pub brokers: u32,
    /// What is worse than it should be: a sentence.
    pub degraded: Option<String>,
}

/// Why an engine ends.
#[derive(Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// Its settings make no sense.
    Settings(String),
    /// No broker answers.
    Broker {
        /// Where.
        socket: PathBuf,
        /// What happens instead.
        why: String,
    },
    /// The broker has parted with it.
    Refused(String),
    /// A chunk cannot be read.
    Read(io::Error),
    /// The device has failed, or has no room.
    Device(io::Error),
    /// There is no memory for buffers.
    Memory(io::Error),
    /// A chunk was granted for which there is no buffer.
    NoBuffer(u32),
    /// Buffers are not what they should be.
    Buffers(WrongChunk),
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settings(sentence) => f.write_str(sentence),
            Self::Broker { socket, why } => {
                write!(f, "no read broker answers on {}: {why}", socket.display())
            }
            Self::Refused(sentence) => {
                write!(f, "the read broker parts with this engine: {sentence}")
            }
            Self::Read(error) => write!(f, "a chunk cannot be read: {error}"),
            Self::Device(error) => write!(f, "the device: {error}"),
            Self::Memory(error) => write!(f, "no memory for the buffers of chunks: {error}"),
            Self::NoBuffer(task) => write!(
                f,
                "the read broker has granted a chunk of task {task}, which has no free buffer"
            ),
            Self::Buffers(wrong) => write!(f, "{wrong}"),
        }
    }
}

impl std::error::Error for EngineError {}

/// A task, and what its threads share.
struct EngineTask {
    number: u32,
    state: Mutex<TaskState>,
    /// A chunk is read, or all are done.
    changed: Condvar,
}

struct TaskState {
    line: ChunkLine,
    /// Those that nobody has taken; with what is known of their chunks.
    buffers: Vec<Option<ChunkBuffer>>,
    chunks: Vec<ChunkTimes>,
}

/// What all threads share.
struct EngineRun<'a> {
    settings: &'a EngineSettings,
    tasks: Vec<EngineTask>,
    /// Taken before a task's state.
    tokens: Mutex<Tokens>,
    result: Mutex<EngineResult>,
    failed: Mutex<Option<EngineError>>,
}

/// Has the engine fail whose thread of a stream panics, so that no other thread waits for it.
struct Alarm<'a>(&'a EngineRun<'a>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = io::Error::other("a thread of it has panicked");
            self.0.fails_with(Err(EngineError::Device(error)));
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads all `pieces`, a task each, and computes them on `device`.
///
/// # Errors
///
/// As [`EngineError`] tells.
pub fn run(
    settings: &EngineSettings,
    source: &dyn ChunkSource,
    pieces: &[TaskPiece],
    device: &dyn Device,
) -> Result<EngineResult, EngineError> {
    let chunk = check(settings, pieces)?;
    let count = pieces.len().saturating_mul(BUFFERS);
    let all = (0..count).map(|_| ChunkBuffer::new(chunk));
    let all: io::Result<Vec<ChunkBuffer>> = all.collect();
    let mut all = all.map_err(EngineError::Memory)?;
    let pinned = device.pin(&mut all);
    let mut all = all.into_iter();
    let mut tasks = Vec::new();
    for (number, piece) in (0..).zip(pieces) {
        let TaskPiece { offset, bytes } = *piece;
        let line = ChunkLine::new(settings.chunk, offset, bytes, BUFFERS, settings.freed);
        let buffers = all.by_ref().take(BUFFERS).map(Some).collect();
        tasks.push(EngineTask {
            number,
            state: Mutex::new(TaskState {
                line,
                buffers,
                chunks: vec![ChunkTimes::default(); BUFFERS],
            }),
            changed: Condvar::new(),
        });
    }
    let run = EngineRun {
        settings,
        tasks,
        tokens: Mutex::default(),
        result: Mutex::new(EngineResult {
            degraded: degraded(pinned),
            ..EngineResult::default()
        }),
        failed: Mutex::default(),
    };
    let (made, all_made) = sync_channel(1);
    std::thread::scope(|scope| {
        for task in &run.tasks {
            for _ in 0..BUFFERS {
                let (run, made) = (&run, made.clone());
                scope.spawn(move || {
                    let _alarm = Alarm(run);
                    run.fails_with(run.stream(task, device, chunk, made));
                });
            }
        }
        drop(made);
        // Nothing is sent: it returns when each thread has its stream, or has ended without.
        let _nothing = all_made.recv();
        run.fails_with(run.read_all(source));
    });
    match run
        .failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        Some(error) => Err(error),
        None => Ok(run
            .result
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)),
    }
}

/// What it means that memory was not pinned.
fn degraded(pinned: io::Result<()>) -> Option<String> {
    let why = pinned.err()?;
    Some(format!("degraded: copies do not overlap: {why}"))
}

/// Bytes of a chunk.
fn check(settings: &EngineSettings, pieces: &[TaskPiece]) -> Result<usize, EngineError> {
    let wrong = |sentence: String| Err(EngineError::Settings(sentence));
    let chunk = settings.chunk;
    if chunk == 0 || !chunk.is_multiple_of(BLOCK) {
        return wrong(format!(
            "chunk={chunk}: a multiple of {BLOCK} bytes is wanted"
        ));
    }
    if pieces.is_empty() || pieces.len() > ENGINE_TASKS {
        let tasks = pieces.len();
        return wrong(format!("gpu.tasks={tasks}: 1 to {ENGINE_TASKS} are wanted"));
    }
    match usize::try_from(chunk) {
        Ok(chunk) => Ok(chunk),
        Err(_) => wrong(format!("chunk={chunk}: more than this machine can address")),
    }
}

impl EngineRun<'_> {
    /// The first failure is the engine's.
    fn fails_with(&self, result: Result<(), EngineError>) {
        if let Err(error) = result {
            lock(&self.failed).get_or_insert(error);
        }
    }

    fn has_failed(&self) -> bool {
        lock(&self.failed).is_some()
    }

    fn reads_on(&self) -> bool {
        let mut tasks = self.tasks.iter();
        !self.has_failed() && tasks.any(|task| lock(&task.state).line.left() > 0)
    }

    /// The I/O thread.
    fn read_all(&self, source: &dyn ChunkSource) -> Result<(), EngineError> {
        let introduction = Introduction {
            socket: self.settings.broker.clone(),
            job: self.settings.job.clone(),
            gpu: self.settings.gpu.clone(),
            container: self.settings.container.clone(),
        };
        while self.reads_on() {
            let mut connection = connect(&introduction)?;
            let speaker = connection.speaker().map_err(EngineError::Memory)?;
            self.begin_with(speaker);
            lock(&self.result).brokers += 1;
            while self.reads_on() {
                match listen(&mut connection)? {
                    Told::Read { task, chunks } => {
                        for _ in 0..chunks {
                            self.read_one(source, task)?;
                        }
                    }
                    Told::Nothing => {}
                    Told::Gone => break,
                }
            }
        }
        Ok(())
    }

    /// Says everything to a new broker.
    fn begin_with(&self, speaker: gerbil_task::Connection) {
        let mut tokens = lock(&self.tokens);
        tokens.renew(speaker);
        for task in &self.tasks {
            let state = lock(&task.state);
            for _ in 0..state.line.free() {
                self.tell_ready(&mut tokens, task, &state.line);
            }
        }
    }

    fn tell_ready(&self, tokens: &mut Tokens, task: &EngineTask, line: &ChunkLine) {
        let settings = self.settings;
        if line.left() > 0 {
            tokens.ready(task.number, settings.chunk, line.left(), settings.priority);
        }
    }

    fn read_one(&self, source: &dyn ChunkSource, number: u32) -> Result<(), EngineError> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let no_buffer = || EngineError::NoBuffer(number);
        let task = self.tasks.get(at).ok_or_else(no_buffer)?;
        let (chunk, mut buffer) = {
            let mut state = lock(&task.state);
            let chunk = state.line.begin_read().ok_or_else(no_buffer)?;
            let buffer = state.buffers.get_mut(chunk.buffer);
            let buffer = buffer.and_then(Option::take).ok_or_else(no_buffer)?;
            (chunk, buffer)
        };
        let begin = now();
        source
            .read(chunk.offset, chunk.bytes, buffer.bytes_mut())
            .map_err(EngineError::Read)?;
        let span = Span { begin, end: now() };
        // The token first: another engine waits for it.
        lock(&self.tokens).of_task(number, &FromEngine::Read { task: number });
        let mut state = lock(&task.state);
        if let Some(place) = state.buffers.get_mut(chunk.buffer) {
            *place = Some(buffer);
        }
        if let Some(place) = state.chunks.get_mut(chunk.buffer) {
            *place = ChunkTimes {
                task: number,
                offset: chunk.offset,
                bytes: chunk.bytes,
                io: span,
                ..ChunkTimes::default()
            };
        }
        state
            .line
            .read(chunk.buffer)
            .map_err(EngineError::Buffers)?;
        drop(state);
        task.changed.notify_one();
        Ok(())
    }

    /// A thread of a stream; when all are made the first chunk is read.
    fn stream(
        &self,
        task: &EngineTask,
        device: &dyn Device,
        room: usize,
        made: SyncSender<()>,
    ) -> Result<(), EngineError> {
        let mut stream = device.stream(room).map_err(EngineError::Device)?;
        drop(made);
        while let Some((place, mut times, buffer)) = self.take(task) {
            let chunk = usize::try_from(times.bytes).unwrap_or(usize::MAX);
            let chunk = buffer.bytes().get(..chunk).unwrap_or_default();
            let copied = stream.copy(times.offset, chunk);
            times.h2d = copied.map_err(EngineError::Device)?;
            self.step(task, |state| {
                if let Some(own) = state.buffers.get_mut(place) {
                    *own = Some(buffer);
                }
                state.line.copied(place)
            })?;
            times.kernel = stream.map().map_err(EngineError::Device)?;
            times.d2h = stream.copy_back().map_err(EngineError::Device)?;
            let number = task.number;
            let done = FromEngine::Done {
                task: number,
                bytes: times.bytes,
                io: times.io.length(),
                h2d: times.h2d.length(),
                kernel: times.kernel.length(),
                d2h: times.d2h.length(),
            };
            lock(&self.tokens).of_task(number, &done);
            let is_last = self.step(task, |state| state.line.mapped(place))?;
            lock(&self.result).chunks.push(times);
            if is_last {
                let ended = FromEngine::Ended { task: number };
                lock(&self.tokens).of_task(number, &ended);
            }
        }
        // The other stream of the task waits for nothing more.
        task.changed.notify_all();
        Ok(())
    }

    /// A step of a chunk, by which its host buffer may be free; whether the task is done.
    fn step(
        &self,
        task: &EngineTask,
        step: impl FnOnce(&mut TaskState) -> Result<bool, WrongChunk>,
    ) -> Result<bool, EngineError> {
        let mut tokens = lock(&self.tokens);
        let mut state = lock(&task.state);
        if step(&mut state).map_err(EngineError::Buffers)? {
            self.tell_ready(&mut tokens, task, &state.line);
        }
        Ok(state.line.is_done())
    }

    /// The next chunk that is read; `None`: there is none any more.
    fn take(&self, task: &EngineTask) -> Option<(usize, ChunkTimes, ChunkBuffer)> {
        let mut state = lock(&task.state);
        loop {
            if let Some(place) = state.line.begin_copy() {
                let times = state.chunks.get(place).copied()?;
                let buffer = state.buffers.get_mut(place)?.take()?;
                return Some((place, times, buffer));
            }
            if state.line.is_done() || self.has_failed() {
                return None;
            }
            let waited = task.changed.wait_timeout(state, LOOK);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_cut_into_whole_chunks() {
        let pieces = TaskPiece::even(10_000, 4096, 2);
        let found: Vec<(u64, u64)> = pieces.iter().map(|p| (p.offset, p.bytes)).collect();
        assert_eq!(found, [(0, 8192), (8192, 1808)]);
        assert_eq!(TaskPiece::even(100, 4096, 3)[1].bytes, 0);
    }
}
