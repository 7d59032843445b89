//! Chunks as the maps of a job: each attempt is an engine, whose kernel computes the attempt's split.

use gerbil_mapreduce::{Context, Emit, Key, Mapper, Result, Value};

use crate::attempt::{Attempt, ended};
use crate::{ChunkInput, ChunkKernel, FilePiece};

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

    /// Called once before the first chunk.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// Called once, when all chunks of the map are computed.
    ///
    /// # Errors
    /// The user's own, and those of `out`.
    fn finish(&mut self, out: &mut Emit<'_, Chunked<Self>>) -> Result<()>;
}

/// The [`Mapper`] that a [`ChunkMapper`] is: `Job::new(…).map(|| Chunked(Mine::default()))`.
#[derive(Debug)]
pub struct Chunked<M>(pub M);

impl<M: ChunkMapper> Mapper for Chunked<M> {
    type Input = ChunkInput;
    type Key = M::Key;
    type Value = M::Value;

    const NEED: Option<&'static str> = Some("gpu");

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.0.setup(context)
    }

    fn map(&mut self, _offset: u64, piece: &FilePiece, out: &mut Emit<'_, Self>) -> Result<()> {
        let attempt = Attempt::new(self.0.name(), M::RECORD, piece, out)?;
        let done = attempt.run(&self.0).map_err(ended)?;
        attempt.tell(&done, out)
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        self.0.finish(out)
    }
}
