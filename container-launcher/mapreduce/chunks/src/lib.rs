#![doc = include_str!("../README.md")]
//!
//! # The life of a chunk
//!
//! ```text
//!  read broker of the node ◀─ready, read, done── Tokens ◀──┐
//!            └────────── token ─────▶ I/O thread           │
//!                                        │ ChunkFile       │
//!  a task:   Free ─▶ Reading ─▶ Ready ─▶ Copying ─▶ Mapping ─▶ Free
//!            └ host buffers ┘            └ a stream a buffer of the device ┘
//! ```
//!
//! The thread that reads waits until the broker has granted a chunk. A stream copies a chunk, computes it and copies back what
//! came of it. A [`Device`] is what streams are of: [`ModelledDevice`] takes the time of a model, on this machine's clock, so
//! that engines can be tried with true threads, files and processes where no GPU is.
//!
//! Invariants: what happens to a buffer is decided by [`ChunkLine`], which is pure; a chunk is read once; an engine whose
//! broker is gone goes on with the next one; no stream waits for the broker.

#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
mod attempt;
mod buffer;
mod chunk;
mod clock;
mod device;
mod engine;
mod file;
#[cfg(any(feature = "cuda", feature = "opencl"))]
mod gpu;
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
mod input;
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
mod mapper;
mod modelled;
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
mod pairs;
mod pipes;
mod report;
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
mod segments;
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
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
pub use input::{ChunkInput, FilePiece};
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
pub use mapper::{ChunkMapper, Chunked};
pub use modelled::{Line, ModelledDevice, ModelledDisk, Overlap};
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
pub use pairs::{ByRemainder, PairKey, PairMapper, PairNumber, Paired};
pub use pipes::ChunkPipes;
pub use report::{ChunkTimes, Makespan, Resource};
#[cfg(all(feature = "mapreduce", any(feature = "cuda", feature = "opencl")))]
pub use segments::{ChunkReducer, SegmentKey, Segmented};
