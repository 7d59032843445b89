//! What mappers emit, kept until it is sorted and spilled.

mod groups;

use std::sync::Arc;

use gerbil_task::{Page, Partition, Phase};

use super::block::{BlockWriter, SortedRun};
use super::codec::Codec;
use super::combine::{Combine, RUNS_MIN, key_of, value_of};
use super::digest::Seeds;
use super::entries::Entries;
use super::merge::{self, Merge, Merging};
use super::pages::{self, AHEAD};
use super::radix::{self, SortEntry};
use super::scratch::{Scratch, Spill};
use super::table::{CombineTable, Inserted, Sought};
use crate::error::{Error, Result};
use crate::order::Order;
use crate::task::phases::{self, Timed};
use crate::width::word;

/// Joins two values of one key.
pub(crate) trait Fold {
    /// Appends what `left` and `right`, in this order, become together; they are values of `key`, as it is stored.
    fn fold(&mut self, key: &[u8], left: &[u8], right: &[u8], out: &mut Vec<u8>) -> Result<()>;
}

impl<F: FnMut(&[u8], &[u8], &mut Vec<u8>) -> Result<()>> Fold for F {
    fn fold(&mut self, _: &[u8], left: &[u8], right: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self(left, right, out)
    }
}

/// A fold whose results, with their key, may not grow beyond what a record may have.
struct Limited {
    fold: Box<dyn Fold>,
    most: usize,
}

impl Fold for Limited {
    #[inline]
    fn fold(&mut self, key: &[u8], left: &[u8], right: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        self.fold.fold(key, left, right, out)?;
        let made = out.len() - before;
        if key.len() + made <= self.most {
            return Ok(());
        }
        Err(Error::new(format!(
            "the combiner made a value of {made} bytes of two with {} and {}, whose key has {}; the longest record may \
             have {}, key and value together: raise gerbil.record.max, or do not combine what only grows",
            left.len(),
            right.len(),
            key.len(),
            self.most
        )))
    }
}

/// A file of runs, one for each partition, and where they lie.
type Written = (Arc<Spill>, Vec<Partition>);

/// The partition of a key and its value.
type PartitionOf = dyn FnMut(&[u8], &[u8]) -> Result<u32>;

/// To which partition a record belongs.
pub(crate) struct RecordPlace {
    of: Box<PartitionOf>,
    /// Records of one key may belong to several.
    by_value: bool,
}

impl RecordPlace {
    /// By the key alone.
    pub(crate) fn by_key(mut of: impl FnMut(&[u8]) -> Result<u32> + 'static) -> Self {
        Self {
            of: Box::new(move |key, _| of(key)),
            by_value: false,
        }
    }

    /// By key and value.
    pub(crate) fn by_value(of: impl FnMut(&[u8], &[u8]) -> Result<u32> + 'static) -> Self {
        Self {
            of: Box::new(of),
            by_value: true,
        }
    }

    #[inline]
    pub(crate) fn partition(&mut self, key: &[u8], value: &[u8]) -> Result<u32> {
        (self.of)(key, value)
    }
}

/// How a task collects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Bytes of arena, entries and their working space together.
    pub(crate) arena: usize,
    /// Most bytes of key and value together.
    pub(crate) record_max: usize,
    /// How blocks are compressed.
    pub(crate) codec: Codec,
}

/// What was collected, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Collected {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) spilled: u64,
    pub(crate) spills: u64,
    /// Records that combiners took, and emitted.
    pub(crate) combined: (u64, u64),
}

/// Records on their way from a mapper to the reducers.
pub(crate) struct Collector {
    arena: Vec<u8>,
    entries: Entries,
    /// Bytes of the arena, and entries, whose memory was written to since it was set aside.
    touched: (usize, usize),
    table: Option<CombineTable>,
    fold: Option<Limited>,
    /// A combiner that is a reducer, instead of a fold.
    groups: Option<Box<dyn Combine>>,
    place: RecordPlace,
    spills: Vec<Written>,
    scratch: Arc<Scratch>,
    sizes: Sizes,
    order: Order,
    /// Where a key is put together as it is stored.
    stored: Vec<u8>,
    page: Page,
    pub(crate) collected: Collected,
}

/// Bytes that an arena of a small task grows to step by step.
const FEW: usize = 8 << 20;
/// Memory that the longest records and the most entries so far have taken, at different times, may be more than the arena
/// has by this part of it.
const STALE: usize = 16;

/// The memory of a map's arena and entries, for the next map of the process.
#[derive(Default)]
pub(crate) struct Spare {
    arena: Vec<u8>,
    entries: Entries,
    /// As of a [`Collector`].
    touched: (usize, usize),
}

impl Collector {
    pub(crate) fn new(
        partitions: u32,
        sizes: Sizes,
        fold: Option<Box<dyn Fold>>,
        place: RecordPlace,
        scratch: Arc<Scratch>,
        page: Page,
    ) -> Self {
        // The table knows keys alone: what a value says where its record belongs must not be folded there into another one.
        let tabled = fold.is_some() && (partitions == 1 || !place.by_value);
        let table = tabled.then(|| {
            let seeds = Seeds::of(std::iter::empty());
            CombineTable::new(sizes.arena / 4, seeds)
        });
        let most = sizes.record_max;
        let fold = fold.map(|fold| Limited { fold, most });
        Self {
            arena: Vec::new(),
            entries: Entries::new(partitions, sizes.arena),
            touched: (0, 0),
            table,
            fold,
            groups: None,
            place,
            spills: Vec::new(),
            scratch,
            sizes,
            order: Order::Sorted,
            stored: Vec::new(),
            page,
            collected: Collected::default(),
        }
    }

    /// Collects for reduces that are handed their keys in this order.
    pub(crate) const fn in_order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Hands each sorted run to this combiner before it is written.
    pub(crate) fn combined_by(mut self, groups: Box<dyn Combine>) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Folds by hashes of these seeds, which are to be the same in all attempts.
    pub(crate) fn seeded(mut self, seeds: Seeds) -> Self {
        let most = self.sizes.arena / 4;
        self.table = self.table.map(|_| CombineTable::new(most, seeds));
        self
    }

    /// Takes a record.
    #[inline]
    pub(crate) fn emit(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.collected.records += 1;
        self.collected.bytes += (key.len() + value.len()) as u64;
        if self.order == Order::Grouped {
            let mut room = std::mem::take(&mut self.stored);
            let done = self.take(self.order.stored(key, &mut room), value);
            self.stored = room;
            return done;
        }
        self.take(key, value)
    }

    /// Takes a record whose key is as it is stored.
    #[inline]
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Some(table) = &self.table else {
            return self.keep(key, value);
        };
        let sought = table.sought(key);
        if key.len() + value.len() > self.sizes.record_max {
            return Err(self.too_long(key, value));
        }
        self.fold_in(&sought, key, value)
    }

    /// Folds a record into the table, or keeps it where there is none any more.
    #[inline]
    fn fold_in(&mut self, sought: &Sought, key: &[u8], value: &[u8]) -> Result<()> {
        let (Some(table), Some(fold)) = (&mut self.table, &mut self.fold) else {
            return self.keep(key, value);
        };
        match table.insert(sought, key, value, fold)? {
            Inserted::Here if table.is_useless() => {
                self.drain()?;
                self.table = None;
            }
            Inserted::Here => {}
            Inserted::Last => self.drain()?,
            Inserted::Full => {
                self.drain()?;
                return self.again(sought, key, value);
            }
        }
        Ok(())
    }

    /// Takes a record for which the table was emptied.
    fn again(&mut self, sought: &Sought, key: &[u8], value: &[u8]) -> Result<()> {
        if let (Some(table), Some(fold)) = (&mut self.table, &mut self.fold)
            && table.insert(sought, key, value, fold)? != Inserted::Full
        {
            return Ok(());
        }
        self.keep(key, value)
    }

    /// Empties the table into the arena.
    fn drain(&mut self) -> Result<()> {
        if let Some(mut table) = self.table.take() {
            table.drain(|key, value| self.keep(key, value))?;
            self.table = Some(table);
        }
        Ok(())
    }

    fn too_long(&self, key: &[u8], value: &[u8]) -> Error {
        Error::new(format!(
            "a record of {} bytes was emitted, {} of them its key; the longest may have {}: raise gerbil.record.max",
            key.len() + value.len(),
            key.len(),
            self.sizes.record_max
        ))
    }

    /// Puts a record into the arena.
    #[inline]
    fn keep(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let bytes = key.len() + value.len();
        if bytes > self.sizes.record_max {
            return Err(self.too_long(key, value));
        }
        let (taken, stale) = self.memory_with(bytes + 4);
        if taken > self.sizes.arena && self.entries.len() > 0 {
            // One of several, which together are more than the arena.
            let file = self.scratch.on_disk()?;
            self.spill(file)?;
        } else if stale > self.sizes.arena + self.sizes.arena / STALE {
            self.shrink();
        }
        let partition = if self.entries.partitions() == 1 {
            0
        } else {
            self.place.partition(self.order.key(key), value)?
        };
        if partition as usize >= self.entries.partitions() {
            return Err(Error::new(format!(
                "the partitioner said {partition} where there are {} partitions",
                self.entries.partitions()
            )));
        }
        if self.arena.len() + bytes + 4 > self.arena.capacity() {
            self.make_room(bytes + 4);
        }
        let offset = word(self.arena.len());
        self.arena.extend_from_slice(key);
        self.arena
            .extend_from_slice(&word(value.len()).to_le_bytes());
        self.arena.extend_from_slice(value);
        let entry = radix::entry(key, offset, word(key.len()));
        self.entries.push(entry, partition);
        Ok(())
    }

    /// Bytes that arena and entries take with one record more; and the same with what they took before, and did not give
    /// back.
    #[inline]
    fn memory_with(&self, bytes: usize) -> (usize, usize) {
        let (bytes, entries) = (self.arena.len() + bytes, self.entries.len() + 1);
        let each = self.entries.each();
        let (most, most_entries) = self.touched;
        (
            bytes + entries * each,
            bytes.max(most) + entries.max(most_entries) * each,
        )
    }

    /// Gives back what records of another shape have taken: long ones need the arena, and short ones entries.
    #[cold]
    fn shrink(&mut self) {
        self.arena.shrink_to_fit();
        self.entries.shrink();
        self.touched = (self.arena.len(), self.entries.len());
    }

    /// The arena is empty again; its memory stays.
    fn clear(&mut self) {
        let (bytes, entries) = self.touched;
        self.touched = (bytes.max(self.arena.len()), entries.max(self.entries.len()));
        self.arena.clear();
        self.entries.clear();
    }

    /// Room for so many bytes more: a little at first, then all that there will ever be.
    #[cold]
    fn make_room(&mut self, bytes: usize) {
        let needed = self.arena.len() + bytes;
        let total = if needed <= FEW {
            (needed * 2).next_power_of_two()
        } else {
            needed.max(self.sizes.arena)
        };
        pages::reserve(&mut self.arena, total);
    }

    /// Sorts what is in the arena and writes it to `file`.
    fn spill(&mut self, file: Spill) -> Result<()> {
        phases::within(Timed::Spill, || match self.groups.is_some() {
            true => self.spill_groups(file),
            false => self.spill_records(file),
        })
    }

    fn spill_records(&mut self, file: Spill) -> Result<()> {
        let before = self.page.read().phase;
        self.page.phase(Phase::Sort);
        let mut writer = BlockWriter::new(file, self.sizes.codec, &self.page)?;
        let arena = self.arena.as_slice();
        let key_of = |entry: SortEntry| key_of(arena, entry);
        let value_of = |entry: SortEntry| value_of(arena, entry);
        let (mut value, mut folded) = (Vec::new(), Vec::new());
        // Sorting takes the list that they came in for its working space.
        self.touched.1 = self.touched.1.max(self.entries.len());
        let (list, ends, room) = self.entries.dealt();
        let mut from = 0;
        for end in ends {
            let entries = list.get_mut(from..end).unwrap_or_default();
            from = end;
            if self.order != Order::None {
                radix::sort(entries, room, key_of);
            }
            match &mut self.fold {
                None => {
                    for (number, &entry) in entries.iter().enumerate() {
                        if let Some(later) = entries.get(number + AHEAD) {
                            pages::ask_for(key_of(*later));
                        }
                        writer.record(key_of(entry), value_of(entry))?;
                    }
                }
                Some(fold) => {
                    for equal in entries.chunk_by(|a, b| key_of(*a) == key_of(*b)) {
                        let [first, rest @ ..] = equal else { continue };
                        if rest.is_empty() {
                            writer.record(key_of(*first), value_of(*first))?;
                            continue;
                        }
                        value.clear();
                        value.extend_from_slice(value_of(*first));
                        for entry in rest {
                            folded.clear();
                            // The user's code may take any time for it, and a key have any number of them.
                            self.page.alive();
                            fold.fold(key_of(*first), &value, value_of(*entry), &mut folded)?;
                            std::mem::swap(&mut value, &mut folded);
                        }
                        writer.record(key_of(*first), &value)?;
                    }
                }
            }
            writer.end_partition()?;
            self.page.alive();
        }
        self.clear();
        self.spilled(writer);
        self.page.phase(before);
        Ok(())
    }

    /// Another run was written.
    fn spilled(&mut self, writer: BlockWriter) {
        let (file, partitions) = writer.finish();
        self.collected.spilled += records_in(&partitions);
        self.collected.spills += 1;
        self.spills.push((Arc::new(file), partitions));
    }

    /// Everything was emitted: the map's output, and where its partitions lie.
    pub(crate) fn finish(&mut self) -> Result<Written> {
        if self.table.is_some() {
            self.drain()?;
        }
        if self.entries.len() > 0 || self.spills.is_empty() {
            let file = if self.spills.is_empty() {
                let about = (self.arena.len() + self.entries.len() * 8) as u64;
                self.output_file(about)?
            } else {
                self.scratch.on_disk()?
            };
            self.spill(file)?;
        }
        if self.spills.len() == 1 {
            return self
                .spills
                .pop()
                .ok_or_else(|| Error::new("a spill is missing"));
        }
        phases::within(Timed::Merge, || self.merge_spills(self.groups.is_some()))
    }

    /// The file of the map's output, of about `bytes`: in memory up to the arena's size, however small that is.
    fn output_file(&self, bytes: u64) -> Result<Spill> {
        if bytes > self.sizes.arena as u64 {
            return self.scratch.on_disk();
        }
        self.scratch.file(bytes)
    }

    fn merging(&self) -> Merging {
        Merging {
            order: self.order,
            budget: self.sizes.arena,
            record_max: self.sizes.record_max,
            scratch: Arc::clone(&self.scratch),
            page: self.page.clone(),
        }
    }

    fn merge_spills(&mut self, combines: bool) -> Result<Written> {
        self.page.phase(Phase::Sort);
        // The merge's blocks take the place of arena and table.
        self.arena = Vec::new();
        self.entries.shrink();
        self.touched = (0, 0);
        self.table = None;
        let spills = std::mem::take(&mut self.spills);
        let length_of = |(_, partitions): &(_, Vec<Partition>)| {
            partitions
                .last()
                .map_or(0, |last: &Partition| last.offset + last.length)
        };
        let about = spills.iter().map(length_of).sum();
        let file = self.output_file(about)?;
        if combines && spills.len() >= RUNS_MIN {
            return self.merge_groups(&spills, file);
        }
        let mut writer = BlockWriter::new(file, self.sizes.codec, &self.page)?;
        let merging = self.merging();
        for partition in 0..self.entries.partitions() {
            let merge = merge_of(&merging, &spills, partition)?;
            let fold = self.fold.as_mut().map(|fold| fold as &mut dyn Fold);
            merge::write(merge, &mut writer, fold)?;
            writer.end_partition()?;
            self.page.alive();
        }
        let (file, partitions) = writer.finish();
        self.collected.spilled += records_in(&partitions);
        Ok((Arc::new(file), partitions))
    }

    /// Takes the memory of another map, or leaves its own to the next one.
    pub(crate) fn recycle(&mut self, spare: &mut Spare) {
        self.clear();
        std::mem::swap(&mut self.arena, &mut spare.arena);
        self.entries.exchange(&mut spare.entries);
        std::mem::swap(&mut self.touched, &mut spare.touched);
    }
}

/// The merge of what all spills have of a partition.
fn merge_of(merging: &Merging, spills: &[Written], partition: usize) -> Result<Merge> {
    merging.of(spills.len(), &mut |spill| {
        let (file, partitions) = &spills[spill];
        let place = partitions.get(partition).copied().unwrap_or_default();
        Ok(SortedRun::new(
            Arc::clone(file),
            place.offset,
            place.length,
            merging.record_max,
        ))
    })
}

fn records_in(partitions: &[Partition]) -> u64 {
    partitions.iter().map(|partition| partition.records).sum()
}

#[cfg(test)]
mod tests;
