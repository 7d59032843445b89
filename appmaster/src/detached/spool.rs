//! What one job has printed, on disk: records one behind the other in the files of its [`Parts`].

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use job::wire;
use prost::Message as _;

use crate::detached::budget::Budget;
use crate::detached::parts::{Following, OutputBounds, Parts, Position, RecordFile};

/// The files of one job. Its calls block as long as the disk does.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    budget: Arc<Budget>,
    parts: Parts,
    /// The one that is written.
    open: Option<(u32, File)>,
    /// What the disk has said against it, once.
    trouble: Option<io::ErrorKind>,
    /// Nothing more is printed.
    is_over: bool,
}

/// What is behind a place.
#[derive(Debug)]
pub(super) struct Behind {
    /// In order; not all that there is.
    pub(super) chunks: Vec<wire::OutputChunk>,
    /// Where the next is.
    pub(super) place: Position,
    /// There is nothing more for now, or ever.
    pub(super) end: Option<ReadEnd>,
}

/// Nothing is behind a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadEnd {
    /// So far.
    Now,
    /// The job has printed its last.
    Forever,
}

impl Spool {
    /// One without files.
    pub(super) const fn new(folder: PathBuf, budget: Arc<Budget>, bounds: OutputBounds) -> Self {
        Self {
            folder,
            budget,
            parts: Parts::new(bounds),
            open: None,
            trouble: None,
            is_over: false,
        }
    }

    /// Keeps one chunk, or counts it as left out.
    pub(super) fn add(&mut self, chunk: &wire::OutputChunk) {
        let record = chunk.encode_length_delimited_to_vec();
        let (length, printed) = (count(record.len()), count(chunk.data.len()));
        while !self.budget.take(length) {
            match self.parts.shed() {
                Some(part) => self.remove(part),
                None => return self.parts.lost(printed),
            }
        }
        let part = self.parts.open(length);
        match self.write(part, &record) {
            Ok(()) => {
                self.parts.wrote(length, printed);
                while let Some(part) = self.parts.surplus() {
                    self.remove(part);
                }
            }
            Err(error) => {
                self.budget.give_back(length);
                self.parts.lost(printed);
                self.open = None;
                if self.trouble.replace(error.kind()) != Some(error.kind()) {
                    let folder = self.folder.display();
                    tracing::warn!("output is left out, which {folder} does not take: {error}");
                }
            }
        }
    }

    fn write(&mut self, part: RecordFile, record: &[u8]) -> io::Result<()> {
        let file = match &mut self.open {
            Some((number, file)) if *number == part.number => file,
            open => {
                let mut folders = DirBuilder::new();
                folders.recursive(true).mode(0o700).create(&self.folder)?;
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(0o600);
                let file = options.open(self.folder.join(part.number.to_string()))?;
                &mut open.insert((part.number, file)).1
            }
        };
        // What was written in part before an error is written over, or never read.
        file.write_all_at(record, part.length)
    }

    /// The job has printed its last.
    pub(super) fn close(&mut self) {
        self.is_over = true;
        self.open = None;
    }

    /// Of all that it has nothing is left.
    pub(super) fn clear(&mut self) {
        for part in self.parts.clear() {
            self.remove(part);
        }
        self.open = None;
        // One that was never made.
        let _gone = fs::remove_dir(&self.folder).is_ok();
    }

    /// Whether it has files.
    pub(super) fn takes_room(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The rest of one part behind `place`, of one rank where one is named.
    pub(super) fn read(&self, mut place: Position, rank: Option<u32>) -> io::Result<Behind> {
        let mut chunks = Vec::new();
        let Some(next) = self.parts.following(place) else {
            let missing = self.parts.missing_behind(place);
            if self.is_over && missing > 0 {
                place.printed = place.printed.saturating_add(missing);
                chunks.push(left_out(missing));
            }
            let end = match self.is_over {
                true => ReadEnd::Forever,
                false => ReadEnd::Now,
            };
            let end = Some(end);
            return Ok(Behind { chunks, place, end });
        };
        if next.left_out > 0 {
            chunks.push(left_out(next.left_out));
        }
        place = Position {
            part: next.part.number,
            offset: next.part.length,
            printed: next.part.begins.saturating_add(next.part.printed),
        };
        let bytes = self.bytes(next)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let chunk = wire::OutputChunk::decode_length_delimited(&mut rest);
            let chunk = chunk.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if rank.is_none_or(|rank| rank == chunk.rank) {
                chunks.push(chunk);
            }
        }
        let end = None;
        Ok(Behind { chunks, place, end })
    }

    fn bytes(&self, next: Following) -> io::Result<Vec<u8>> {
        let file = File::open(self.folder.join(next.part.number.to_string()))?;
        let length = next.part.length.saturating_sub(next.offset);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        file.read_exact_at(&mut bytes, next.offset)?;
        Ok(bytes)
    }

    fn remove(&mut self, part: RecordFile) {
        self.budget.give_back(part.length);
        // Gone with the container otherwise.
        let _gone = fs::remove_file(self.folder.join(part.number.to_string())).is_ok();
    }
}

fn left_out(bytes: u64) -> wire::OutputChunk {
    wire::OutputChunk {
        left_out: bytes,
        ..wire::OutputChunk::default()
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
