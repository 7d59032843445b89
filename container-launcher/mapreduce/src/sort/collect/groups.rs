//! Spills and merges whose groups go through a combiner.

use std::sync::Arc;

use gerbil_task::Phase;

use super::{Collector, Written, merge_of, records_in};
use crate::counting::Counting;
use crate::emit::Sink;
use crate::error::{Error, Result};
use crate::order::Order;
use crate::sort::block::BlockWriter;
use crate::sort::combine::{Combined, Late, Run, key_of};
use crate::sort::radix;
use crate::sort::scratch::Spill;

/// No record is to blame for what a combiner says of many.
fn of_combiner(error: Error) -> Error {
    error.context("combiner").placed()
}

impl Collector {
    /// Sorts what is in the arena, and writes what combiners make of it to `file`.
    pub(super) fn spill_groups(&mut self, file: Spill) -> Result<()> {
        let before = self.page.read().phase;
        self.page.phase(Phase::Sort);
        let mut sink = self.sink(file)?;
        let order = self.order;
        let arena = self.arena.as_slice();
        // Sorting takes the list that they came in for its working space.
        self.touched.1 = self.touched.1.max(self.entries.len());
        let (list, ends, room) = self.entries.dealt();
        let mut from = 0;
        for end in ends {
            let entries = list.get_mut(from..end).unwrap_or_default();
            from = end;
            if order != Order::None {
                radix::sort(entries, room, |entry| key_of(arena, entry));
            }
            if let Some(groups) = self.groups.as_mut().filter(|_| !entries.is_empty()) {
                let mut run = Run::Collected {
                    arena,
                    entries,
                    next: &mut 0,
                };
                let taken = groups.combine(&mut run, &mut sink).map_err(of_combiner)?;
                self.collected.combined.0 += taken;
            }
            sink.combined()?.end_partition()?;
            self.page.alive();
        }
        self.clear();
        let (writer, late) = self.written(sink)?;
        self.spilled(writer);
        late.into_iter().for_each(|writer| self.spilled(writer));
        self.page.phase(before);
        Ok(())
    }

    /// Merges spills into `file`, whose groups are combined once more.
    pub(super) fn merge_groups(&mut self, spills: &[Written], file: Spill) -> Result<Written> {
        let mut sink = self.sink(file)?;
        let merging = self.merging();
        for partition in 0..self.entries.partitions() {
            let mut merge = merge_of(&merging, spills, partition)?;
            let places = spills.iter().map(|(_, places)| places.get(partition));
            let is_empty = places.flatten().all(|place| place.records == 0);
            if let Some(groups) = self.groups.as_mut().filter(|_| !is_empty) {
                let mut run = Run::Merged(&mut merge);
                let taken = groups.combine(&mut run, &mut sink).map_err(of_combiner)?;
                self.collected.combined.0 += taken;
            }
            sink.combined()?.end_partition()?;
            self.page.alive();
        }
        let (writer, late) = self.written(sink)?;
        if late.is_empty() {
            let (file, partitions) = writer.finish();
            self.collected.spilled += records_in(&partitions);
            return Ok((Arc::new(file), partitions));
        }
        self.spilled(writer);
        late.into_iter().for_each(|writer| self.spilled(writer));
        // What was combined is merged as it is.
        self.merge_spills(false)
    }

    /// Where combiners of a run emit to: in order to `file`.
    fn sink(&self, file: Spill) -> Result<Sink> {
        let writer = BlockWriter::new(file, self.sizes.codec, &self.page)?;
        let late = Late::new(
            self.sizes.arena / 4,
            self.sizes.codec,
            self.page.clone(),
            Arc::clone(&self.scratch),
        );
        let most = self.sizes.record_max;
        let combined = Combined::new(writer, self.order, most, late);
        Ok(Sink::Combined(Box::new(combined)))
    }

    fn written(&mut self, sink: Sink) -> Result<(BlockWriter, Vec<BlockWriter>)> {
        let combined = sink.into_combined()?;
        self.collected.combined.1 += combined.records;
        combined.finish()
    }

    /// What combiners have counted.
    pub(crate) fn counted(&mut self) -> Counting {
        let groups = self.groups.as_mut();
        groups.map(|groups| groups.counted()).unwrap_or_default()
    }
}
