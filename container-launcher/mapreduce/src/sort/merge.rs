//! Many sorted runs as one: a tree of losers over prefixes of eight bytes.
//!
//! Equal keys come in the order of the runs, so that the order of values never depends on who was first.

use std::sync::Arc;

use gerbil_task::Page;

use super::block::{BLOCK, BlockWriter, SortedRun};
use super::codec::Codec;
use super::collect::Fold;
use super::radix::prefix;
use super::scratch::Scratch;
use crate::error::Result;
use crate::order::Order;

/// The merge of some runs; positioned on a record after each [`advance`](Self::advance).
pub(crate) struct Merge {
    runs: Vec<SortedRun>,
    /// Of each run's present record, its prefix; and whether the run is at its end.
    heads: Vec<(bool, u64)>,
    /// The loser of each inner game; the winner of all is `winner`.
    losers: Vec<usize>,
    winner: usize,
    started: bool,
    /// One run after the other, whatever their keys.
    chained: bool,
    /// Bytes for long records that are not at their turn, beyond a block for each run.
    room: usize,
    /// Bytes that long records take now.
    taken: usize,
}

impl Merge {
    /// Merges `runs`, in whose order equal keys come.
    pub(crate) fn new(runs: Vec<SortedRun>) -> Self {
        let count = runs.len();
        Self {
            runs,
            heads: vec![(true, 0); count],
            losers: vec![usize::MAX; count],
            winner: 0,
            started: false,
            chained: false,
            room: usize::MAX,
            taken: 0,
        }
    }

    /// Has so many bytes for long records that are not at their turn. What is more is read again when its turn comes;
    /// its key stays, by which it is compared.
    pub(crate) const fn within(mut self, room: usize) -> Self {
        self.room = room;
        self
    }

    /// Takes `runs` one after the other.
    pub(crate) fn chain(runs: Vec<SortedRun>) -> Self {
        Self {
            chained: true,
            ..Self::new(runs)
        }
    }

    /// Goes to the next record; false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.runs.is_empty() {
            return Ok(false);
        }
        if self.chained {
            while let Some(run) = self.runs.get_mut(self.winner) {
                if run.advance()? {
                    return Ok(true);
                }
                self.winner += 1;
            }
            return Ok(false);
        }
        if self.started {
            let stepped = self.winner;
            self.step(stepped)?;
            self.play(stepped);
            if stepped != self.winner {
                self.make_room(stepped);
            }
        } else {
            self.started = true;
            for run in 0..self.runs.len() {
                self.step(run)?;
                self.make_room(run);
            }
            for run in 0..self.runs.len() {
                self.play(run);
            }
        }
        if self.runs[self.winner].is_parked() {
            self.unpark()?;
        }
        Ok(self.heads.get(self.winner).is_some_and(|(ended, _)| !ended))
    }

    #[inline]
    fn step(&mut self, run: usize) -> Result<()> {
        self.taken -= self.runs[run].excess();
        let ended = !self.runs[run].advance()?;
        self.taken += self.runs[run].excess();
        self.heads[run] = (ended, prefix(self.runs[run].key()));
        Ok(())
    }

    /// Parks a record whose turn has not come, where long ones take too much.
    #[inline]
    fn make_room(&mut self, run: usize) {
        if self.taken > self.room {
            self.park(run);
        }
    }

    #[cold]
    fn park(&mut self, run: usize) {
        self.taken -= self.runs[run].excess();
        if self.runs[run].excess() > 0 {
            self.runs[run].park();
        }
        self.taken += self.runs[run].excess();
    }

    /// The winner's turn has come.
    #[cold]
    fn unpark(&mut self) -> Result<()> {
        let winner = &mut self.runs[self.winner];
        self.taken -= winner.excess();
        winner.unpark()?;
        self.taken += winner.excess();
        Ok(())
    }

    /// Whether run `a` comes before run `b`.
    #[inline]
    fn before(&self, a: usize, b: usize) -> bool {
        let (one, other) = (self.heads[a], self.heads[b]);
        if one == other {
            self.tie(a, b)
        } else {
            one < other
        }
    }

    fn tie(&self, a: usize, b: usize) -> bool {
        match self.runs[a].key().cmp(self.runs[b].key()) {
            std::cmp::Ordering::Equal => a < b,
            other => other.is_lt(),
        }
    }

    /// Plays `run` from its leaf upwards.
    #[inline]
    fn play(&mut self, run: usize) {
        let mut winner = run;
        let mut node = (run + self.runs.len()) / 2;
        while node > 0 {
            let rival = self.losers[node];
            if rival == usize::MAX {
                // The tree is being built: wait here for the rival.
                self.losers[node] = winner;
                return;
            }
            if self.before(rival, winner) {
                self.losers[node] = winner;
                winner = rival;
            }
            node /= 2;
        }
        self.winner = winner;
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.runs.get(self.winner).map_or(&[], SortedRun::key)
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.runs.get(self.winner).map_or(&[], SortedRun::value)
    }
}

/// Writes what `merge` gives with `writer`, folding equal keys where there is a fold.
pub(crate) fn write(
    mut merge: Merge,
    writer: &mut BlockWriter,
    fold: Option<&mut dyn Fold>,
) -> Result<()> {
    let Some(fold) = fold else {
        while merge.advance()? {
            writer.record(merge.key(), merge.value())?;
        }
        return Ok(());
    };
    let (mut key, mut value, mut folded) = (Vec::new(), Vec::new(), Vec::new());
    let mut any = false;
    while merge.advance()? {
        if any && merge.key() == key {
            folded.clear();
            writer.alive();
            fold.fold(&key, &value, merge.value(), &mut folded)?;
            std::mem::swap(&mut value, &mut folded);
            continue;
        }
        if any {
            writer.record(&key, &value)?;
        }
        any = true;
        key.clear();
        key.extend_from_slice(merge.key());
        value.clear();
        value.extend_from_slice(merge.value());
    }
    if any {
        writer.record(&key, &value)?;
    }
    Ok(())
}

/// What merges have, and how they are done.
pub(crate) struct Merging {
    pub(crate) order: Order,
    /// Bytes for blocks of the runs.
    pub(crate) budget: usize,
    pub(crate) record_max: usize,
    pub(crate) scratch: Arc<Scratch>,
    pub(crate) page: Page,
}

impl Merging {
    /// How many runs are merged at once: what the budget has blocks for, raw and stored.
    fn fan_in(&self) -> usize {
        (self.budget / (2 * BLOCK)).clamp(4, 256)
    }

    /// One merge of some runs: what is left of the budget beside their blocks is for records that are longer.
    fn join(&self, runs: Result<Vec<SortedRun>>) -> Result<Merge> {
        let runs = runs?;
        let room = self.budget.saturating_sub(runs.len() * 2 * BLOCK);
        Ok(self.order.join(runs).within(room))
    }

    /// The merge of `count` runs, of which `open` opens number `n`. Where they are too many for one merge, neighbours are
    /// merged first.
    pub(crate) fn of(
        &self,
        count: usize,
        open: &mut dyn FnMut(usize) -> Result<SortedRun>,
    ) -> Result<Merge> {
        let fan_in = self.fan_in();
        if count <= fan_in {
            return self.join((0..count).map(open).collect());
        }
        let bin = count.div_ceil(fan_in).min(fan_in);
        let mut narrowed = Vec::new();
        for from in (0..count).step_by(bin) {
            let runs = (from..count.min(from + bin)).map(&mut *open);
            let merge = self.join(runs.collect())?;
            let mut writer = BlockWriter::new(self.scratch.on_disk()?, Codec::Lz4, &self.page)?;
            write(merge, &mut writer, None)?;
            writer.end_partition()?;
            let (file, partitions) = writer.finish();
            let length = partitions.first().map_or(0, |partition| partition.length);
            narrowed.push((Arc::new(file), length));
        }
        self.of(narrowed.len(), &mut |at| {
            let (file, length) = &narrowed[at];
            Ok(SortedRun::new(
                Arc::clone(file),
                0,
                *length,
                self.record_max,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use gerbil_task::{Page, Partition};

    use super::{Merge, Merging};
    use crate::order::Order;
    use crate::sort::block::{BLOCK, BlockWriter, SortedRun};
    use crate::sort::codec::Codec;
    use crate::sort::scratch::{Scratch, Spill};

    /// Longest record here, bytes.
    const LONGEST: usize = 3 << 20;
    const RUNS: usize = 12;

    fn merging(budget: usize) -> Merging {
        let folder = std::fs::File::open(std::env::temp_dir()).unwrap();
        Merging {
            order: Order::Sorted,
            budget,
            record_max: LONGEST,
            scratch: Arc::new(Scratch::new(folder.into(), None)),
            page: Page::create().unwrap().0,
        }
    }

    /// Short and long records of one run, in their order; what they hold compresses, or does not.
    fn records(run: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut records = BTreeMap::new();
        let mut state = run as u64 + 1;
        for number in 0..60_usize {
            let key = format!("{:03}", number * 7 % 60);
            let length = match (number + run) % 20 {
                0 => LONGEST - 10,
                1 => BLOCK + number,
                _ => number,
            };
            let mut value = vec![run.to_le_bytes()[0]; length];
            if run % 2 == 1 {
                for byte in &mut value {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    *byte = state.to_be_bytes()[0];
                }
            }
            records.insert(key.into_bytes(), value);
        }
        records.into_iter().collect()
    }

    fn written(merging: &Merging, run: usize, codec: Codec) -> (Arc<Spill>, Partition) {
        let file = merging.scratch.on_disk().unwrap();
        let mut writer = BlockWriter::new(file, codec, &merging.page).unwrap();
        for (key, value) in records(run) {
            writer.record(&key, &value).unwrap();
        }
        writer.end_partition().unwrap();
        let (file, partitions) = writer.finish();
        (Arc::new(file), partitions[0])
    }

    fn set_aside(merge: &Merge) -> usize {
        merge.runs.iter().map(SortedRun::set_aside).sum()
    }

    #[test]
    fn long_records_take_no_more_than_the_budget_and_come_whole() {
        let mut wanted = BTreeMap::new();
        for run in 0..RUNS {
            for (key, value) in records(run) {
                wanted.entry(key).or_insert_with(Vec::new).push(value);
            }
        }
        let budget = 10 << 20;
        for codec in [Codec::None, Codec::Lz4] {
            let merging = merging(budget);
            let runs: Vec<_> = (0..RUNS).map(|run| written(&merging, run, codec)).collect();
            let mut merge = merging
                .of(RUNS, &mut |run| {
                    let (file, place) = &runs[run];
                    Ok(SortedRun::new(
                        Arc::clone(file),
                        place.offset,
                        place.length,
                        LONGEST,
                    ))
                })
                .unwrap();
            let mut most = 0;
            for (key, values) in &wanted {
                for value in values {
                    assert!(merge.advance().unwrap());
                    assert!(merge.key() == key && merge.value() == value, "{key:?}");
                    most = most.max(set_aside(&merge));
                }
            }
            assert!(!merge.advance().unwrap());
            assert_eq!(set_aside(&merge), 0, "what is at its end keeps nothing");
            // The record whose turn it is is in memory beside them.
            assert!(most <= budget + LONGEST, "{most} bytes of {codec:?}");
            assert!(most > LONGEST, "{most} bytes of {codec:?}");
        }
    }

    #[test]
    fn a_chain_keeps_one_block() {
        let merging = Merging {
            order: Order::None,
            ..merging(10 << 20)
        };
        let runs: Vec<_> = (0..RUNS)
            .map(|run| written(&merging, run, Codec::Lz4))
            .collect();
        let mut merge = merging
            .of(RUNS, &mut |run| {
                let (file, place) = &runs[run];
                Ok(SortedRun::new(
                    Arc::clone(file),
                    place.offset,
                    place.length,
                    LONGEST,
                ))
            })
            .unwrap();
        let mut count = 0;
        while merge.advance().unwrap() {
            count += 1;
            assert!(
                set_aside(&merge) <= LONGEST + 2 * BLOCK,
                "{}",
                set_aside(&merge)
            );
        }
        assert_eq!(count, RUNS * 60);
    }
}
