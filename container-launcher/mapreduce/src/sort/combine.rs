//! A combiner that is a reducer: the groups of a sorted run in, records out.
//!
//! Each partition of a run has a combiner of its own, as in Hadoop. What it emits stays in that partition. While keys
//! come in order they are written at once; what comes late, as from a combiner that hands out a hash table at its end, is
//! kept, sorted and written as a run of its own.

use std::sync::Arc;

use gerbil_task::Page;

use super::block::BlockWriter;
use super::codec::Codec;
use super::merge::Merge;
use super::pages::{self, AHEAD};
use super::radix::{self, SortEntry};
use super::scratch::Scratch;
use crate::counting::Counting;
use crate::emit::Sink;
use crate::error::{Error, Result};
use crate::order::Order;
use crate::width::word;

/// Runs that a map's last merge has at least where it combines once more, as Hadoop does.
pub(crate) const RUNS_MIN: usize = 3;

/// The job's combiner, without its types.
pub(crate) trait Combine {
    /// Hands all groups of a sorted run to a new combiner, which emits to `sink`. Returns how many records it took.
    fn combine(&mut self, run: &mut Run<'_>, sink: &mut Sink) -> Result<u64>;
    /// What all of them have counted so far.
    fn counted(&mut self) -> Counting;
}

/// A sorted run: one partition.
pub(crate) enum Run<'a> {
    /// Several that were written, as one.
    Merged(&'a mut Merge),
    /// Records that are still where they were collected.
    Collected {
        arena: &'a [u8],
        entries: &'a [SortEntry],
        /// One more than the place of the present record.
        next: &'a mut usize,
    },
}

impl Run<'_> {
    /// The same run, for a while.
    #[inline]
    pub(crate) const fn again(&mut self) -> Run<'_> {
        match self {
            Self::Merged(merge) => Run::Merged(merge),
            Self::Collected {
                arena,
                entries,
                next,
            } => Run::Collected {
                arena,
                entries,
                next,
            },
        }
    }

    /// Goes to the next record; false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        match self {
            Self::Merged(merge) => merge.advance(),
            Self::Collected {
                arena,
                entries,
                next,
            } => {
                if let Some(later) = entries.get(**next + AHEAD) {
                    pages::ask_for(key_of(arena, *later));
                }
                **next += 1;
                Ok(**next <= entries.len())
            }
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Self::Merged(merge) => merge.key(),
            Self::Collected {
                arena,
                entries,
                next,
            } => present(entries, **next).map_or(&[], |entry| key_of(arena, entry)),
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match self {
            Self::Merged(merge) => merge.value(),
            Self::Collected {
                arena,
                entries,
                next,
            } => present(entries, **next).map_or(&[], |entry| value_of(arena, entry)),
        }
    }
}

#[inline]
fn present(entries: &[SortEntry], next: usize) -> Option<SortEntry> {
    entries.get(next.checked_sub(1)?).copied()
}

/// The key of a record that lies in `arena`.
#[inline]
pub(crate) fn key_of(arena: &[u8], entry: SortEntry) -> &[u8] {
    let (offset, length) = radix::place_of(entry);
    arena.get(offset..offset + length).unwrap_or_default()
}

/// Its value, with its length in front behind the key.
#[inline]
pub(crate) fn value_of(arena: &[u8], entry: SortEntry) -> &[u8] {
    let (offset, length) = radix::place_of(entry);
    let rest = arena.get(offset + length..).unwrap_or_default();
    let (length, rest) = rest.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
    rest.get(..u32::from_le_bytes(*length) as usize)
        .unwrap_or_default()
}

/// Where combiners of a run put what they emit.
pub(crate) struct Combined {
    writer: BlockWriter,
    order: Order,
    /// Most bytes of key and value together.
    record_max: usize,
    /// The last key that was written in this partition, as it is stored.
    last: Option<Vec<u8>>,
    stored: Vec<u8>,
    late: Late,
    /// Records that were emitted.
    pub(crate) records: u64,
}

impl Combined {
    /// Writes with `writer` what comes in order.
    pub(crate) const fn new(
        writer: BlockWriter,
        order: Order,
        record_max: usize,
        late: Late,
    ) -> Self {
        Self {
            writer,
            order,
            record_max,
            last: None,
            stored: Vec::new(),
            late,
            records: 0,
        }
    }

    /// Takes a record that a combiner emits.
    #[inline]
    pub(crate) fn take(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let bytes = key.len() + value.len();
        if bytes > self.record_max {
            return Err(Error::new(format!(
                "the combiner emitted a record of {bytes} bytes, {} of them its key; the longest may have {}: raise \
                 gerbil.record.max",
                key.len(),
                self.record_max
            )));
        }
        self.records += 1;
        let key = self.order.stored(key, &mut self.stored);
        if self.order == Order::None {
            return self.writer.record(key, value);
        }
        let last = self.last.get_or_insert_default();
        if key < last.as_slice() {
            return self.late.take(key, value);
        }
        last.clear();
        last.extend_from_slice(key);
        self.writer.record(key, value)
    }

    /// The combiner of the present partition has ended.
    pub(crate) fn end_partition(&mut self) -> Result<()> {
        self.last = None;
        self.late.end_partition();
        self.writer.end_partition()
    }

    /// What was written in order, and the runs of what came late.
    pub(crate) fn finish(mut self) -> Result<(BlockWriter, Vec<BlockWriter>)> {
        self.late.write()?;
        Ok((self.writer, self.late.written))
    }
}

/// Records whose keys came late.
pub(crate) struct Late {
    arena: Vec<u8>,
    entries: Vec<SortEntry>,
    /// How many entries there were when each partition ended.
    ends: Vec<usize>,
    room: Vec<SortEntry>,
    /// Most bytes of all that.
    budget: usize,
    codec: Codec,
    page: Page,
    scratch: Arc<Scratch>,
    written: Vec<BlockWriter>,
}

impl Late {
    /// Keeps up to `budget` bytes, and writes what is more to new files.
    pub(crate) const fn new(
        budget: usize,
        codec: Codec,
        page: Page,
        scratch: Arc<Scratch>,
    ) -> Self {
        Self {
            arena: Vec::new(),
            entries: Vec::new(),
            ends: Vec::new(),
            room: Vec::new(),
            budget,
            codec,
            page,
            scratch,
            written: Vec::new(),
        }
    }

    #[cold]
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let bytes = key.len() + value.len() + 4;
        let entries = (self.entries.len() + 1) * 2 * size_of::<SortEntry>();
        if self.arena.len() + bytes + entries > self.budget && !self.entries.is_empty() {
            self.write()?;
        }
        let offset = word(self.arena.len());
        self.arena.extend_from_slice(key);
        self.arena
            .extend_from_slice(&word(value.len()).to_le_bytes());
        self.arena.extend_from_slice(value);
        let entry = radix::entry(key, offset, word(key.len()));
        self.entries.push(entry);
        Ok(())
    }

    fn end_partition(&mut self) {
        self.ends.push(self.entries.len());
    }

    /// Writes what there is as a run of its own.
    fn write(&mut self) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let mut writer = BlockWriter::new(self.scratch.on_disk()?, self.codec, &self.page)?;
        let Self {
            arena,
            entries,
            ends,
            room,
            ..
        } = self;
        let arena = arena.as_slice();
        let mut from = 0;
        // The partition at hand has no end yet.
        for end in ends.iter().copied().chain([entries.len()]) {
            let of = entries.get_mut(from..end).unwrap_or_default();
            from = end;
            radix::sort(of, room, |entry| key_of(arena, entry));
            for entry in of {
                writer.record(key_of(arena, *entry), value_of(arena, *entry))?;
            }
            writer.end_partition()?;
        }
        self.arena.clear();
        self.entries.clear();
        self.ends.iter_mut().for_each(|end| *end = 0);
        self.written.push(writer);
        Ok(())
    }
}
