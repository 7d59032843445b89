//! The page that says what each slot is working on, whatever becomes of its process.
//!
//! Shared memory without a file, 64 bytes a slot. The task stores with relaxed atomics before each record,
//! the launcher loads whenever it likes: a torn pair of words is a record too early or too late, which is
//! only possible while the task is alive and running.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use crate::shared_page::{self, BYTES, SharedPage};

/// Words of eight bytes that a slot has.
const WORDS: usize = 8;
/// Most slots of one page.
const SLOTS: u32 = 64;
const _: () = assert!(SLOTS as usize * WORDS == shared_page::WORDS);

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It waits for work.
    Idle,
    /// The mapper has a record.
    Map,
    /// Map output is sorted, spilled or merged.
    Sort,
    /// The reducer has a group.
    Reduce,
    /// Output is being closed.
    Output,
    /// `setup` runs.
    Setup,
    /// `cleanup` runs.
    Cleanup,
    /// Whoever started a reduce brings its input; its process waits.
    Fetch,
}

impl Phase {
    const fn word(self) -> u64 {
        match self {
            Self::Idle => 1,
            Self::Map => 2,
            Self::Sort => 3,
            Self::Reduce => 4,
            Self::Output => 5,
            Self::Setup => 6,
            Self::Cleanup => 7,
            Self::Fetch => 8,
        }
    }

    const fn of(word: u64) -> Self {
        match word {
            2 => Self::Map,
            3 => Self::Sort,
            4 => Self::Reduce,
            5 => Self::Output,
            6 => Self::Setup,
            7 => Self::Cleanup,
            8 => Self::Fetch,
            _ => Self::Idle,
        }
    }
}

/// What one slot said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    /// Number of the task.
    pub task: u64,
    /// Number of the piece in the task's split.
    pub piece: u64,
    /// Where the record begins, bytes from the start of the piece's file.
    pub offset: u64,
    /// The record's number in the task, from 0; in a reduce, the group's.
    pub record: u64,
    /// What the task is doing.
    pub phase: Phase,
    /// Grows with each sign of life.
    pub stamp: u64,
    /// Bytes (maps) or records (reduces) done.
    pub done: u64,
    /// Of how many.
    pub total: u64,
}

/// A slot's view of the page.
#[derive(Clone, Debug)]
pub struct Page {
    memory: Arc<SharedPage>,
    slot: usize,
}

impl Page {
    /// Slots of a page: a launcher that has more has several pages.
    pub const SLOTS: u32 = SLOTS;

    /// Makes the page of a launcher: its first slot's view, and the descriptor that tasks are handed.
    ///
    /// # Errors
    /// What the kernel says: no memory, no descriptor.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let descriptor = memfd_create("gerbil-blame", MemfdFlags::CLOEXEC)?;
        ftruncate(&descriptor, BYTES as u64)?;
        Ok((Self::over(&descriptor, 0)?, descriptor))
    }

    /// Maps the page behind `descriptor`, for `slot`.
    ///
    /// # Errors
    /// A slot beyond the page, a file that is too small, and what the kernel says.
    pub fn over(descriptor: impl AsFd, slot: u32) -> io::Result<Self> {
        match SharedPage::over(descriptor, 0)? {
            Some(memory) if slot < SLOTS => Ok(Self {
                memory: Arc::new(memory),
                slot: slot as usize,
            }),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("slot {slot}: the blame page has {SLOTS}"),
            )),
        }
    }

    /// The same page, for another slot; slots beyond the page share the last one.
    #[must_use]
    pub fn slot(&self, slot: u32) -> Self {
        Self {
            memory: Arc::clone(&self.memory),
            slot: slot.min(SLOTS - 1) as usize,
        }
    }

    #[inline]
    fn words(&self) -> &[AtomicU64; WORDS] {
        let (slots, _none) = self.memory.words().as_chunks();
        &slots[self.slot]
    }

    /// A task begins.
    pub fn begin(&self, task: u64, total: u64) {
        let words = self.words();
        for word in words {
            word.store(0, Ordering::Relaxed);
        }
        words[0].store(task, Ordering::Relaxed);
        words[7].store(total, Ordering::Relaxed);
        self.phase(Phase::Setup);
    }

    /// The phase changes.
    #[inline]
    pub fn phase(&self, phase: Phase) {
        self.words()[4].store(phase.word(), Ordering::Relaxed);
        self.alive();
    }

    /// A sign of life: two plain instructions, which each record and value may cost.
    #[inline]
    pub fn alive(&self) {
        let stamp = &self.words()[5];
        stamp.store(
            stamp.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }

    /// A record is about to be given to the user's code.
    #[inline]
    pub fn record(&self, offset: u64, record: u64) {
        let words = self.words();
        words[2].store(offset, Ordering::Relaxed);
        words[3].store(record, Ordering::Relaxed);
    }

    /// Another piece of the split begins.
    pub fn piece(&self, piece: u64) {
        self.words()[1].store(piece, Ordering::Relaxed);
        self.alive();
    }

    /// How far the task is, in the unit of its total; a sign of life where that is further than before.
    #[inline]
    pub fn done(&self, done: u64) {
        self.words()[6].store(done, Ordering::Relaxed);
    }

    /// What the slot said last.
    #[must_use]
    pub fn read(&self) -> Blame {
        let [task, piece, offset, record, phase, stamp, done, total] = self
            .words()
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        Blame {
            task,
            piece,
            offset,
            record,
            phase: Phase::of(phase),
            stamp,
            done,
            total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Page, Phase};

    #[test]
    fn what_a_task_says_is_read_through_another_mapping() {
        let (page, descriptor) = Page::create().unwrap();
        let task = Page::over(&descriptor, 3).unwrap();
        task.begin(7, 100);
        task.phase(Phase::Map);
        task.record(4096, 12);
        let seen = page.slot(3).read();
        assert_eq!(
            (seen.task, seen.offset, seen.record, seen.phase, seen.total),
            (7, 4096, 12, Phase::Map, 100)
        );
        assert_eq!(page.read().task, 0);
        assert!(Page::over(&descriptor, 64).is_err());
    }
}
