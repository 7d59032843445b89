//! Brings a reduce's input from several launchers at once.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use job::JobId;

use super::bring::{Fetched, Fetcher, Onto, PartitionFetch, Unfetched, Waiting};
use crate::disks::Room;

/// Stack of a thread that fetches, bytes: what it reads lies on the heap.
const STACK: usize = 128 * 1024;

/// Not everything is there.
#[derive(Debug)]
pub(crate) struct Missing {
    pub(crate) sentence: String,
    /// Whose outputs could not be had; none: it is no fault of theirs.
    pub(crate) maps: Vec<u32>,
}

/// What one launcher has given: a file, and the parts that are in it, by the maps' numbers.
pub(crate) type FetchedParts = (Arc<File>, Vec<Fetched>);

/// A launcher that has some of it.
pub(crate) struct From<'a> {
    pub(crate) address: &'a str,
    pub(crate) maps: Vec<u32>,
}

/// What is brought, and how.
pub(crate) struct Gather<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) job: JobId,
    pub(crate) partition: u32,
    /// Where it lies from then on: one file of each launcher.
    pub(crate) room: &'a Room,
    /// Of so many launchers at a time.
    pub(crate) copies: usize,
}

impl Gather<'_> {
    /// Brings what all of `from` have. One that does not give everything keeps nobody from the others; where this
    /// container is at fault, nothing more is begun.
    pub(crate) fn bring(
        &self,
        from: &[From<'_>],
        waiting: Waiting<'_>,
    ) -> Result<Vec<FetchedParts>, Missing> {
        // Partitions begin with different launchers: not all of them with the first.
        let first = usize::try_from(self.partition).unwrap_or(0);
        let (mut later, sooner) = (from.iter().collect::<Vec<_>>(), first % from.len().max(1));
        later.rotate_left(sooner);
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results = Mutex::new(Vec::with_capacity(from.len()));
        let is_over = || stopped.load(Ordering::Relaxed) || (waiting.is_over)();
        let waiting = Waiting {
            is_over: &is_over,
            ..waiting
        };
        let work = || {
            while let Some(one) = later.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = match is_over() {
                    true => return,
                    false => self.one(one, waiting),
                };
                let is_own_fault = matches!(&result, Err(missing) if missing.maps.is_empty());
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results.push(result);
                if is_own_fault {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            // This thread is one of them.
            for _ in 1..self.copies.min(from.len()) {
                let thread = thread::Builder::new().name("gather".into());
                // With fewer it takes longer.
                drop(thread.stack_size(STACK).spawn_scoped(scope, work));
            }
            work();
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        together(results)
    }

    fn one(&self, from: &From<'_>, waiting: Waiting<'_>) -> Result<FetchedParts, Missing> {
        let own_fault = |sentence| Missing {
            sentence,
            maps: Vec::new(),
        };
        let folder = self.room.folder().map_err(own_fault)?;
        let file = tempfile::tempfile_in(folder).map_err(|error| {
            let folder = folder.display();
            own_fault(format!("no file for what is fetched in {folder}: {error}"))
        })?;
        let wanted = PartitionFetch {
            job: self.job,
            partition: self.partition,
            maps: &from.maps,
        };
        let onto = Onto {
            file: &file,
            at: 0,
            room: self.room,
        };
        let brought = self.fetcher.bring(from.address, wanted, onto, waiting);
        let mut parts = brought.map_err(|Unfetched { why, maps }| Missing {
            sentence: why.to_string(),
            maps,
        })?;
        parts.sort_unstable_by_key(|part| part.map);
        Ok((Arc::new(file), parts))
    }
}

/// All of it, or what is missing: a fault of this container goes before those of others.
fn together(results: Vec<Result<FetchedParts, Missing>>) -> Result<Vec<FetchedParts>, Missing> {
    let (mut all, mut missing) = (Vec::with_capacity(results.len()), Vec::new());
    for result in results {
        match result {
            Ok(brought) => all.push(brought),
            Err(one) if one.maps.is_empty() => return Err(one),
            Err(one) => missing.push(one),
        }
    }
    // Which thread was first is no matter.
    missing.sort_unstable_by(|one: &Missing, other| one.maps.cmp(&other.maps));
    let further = missing.len().saturating_sub(1);
    let mut maps: Vec<u32> = missing.iter().flat_map(|one| one.maps.clone()).collect();
    maps.sort_unstable();
    let Some(first) = missing.into_iter().next() else {
        return Ok(all);
    };
    let sentence = match further {
        0 => first.sentence,
        1 => format!("{}; and one launcher more", first.sentence),
        _ => format!("{}; and {further} launchers more", first.sentence),
    };
    Err(Missing { sentence, maps })
}
