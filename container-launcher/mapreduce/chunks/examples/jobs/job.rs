//! What the three jobs have in common.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use gerbil_chunks::{
    ChunkFile, ChunkKernel, EngineResult, EngineSettings, Freed, GpuDevice, IoMode, Line,
    ModelledDisk, TaskPiece,
};

use crate::{kmc::Kmc, lr::Lr, mm::Mm};

/// Written and checked at a time, bytes: of whole chunks of every job.
const PIECE: u64 = 1 << 20;

/// A job, its input, and what it should find there.
pub(crate) trait Job: ChunkKernel {
    /// Bytes of its chunks, where so many are wanted.
    fn chunk_of(&self, bytes: u64) -> u64;

    /// `count` bytes of its input, from `offset` on, both multiples of 16.
    fn input(&self, offset: u64, count: u64) -> Vec<u8>;

    /// Compares what kernels have made with what the processor makes of the same input.
    ///
    /// # Errors
    ///
    /// They differ, or the input cannot be read.
    fn check(&self, input: &mut dyn Iterator<Item = io::Result<Vec<u8>>>) -> io::Result<()>;
}

/// The job of that name, with so many centres if it has any.
pub(crate) fn named(name: &str, centres: u64) -> Option<Box<dyn Job>> {
    match name {
        "kmc" => Some(Box::new(Kmc::new(centres))),
        "lr" => Some(Box::<Lr>::default()),
        "mm" => Some(Box::<Mm>::default()),
        _ => None,
    }
}

/// Writes `bytes` of a job's input.
pub(crate) fn write(job: &dyn Job, path: &Path, bytes: u64) -> io::Result<File> {
    let mut file = File::create(path)?;
    let mut offset = 0;
    while offset < bytes {
        let count = PIECE.min(bytes - offset);
        file.write_all(&job.input(offset, count))?;
        offset += count;
    }
    file.sync_all()?;
    File::open(path)
}

/// A job that is about to run.
pub(crate) struct JobRun<'a> {
    pub(crate) job: &'a dyn Job,
    pub(crate) input: &'a File,
    pub(crate) bytes: u64,
    pub(crate) broker: &'a Path,
    /// Bytes.
    pub(crate) chunk: u64,
    pub(crate) tasks: u64,
    pub(crate) device: &'a str,
    /// Bytes a second, and the file that all who read from this disk share; without it as fast as it reads.
    pub(crate) disk: Option<(u64, &'a Path)>,
    /// Whether what comes out is compared.
    pub(crate) checked: bool,
}

/// Computes all of it, and compares.
pub(crate) fn run(
    run: &JobRun<'_>,
) -> Result<EngineResult, Box<dyn std::error::Error + Send + Sync>> {
    let JobRun { job, bytes, .. } = *run;
    let chunk = job.chunk_of(run.chunk);
    let settings = EngineSettings {
        broker: run.broker.to_owned(),
        job: job.name().to_owned(),
        gpu: "gpu0".to_owned(),
        container: "shared".to_owned(),
        priority: 1,
        chunk,
        freed: Freed::Copy,
    };
    let source = ChunkFile::new(run.input, IoMode::Direct)?;
    let device = GpuDevice {
        name: run.device,
        processors: true,
        kernel: job,
    };
    let pieces = TaskPiece::even(bytes, chunk, run.tasks);
    let result = match run.disk {
        None => gerbil_chunks::run(&settings, &source, &pieces, &device)?,
        Some((rate, line)) => {
            let line = Line::open(line)?;
            let slow = ModelledDisk { source, line, rate };
            gerbil_chunks::run(&settings, &slow, &pieces, &device)?
        }
    };
    if !run.checked {
        return Ok(result);
    }
    let offsets = (0..bytes.div_ceil(PIECE)).map(|number| number * PIECE);
    let mut input = offsets.map(|offset| {
        let count = PIECE.min(bytes - offset);
        let mut piece = vec![0; usize::try_from(count).map_err(io::Error::other)?];
        run.input.read_exact_at(&mut piece, offset)?;
        Ok(piece)
    });
    job.check(&mut input)?;
    Ok(result)
}

/// Refuses a sum of floats that is off by more than 1e-5 of it.
pub(crate) fn far(what: &str, found: f64, wanted: f64) -> io::Result<()> {
    match (found - wanted).abs() <= wanted.abs() * 1e-5 {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{what} is {found}, and should be {wanted}"
        ))),
    }
}
