//! Feeds a device with chunks of files that are far larger than its memory: reading, copying and computing overlap.
//!
//! Source: Y. Liu, H.-W. Tseng, S. Swanson, "SPMario: Scale Up MapReduce with I/O-Oriented Scheduling for the GPU", §III.
//!
//! ```text
//!  read broker of the node ◀─ready, read, done── Tokens ◀──┐
//!            └────────── token ─────▶ I/O thread           │
//!                                        │ ChunkFile       │
//!  a task:   Free ─▶ Reading ─▶ Ready ─▶ Copying ─▶ Mapping ─▶ Free
//!            └ host buffers ┘            └ a stream a buffer of the device ┘
//! ```
//!
//! An engine ([`run`]) is a process with one to eight tasks ([`ENGINE_TASKS`]). One thread reads for all of them, when the
//! broker has granted a chunk; each task has two host buffers and two streams, which copy a chunk and compute it. A
//! [`Device`] is what streams are of: [`ModelledDevice`] takes the time of a model, on this machine's clock, so that
//! engines can be tried with true threads, files and processes where no GPU is.
//!
//! Invariants: what happens to a buffer is decided by [`ChunkLine`], which is pure; a chunk is read once; an engine whose
//! broker is gone goes on with the next one; no stream waits for the broker.

mod buffer;
mod chunk;
mod clock;
mod device;
mod engine;
mod file;
#[cfg(any(feature = "cuda", feature = "opencl"))]
mod gpu;
mod modelled;
mod report;
mod tokens;

pub use buffer::ChunkBuffer;
pub use chunk::{ChunkLine, ChunkState, Freed, WrongChunk};
pub use clock::{Span, now};
pub use device::{Device, Stream};
pub use engine::{
    BUFFERS, ENGINE_TASKS, EngineError, EngineResult, EngineSettings, TaskPiece, run,
};
pub use file::{BLOCK, ChunkFile, ChunkSource, IoMode};
#[cfg(any(feature = "cuda", feature = "opencl"))]
pub use gpu::{ChunkKernel, GpuDevice};
pub use modelled::{Line, ModelledDevice, ModelledDisk, Overlap};
pub use report::{ChunkTimes, Makespan, Resource};
