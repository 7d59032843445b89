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
        }
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
            let winner = self.winner;
            self.step(winner)?;
            self.play(winner);
        } else {
            self.started = true;
            for run in 0..self.runs.len() {
                self.step(run)?;
            }
            for run in 0..self.runs.len() {
                self.play(run);
            }
        }
        Ok(self.heads.get(self.winner).is_some_and(|(ended, _)| !ended))
    }

    #[inline]
    fn step(&mut self, run: usize) -> Result<()> {
        let ended = !self.runs[run].advance()?;
        self.heads[run] = (ended, prefix(self.runs[run].key()));
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
            fold.fold(&value, merge.value(), &mut folded)?;
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

    /// The merge of `count` runs, of which `open` opens number `n`. Where they are too many for one merge, neighbours are
    /// merged first.
    pub(crate) fn of(
        &self,
        count: usize,
        open: &mut dyn FnMut(usize) -> Result<SortedRun>,
    ) -> Result<Merge> {
        let fan_in = self.fan_in();
        if count <= fan_in {
            return Ok(self
                .order
                .join((0..count).map(open).collect::<Result<_>>()?));
        }
        let bin = count.div_ceil(fan_in).min(fan_in);
        let mut narrowed = Vec::new();
        for from in (0..count).step_by(bin) {
            let runs = (from..count.min(from + bin)).map(&mut *open);
            let merge = self.order.join(runs.collect::<Result<_>>()?);
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
