//! Chunks as the maps of a job: each attempt is an engine, whose kernel computes the attempt's split.
//!
//! The attempts of a node read in the order of its read broker: the launcher's where `GERBIL_READ_BROKER` names one. In a run on
//! one machine each attempt brings a broker along, of which one serves and the next takes over when its attempt ends.

use std::io;
use std::path::PathBuf;

use gerbil_gpu::Grid;
use gerbil_mapreduce::{
    Emit, Error, ErrorContext as _, Handle, Key, Mapper, Result, Settings, Value,
};
use gerbil_task::settings::{OPENCL_PROCESSORS, READ_ORDER};
use gerbil_task::{DEVICE_TURNS_VARIABLE, DEVICES_VARIABLE, READ_BROKER_VARIABLE};
use read_broker::{Broker, BrokerSettings, IO_TIMEOUT};

use crate::input::{CHUNK_SETTING, PieceSource, chunk};
use crate::{
    ChunkInput, ChunkKernel, ENGINE_TASKS, EngineError, EngineSettings, FilePiece, Freed,
    GpuDevice, Makespan, Overlap, run,
};

/// Tasks of an engine.
const TASKS_SETTING: &str = "gpu.tasks";
const TASKS: usize = 2;
/// When a host buffer is free: `copy` or `kernel`.
const BUFFER_SETTING: &str = "gpu.buffer";
/// In which order chunks are read where nothing is said.
const ORDER: &str = "spmario";
/// Where tasks of a node take turns where nothing is said.
const FOLDER: &str = "/dev/shm/gerbil-turns";

/// A mapper whose input a device computes, a chunk at a time.
///
/// What kernels make is handed to [`emit`](ChunkKernel::emit), by the threads of all streams in whatever order chunks are
/// done. For a job whose output is the same each time [`finish`](Self::finish) must not depend on that order.
pub trait ChunkMapper: ChunkKernel + Sized + 'static {
    /// The keys that are emitted.
    type Key: Key;
    /// The values that are emitted.
    type Value: Value;

    /// Bytes of a record: chunks, and so splits, have whole ones.
    const RECORD: u64;

    /// Called once, when all chunks of the map are computed.
    ///
    /// # Errors
    /// The user's own, and those of `out`.
    fn finish(&mut self, out: &mut Emit<'_, Chunked<Self>>) -> Result<()>;
}

/// The [`Mapper`] that a [`ChunkMapper`] is: `Job::new(…).map(|| Chunked(Mine::default()))`.
#[derive(Debug)]
pub struct Chunked<M>(pub M);

/// Each chunk is a sign of life of the attempt, and progress.
struct AliveKernel<'a, M> {
    kernel: &'a M,
    attempt: Handle,
    source: &'a PieceSource,
}

// SAFETY: it is the kernel that it holds.
#[expect(unsafe_code, reason = "nobody checks what a kernel does")]
unsafe impl<M: ChunkKernel> ChunkKernel for AliveKernel<'_, M> {
    fn source(&self) -> String {
        self.kernel.source()
    }

    fn name(&self) -> &str {
        self.kernel.name()
    }

    fn constants(&self) -> &[f32] {
        self.kernel.constants()
    }

    fn words(&self, bytes: u64) -> usize {
        self.kernel.words(bytes)
    }

    fn grid(&self, bytes: u64) -> io::Result<Grid> {
        self.kernel.grid(bytes)
    }

    fn emit(&self, offset: u64, bytes: u64, words: &[u32]) -> io::Result<()> {
        self.source.count(bytes);
        self.attempt.progress();
        self.kernel.emit(offset, bytes, words)
    }
}

/// The device of this process: as its maker's library names it, and as the whole node does.
fn device() -> (String, String) {
    let devices = std::env::var(DEVICES_VARIABLE).unwrap_or_default();
    let first = devices.split(',').next().unwrap_or_default();
    let (name, key) = first.split_once('@').unwrap_or((first, first));
    match name.is_empty() {
        true => ("0".to_owned(), "gpu0".to_owned()),
        false => (name.to_owned(), key.to_owned()),
    }
}

/// The socket of the broker; and the broker, where the attempt has to bring one along.
fn broker(settings: &Settings, key: &str) -> Result<(PathBuf, Option<Broker>)> {
    if let Some(socket) = std::env::var_os(READ_BROKER_VARIABLE) {
        return Ok((socket.into(), None));
    }
    let folder = std::env::var_os(DEVICE_TURNS_VARIABLE);
    let order = settings.get(READ_ORDER).unwrap_or(ORDER);
    let own = Broker::start(
        BrokerSettings {
            folder: folder.map_or_else(|| FOLDER.into(), PathBuf::from),
            key: key.to_owned(),
            order: order.to_owned(),
            io_timeout: IO_TIMEOUT,
        },
        |_hung| (),
        |_sentence| (),
    );
    let own = own.context(|| format!("{READ_ORDER} is {order:?}"))?;
    Ok((own.socket().to_owned(), Some(own)))
}

/// Why an attempt's engine has ended: on a cluster one without a device is tried where there is one.
fn ended(error: EngineError) -> Error {
    let said = match &error {
        EngineError::Device(error) => error.get_ref(),
        _ => None,
    };
    let said = said.and_then(|error| error.downcast_ref::<gerbil_gpu::Error>());
    let sentence = error.to_string();
    match said.is_some_and(gerbil_gpu::Error::is_no_device) {
        true => Error::no_device(sentence),
        false => Error::new(sentence),
    }
}

impl<M: ChunkMapper> Mapper for Chunked<M> {
    type Input = ChunkInput;
    type Key = M::Key;
    type Value = M::Value;

    const NEED: Option<&'static str> = Some("gpu");

    fn map(&mut self, _offset: u64, piece: &FilePiece, out: &mut Emit<'_, Self>) -> Result<()> {
        let settings = out.settings();
        let chunk = chunk(settings)?;
        if !chunk.is_multiple_of(M::RECORD.max(1)) {
            let record = M::RECORD;
            return Err(Error::new(format!(
                "{CHUNK_SETTING}={chunk}: a multiple of {record} bytes, a record of the kernel {}, is wanted",
                self.0.name()
            )));
        }
        let freed = match settings.get(BUFFER_SETTING) {
            None | Some("copy") => Freed::Copy,
            Some("kernel") => Freed::Kernel,
            Some(other) => {
                return Err(Error::new(format!(
                    "{BUFFER_SETTING}={other}: copy or kernel is wanted"
                )));
            }
        };
        let tasks = settings.parse_if(TASKS_SETTING)?.unwrap_or(TASKS);
        if !(1..=ENGINE_TASKS).contains(&tasks) {
            return Err(Error::new(format!(
                "{TASKS_SETTING}={tasks}: 1 to {ENGINE_TASKS} are wanted"
            )));
        }
        let tasks = u64::try_from(tasks)?;
        let processors = settings.parse_if(OPENCL_PROCESSORS)?.unwrap_or(false);
        let (name, key) = device();
        let (socket, own) = broker(settings, &key)?;
        let engine = EngineSettings {
            broker: socket,
            job: self.0.name().to_owned(),
            gpu: key,
            container: "shared".to_owned(),
            priority: 1,
            chunk,
            freed,
        };
        let pieces = piece.tasks(chunk, tasks);
        let source = piece.open(&pieces)?;
        let kernel = AliveKernel {
            kernel: &self.0,
            attempt: out.handle(),
            source: &source,
        };
        let device = GpuDevice {
            name: &name,
            processors,
            kernel: &kernel,
        };
        let done = run(&engine, &source, &pieces, &device);
        drop(own);
        let done = done.map_err(ended)?;
        let (from, how) = source.told();
        let makespan = Makespan::of(&done.chunks, Overlap::Overlap).read_from(from);
        for (counter, count) in makespan.counters() {
            out.count("gpu", counter, count);
        }
        out.status(&format!("{makespan}; {how}"))
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        self.0.finish(out)
    }
}
