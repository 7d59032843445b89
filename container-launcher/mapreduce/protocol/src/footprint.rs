//! How many bytes a launcher and its tasks have on the disk in files without names, counted by whoever writes them.
//!
//! A second page behind the blame page, where a launcher wants to know: what each slot's task has, what all have
//! together, and the most that this ever was. A process that is killed in the middle of counting leaves the sum wrong by
//! what it was about to write.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use crate::blame::Page;
use crate::shared_page::{BYTES, SharedPage};

/// The page of the blame page's file.
const NUMBER: usize = 1;
/// Words of what all have: behind those of the slots.
const NOW: usize = Page::SLOTS as usize;
const MOST: usize = NOW + 1;

/// The count, as the launcher or one of its tasks adds to it.
#[derive(Clone, Debug)]
pub struct Footprint {
    memory: Arc<SharedPage>,
    slot: Option<usize>,
}

fn subtract(word: &AtomicU64, bytes: u64) {
    let less = |value: u64| Some(value.saturating_sub(bytes));
    word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        .ok();
}

impl Footprint {
    /// Makes the page of a launcher with a footprint behind it: the first slot's view of the one, the launcher's of the
    /// other, and the descriptor that tasks are handed.
    ///
    /// # Errors
    /// What the kernel says: no memory, no descriptor.
    pub fn create() -> io::Result<(Page, Self, OwnedFd)> {
        let descriptor = memfd_create("gerbil-blame", MemfdFlags::CLOEXEC)?;
        ftruncate(&descriptor, ((NUMBER + 1) * BYTES) as u64)?;
        let memory = SharedPage::over(&descriptor, NUMBER)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let footprint = Self {
            memory: Arc::new(memory),
            slot: None,
        };
        Ok((Page::over(&descriptor, 0)?, footprint, descriptor))
    }

    /// The footprint behind the blame page of `descriptor`, as the task of `slot` counts; `None`: the launcher does
    /// not want to know.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn over(descriptor: impl AsFd, slot: u32) -> io::Result<Option<Self>> {
        let memory = SharedPage::over(descriptor, NUMBER)?;
        Ok(memory.map(|memory| {
            Self {
                memory: Arc::new(memory),
                slot: None,
            }
            .of(slot)
        }))
    }

    /// The same, as the task of a slot counts; slots beyond the page share the last one.
    #[must_use]
    pub fn of(&self, slot: u32) -> Self {
        Self {
            memory: Arc::clone(&self.memory),
            slot: Some(slot.min(Page::SLOTS - 1) as usize),
        }
    }

    /// The same, as the launcher counts what is its own.
    #[must_use]
    pub fn of_launcher(&self) -> Self {
        Self {
            memory: Arc::clone(&self.memory),
            slot: None,
        }
    }

    fn word(&self) -> Option<&AtomicU64> {
        self.slot.and_then(|slot| self.memory.words().get(slot))
    }

    /// So many bytes are about to be written.
    pub fn grow(&self, bytes: u64) {
        if let Some(word) = self.word() {
            word.fetch_add(bytes, Ordering::Relaxed);
        }
        let words = self.memory.words();
        let now = words[NOW].fetch_add(bytes, Ordering::Relaxed) + bytes;
        words[MOST].fetch_max(now, Ordering::Relaxed);
    }

    /// So many are gone, with their file.
    pub fn shrink(&self, bytes: u64) {
        if let Some(word) = self.word() {
            subtract(word, bytes);
        }
        subtract(&self.memory.words()[NOW], bytes);
    }

    /// What the slot's task has, which is the launcher's from now on.
    #[must_use]
    pub fn take(&self) -> u64 {
        self.word()
            .map_or(0, |word| word.swap(0, Ordering::Relaxed))
    }

    /// The slot's task has ended, and whatever it had is gone.
    pub fn release(&self) {
        subtract(&self.memory.words()[NOW], self.take());
    }

    /// Bytes that all have now.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.memory.words()[NOW].load(Ordering::Relaxed)
    }

    /// The most that all ever had.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.memory.words()[MOST].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::Footprint;
    use crate::blame::Page;

    #[test]
    fn all_that_was_there_at_once_is_counted_and_what_was_handed_over_stays() {
        let (page, ours, descriptor) = Footprint::create().unwrap();
        let tasks = [0, 63].map(|slot| Footprint::over(&descriptor, slot).unwrap().unwrap());
        tasks[0].grow(100);
        tasks[1].grow(20);
        tasks[0].shrink(60);
        assert_eq!((ours.now(), ours.most()), (60, 120));
        // What a task leaves is its launcher's; what one had that was killed is gone.
        assert_eq!((ours.of(0).take(), ours.of(0).take()), (40, 0));
        ours.of(1).release();
        assert_eq!(ours.now(), 60);
        ours.of(63).release();
        assert_eq!((ours.now(), ours.most()), (40, 120));
        ours.grow(90);
        ours.of_launcher().shrink(130);
        ours.shrink(1);
        assert_eq!((ours.now(), ours.most(), ours.take()), (0, 130, 0));
        // The pages do not touch each other.
        Page::over(&descriptor, 63).unwrap().begin(7, 100);
        assert_eq!((page.read().task, ours.now(), ours.most()), (0, 0, 130));
    }

    #[test]
    fn every_byte_is_counted_whoever_counts_at_the_same_time() {
        let (_page, ours, _descriptor) = Footprint::create().unwrap();
        std::thread::scope(|scope| {
            for slot in 0..4 {
                let task = ours.of(slot);
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        task.grow(7);
                        task.grow(5);
                        task.shrink(7);
                    }
                });
            }
        });
        assert_eq!(ours.now(), 4 * 10_000 * 5);
        assert!((ours.now() + 7..=ours.now() + 4 * 7).contains(&ours.most()));
    }

    #[test]
    fn a_launcher_that_does_not_want_to_know_has_no_such_page() {
        let (_page, descriptor) = Page::create().unwrap();
        assert!(Footprint::over(&descriptor, 0).unwrap().is_none());
    }
}
