//! The program's output on its way to our own, and our input on its way to rank 0.
//!
//! Both ends block in threads of their own, behind short queues: a terminal that stands still
//! stops the reading from the ApplicationMaster, and in the end the rank that writes.

mod input;
mod mpi_io;
mod output;

pub(crate) use input::input;
pub use input::{InputSource, StandardInput};
pub(crate) use output::{OutputChunks, OutputEnd, Wide, output};
