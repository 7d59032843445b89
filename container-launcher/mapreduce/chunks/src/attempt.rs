//! The engine of a map's attempt, as the job's settings have it.
//!
//! The attempts of a node read in the order of its read broker: the launcher's where `GERBIL_READ_BROKER` names one. In a run on
//! one machine each attempt brings a broker along, of which one serves and the next takes over when its attempt ends.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use gerbil_gpu::Grid;
use gerbil_mapreduce::{Context, Error, ErrorContext as _, Handle, Result, Settings};
use gerbil_task::settings::{OPENCL_PROCESSORS, READ_ORDER, READ_TIMEOUT};
use gerbil_task::{DEVICE_TURNS_VARIABLE, DEVICES_VARIABLE, READ_BROKER_VARIABLE};
use read_broker::{Broker, BrokerSettings, IO_TIMEOUT};

use crate::input::{CHUNK_SETTING, PieceSource, chunk, io_mode};
use crate::{
    BUFFERS, ChunkKernel, ENGINE_TASKS, EngineError, EngineResult, EngineSettings, FilePiece,
    Freed, GpuDevice, Makespan, Overlap, TaskPiece, run,
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

/// An attempt that is ready to run its engine.
#[derive(Debug)]
pub(crate) struct Attempt {
    settings: EngineSettings,
    device: String,
    processors: bool,
    pieces: Vec<TaskPiece>,
    source: PieceSource,
    handle: Handle,
    /// In a run on one machine.
    _broker: Option<Broker>,
}

impl Attempt {
    /// Of the kernel `name`, whose records have so many bytes, on a piece of a file.
    pub(crate) fn new(
        name: &str,
        record: u64,
        piece: &FilePiece,
        context: &mut Context,
    ) -> Result<Self> {
        let handle = context.handle();
        let settings = context.settings();
        let chunk = chunk(settings)?;
        if !chunk.is_multiple_of(record.max(1)) {
            return Err(Error::new(format!(
                "{CHUNK_SETTING}={chunk}: a multiple of {record} bytes, a record of the kernel {name}, is wanted"
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
        let (device, key) = device();
        let (socket, own) = broker(settings, &key)?;
        let pieces = piece.tasks(chunk, u64::try_from(tasks)?);
        Ok(Self {
            settings: EngineSettings {
                broker: socket,
                job: name.to_owned(),
                gpu: key,
                container: "shared".to_owned(),
                priority: 1,
                chunk,
                freed,
            },
            device,
            processors: settings.parse_if(OPENCL_PROCESSORS)?.unwrap_or(false),
            source: piece.open(&pieces, io_mode(settings)?)?,
            pieces,
            handle,
            _broker: own,
        })
    }

    /// How many streams it has.
    pub(crate) fn streams(&self) -> usize {
        self.pieces.len().saturating_mul(BUFFERS)
    }

    /// Computes the piece.
    pub(crate) fn run(&self, kernel: &dyn ChunkKernel) -> Result<EngineResult, EngineError> {
        let kernel = AliveKernel {
            kernel,
            attempt: self,
        };
        let device = GpuDevice {
            name: &self.device,
            processors: self.processors,
            kernel: &kernel,
        };
        run(&self.settings, &self.source, &self.pieces, &device)
    }

    /// Says and counts what has become of the time.
    pub(crate) fn tell(&self, done: &EngineResult, context: &mut Context) -> Result<()> {
        let (from, how) = self.source.told();
        let makespan = Makespan::of(&done.chunks, Overlap::Overlap).read_from(from);
        for (counter, count) in makespan.counters() {
            context.count("gpu", counter, count);
        }
        let mut said = format!("{makespan}; {how}");
        if let Some(degraded) = &done.degraded {
            context.count("gpu", "DEGRADED", 1);
            said = format!("{said}; {degraded}");
        }
        context.status(&said)
    }
}

/// Each chunk is a sign of life of the attempt, and progress.
struct AliveKernel<'a> {
    kernel: &'a dyn ChunkKernel,
    attempt: &'a Attempt,
}

// SAFETY: it is the kernel that it holds.
#[expect(unsafe_code, reason = "nobody checks what a kernel does")]
unsafe impl ChunkKernel for AliveKernel<'_> {
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

    fn heading(&self, bytes: u64) -> Vec<u32> {
        self.kernel.heading(bytes)
    }

    fn made(&self, bytes: u64, heading: &[u32]) -> io::Result<usize> {
        self.kernel.made(bytes, heading)
    }

    fn grid(&self, bytes: u64) -> io::Result<Grid> {
        self.kernel.grid(bytes)
    }

    fn emit(&self, offset: u64, bytes: u64, words: &[u32]) -> io::Result<()> {
        self.attempt.source.count(bytes);
        self.attempt.handle.progress();
        self.kernel.emit(offset, bytes, words)
    }
}

/// The device of this process: as its maker's library names it, and as the whole node does.
pub(crate) fn device() -> (String, String) {
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
    let seconds = settings.parse_if(READ_TIMEOUT)?;
    if seconds == Some(0) {
        return Err(Error::new(format!(
            "{READ_TIMEOUT}=0: seconds above 0 are wanted"
        )));
    }
    let own = Broker::start(
        BrokerSettings {
            folder: folder.map_or_else(|| FOLDER.into(), PathBuf::from),
            key: key.to_owned(),
            order: order.to_owned(),
            io_timeout: seconds.map_or(IO_TIMEOUT, Duration::from_secs),
        },
        |_hung| (),
        |_sentence| (),
    );
    let own = own.context(|| format!("{READ_ORDER} is {order:?}"))?;
    Ok((own.socket().to_owned(), Some(own)))
}

/// Why an attempt's engine has ended.
pub(crate) fn ended(error: EngineError) -> Error {
    match error {
        EngineError::Device(error) => refused(error).context("the device"),
        error => Error::new(error.to_string()),
    }
}

/// What a device says: on a cluster an attempt without one is tried where there is one, and one that did not fit where one has
/// more memory.
pub(crate) fn refused(error: io::Error) -> Error {
    let said = error.get_ref();
    let said = said.and_then(|error| error.downcast_ref::<gerbil_gpu::Error>());
    let sentence = error.to_string();
    match said {
        Some(said) if said.is_no_device() => Error::no_device(sentence),
        Some(said) if said.is_no_room() => Error::no_room_for(
            sentence,
            format_args!("-D {CHUNK_SETTING} or -D {TASKS_SETTING}"),
        ),
        _ => Error::new(sentence),
    }
}
