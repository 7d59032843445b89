//! The pieces of files that an attempt's chunks are read from: files of the node, and of HDFS.

use std::io;

use gerbil_mapreduce::{
    Error, ErrorContext as _, Granule, InputFormat, Places, Result, Settings, Source, Stretch,
};

use crate::{BLOCK, ChunkFile, ChunkPipes, ChunkSource, IoMode, Resource, TaskPiece};

/// Bytes of a chunk.
pub(crate) const CHUNK_SETTING: &str = "gpu.chunk";
const CHUNK: u64 = 128 << 20;

/// How chunks of files are read.
const IO_SETTING: &str = "gpu.io";

pub(crate) fn io_mode(settings: &Settings) -> Result<IoMode> {
    match settings.get(IO_SETTING) {
        None | Some("direct") => Ok(IoMode::Direct),
        Some("buffered") => Ok(IoMode::Buffered),
        Some(other) => Err(Error::new(format!(
            "{IO_SETTING}={other}: direct or buffered is wanted"
        ))),
    }
}

pub(crate) fn chunk(settings: &Settings) -> Result<u64> {
    let chunk = settings.parse_if(CHUNK_SETTING)?.unwrap_or(CHUNK);
    match chunk > 0 && chunk.is_multiple_of(BLOCK) {
        true => Ok(chunk),
        false => Err(Error::new(format!(
            "{CHUNK_SETTING}={chunk}: a multiple of {BLOCK} bytes is wanted"
        ))),
    }
}

/// A part of a file, which chunks are read from.
#[derive(Debug)]
pub struct FilePiece {
    places: Places,
    name: String,
    offset: u64,
    end: u64,
    is_read: bool,
}

/// Whole pieces of files, which are cut where chunks end.
#[derive(Debug)]
pub struct ChunkInput;

impl InputFormat for ChunkInput {
    type Key<'a> = u64;
    type Value<'a> = &'a FilePiece;
    type Reader = FilePiece;

    const PLACES: bool = true;

    fn granule(settings: &Settings) -> Result<Granule> {
        Ok(Granule::Record(chunk(settings)?))
    }

    fn open(source: Source, _settings: &Settings) -> Result<FilePiece> {
        Ok(FilePiece {
            places: source.places()?,
            offset: source.offset,
            end: source.end,
            is_read: false,
            name: source.name,
        })
    }

    fn position(reader: &FilePiece) -> u64 {
        match reader.is_read {
            true => reader.end,
            false => reader.offset,
        }
    }

    fn next(reader: &mut FilePiece) -> Result<Option<(u64, &FilePiece)>> {
        if reader.is_read || reader.offset >= reader.end {
            return Ok(None);
        }
        reader.is_read = true;
        Ok(Some((reader.offset, reader)))
    }
}

impl FilePiece {
    /// Its chunks in pieces for so many tasks, some of which may be of no bytes.
    pub(crate) fn tasks(&self, chunk: u64, tasks: u64) -> Vec<TaskPiece> {
        let bytes = self.end.saturating_sub(self.offset);
        let mut pieces = TaskPiece::even(bytes, chunk, tasks.min(bytes.div_ceil(chunk)));
        for piece in &mut pieces {
            piece.offset = piece.offset.saturating_add(self.offset);
        }
        pieces
    }

    /// Opens it for these tasks: once where it is a file, and a pipe for each of them where not.
    pub(crate) fn open(&self, tasks: &[TaskPiece], mode: IoMode) -> Result<PieceSource> {
        let first = self.places.stretch(self.offset)?;
        if let Some(file) = first.file() {
            let file = ChunkFile::new(file, mode).context(|| self.name.clone())?;
            return Ok(PieceSource::File(file, first));
        }
        // A task's chunks follow each other: its pipe is read from its beginning to its end.
        let mut pipes = vec![(self.offset, first)];
        for task in tasks.iter().skip(1) {
            pipes.push((task.offset, self.places.stretch(task.offset)?));
        }
        Ok(PieceSource::Pipes(ChunkPipes::new(pipes)))
    }
}

/// An open piece.
#[derive(Debug)]
pub(crate) enum PieceSource {
    /// Of the node; and what its bytes are counted by.
    File(ChunkFile, Stretch),
    /// Of HDFS.
    Pipes(ChunkPipes<Stretch>),
}

impl PieceSource {
    /// So many bytes are computed. What comes through pipes has counted when it came.
    pub(crate) fn count(&self, bytes: u64) {
        match self {
            Self::File(_, stretch) => stretch.count(bytes),
            Self::Pipes(_) => {}
        }
    }

    /// What it is read from, and how.
    pub(crate) fn told(&self) -> (Resource, &'static str) {
        match self {
            Self::File(file, _) => match file.mode() {
                IoMode::Direct => (Resource::Disk, "read directly"),
                IoMode::Buffered => (Resource::Disk, "read through the page cache"),
            },
            Self::Pipes(_) => (Resource::Hdfs, "read through pipes"),
        }
    }
}

impl ChunkSource for PieceSource {
    fn read(&self, offset: u64, bytes: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(file, _) => file.read(offset, bytes, into),
            Self::Pipes(pipes) => pipes.read(offset, bytes, into),
        }
    }
}
