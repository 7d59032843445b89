//! Gathers, at the home of partitions, what maps have left elsewhere before the reduces begin.
//!
//! It holds no slot, and needs nothing that a task needs: one thread a job, one file a partition, and of the disks
//! what [`policy::scratch::ScratchLimits::ahead`] leaves. What it has are copies, which may go at any time: a reduce
//! fetches what it does not find. Where a task lacks room they go, and nothing is gathered ahead for that job any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use job::JobId;
use job::wire::{GatherAhead, GatheredAhead};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::bring::{Fetched, Fetcher, Onto, PartitionFetch, Unfetched, Waiting};
use crate::disks::Room;

/// Orders that wait; of more, what they name is fetched by the reduces.
const ORDERS: usize = 16;
/// Between two words of how far it is.
const TELL: Duration = Duration::from_secs(1);
/// Stack of the thread, bytes: what it reads lies on the heap.
const STACK: usize = 128 * 1024;

/// What a launcher has of partitions from elsewhere. Its clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies(Arc<SharedCopies>);

#[derive(Debug, Default)]
struct SharedCopies {
    partitions: Mutex<BTreeMap<u32, Partition>>,
    /// A task has lacked room.
    is_closed: AtomicBool,
}

/// What there is of one partition.
#[derive(Debug)]
struct Partition {
    file: Arc<File>,
    /// Where the next part begins, bytes.
    end: u64,
    /// By map: whose output it is, and where it lies.
    parts: BTreeMap<u32, (u32, Fetched)>,
}

impl Copies {
    /// What was gathered for a partition of a map, if it is of this output of it.
    pub(crate) fn get(&self, partition: u32, map: u32, output: u32) -> Option<GatheredPart> {
        let partitions = self.lock();
        let partition = partitions.get(&partition)?;
        let (of, part) = partition.parts.get(&map)?;
        (*of == output).then(|| GatheredPart {
            file: Arc::clone(&partition.file),
            part: *part,
        })
    }

    /// A task lacks room: what nobody reads goes, all but what is of partition `but`. Whether there was any.
    pub(crate) fn close(&self, but: Option<u32>) -> bool {
        self.0.is_closed.store(true, Ordering::Relaxed);
        let mut partitions = self.lock();
        let before = partitions.len();
        partitions.retain(|number, _| Some(*number) == but);
        partitions.len() < before
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed.load(Ordering::Relaxed)
    }

    /// The file of a partition, and where the next part is to begin.
    fn place(&self, partition: u32, room: &Room) -> Result<(Arc<File>, u64), String> {
        let mut partitions = self.lock();
        if let Some(there) = partitions.get(&partition) {
            return Ok((Arc::clone(&there.file), there.end));
        }
        let file = tempfile::tempfile_in(room.folder()?).map_err(|error| error.to_string())?;
        let file = Arc::new(file);
        let there = Partition {
            file: Arc::clone(&file),
            end: 0,
            parts: BTreeMap::new(),
        };
        partitions.insert(partition, there);
        Ok((file, 0))
    }

    /// These parts are in the file of a partition, of outputs by map, unless that file is gone meanwhile.
    fn keep(
        &self,
        partition: u32,
        file: &Arc<File>,
        parts: &[Fetched],
        outputs: &BTreeMap<u32, u32>,
    ) {
        let mut partitions = self.lock();
        let Some(there) = partitions.get_mut(&partition) else {
            return;
        };
        if !Arc::ptr_eq(&there.file, file) {
            return;
        }
        for part in parts {
            if let Some(output) = outputs.get(&part.map) {
                there.parts.insert(part.map, (*output, *part));
            }
            there.end = there.end.max(part.end());
        }
    }

    /// What there is of these partitions, and with how many outputs of each it is done.
    fn told(&self, partitions: &[u32], handled: &BTreeMap<u32, u32>) -> GatheredAhead {
        let all = self.lock();
        let named: BTreeSet<u32> = sort::set(partitions.iter().copied());
        let bytes = named.iter().map(|number| {
            let parts = all.get(number).map(|there| there.parts.values());
            let parts = parts.into_iter().flatten();
            parts.fold(0_u64, |sum, (_, part)| sum.saturating_add(part.length))
        });
        let coming = named.iter().map(|number| {
            let of = all.get(number);
            of.map_or(0, |of| {
                let written = of.file.metadata().map_or(0, |file| file.len());
                written.saturating_sub(of.end)
            })
        });
        let handled = named
            .iter()
            .map(|of| handled.get(of).copied().unwrap_or_default());
        GatheredAhead {
            bytes: bytes.collect(),
            coming: coming.collect(),
            handled: handled.collect(),
            is_full: self.is_closed(),
            partitions: named.iter().copied().collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Partition>> {
        // Nothing in here panics while it holds the lock.
        let partitions = self.0.partitions.lock();
        partitions.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part that was gathered.
#[derive(Clone, Debug)]
pub(crate) struct GatheredPart {
    pub(crate) file: Arc<File>,
    pub(crate) part: Fetched,
}

/// The thread that gathers ahead for one job. Dropped: it ends with what it is at.
#[derive(Debug)]
pub(crate) struct Ahead(SyncSender<GatherAhead>);

/// What the thread works with.
pub(crate) struct Gatherer {
    pub(crate) job: JobId,
    pub(crate) fetcher: Fetcher,
    pub(crate) room: Room,
    pub(crate) copies: Copies,
    /// The job goes on no longer.
    pub(crate) ends: CancellationToken,
    /// Hears what there is.
    pub(crate) told: Sender<GatheredAhead>,
}

impl Ahead {
    /// Starts the thread.
    pub(crate) fn begin(gatherer: Gatherer) -> std::io::Result<Self> {
        let (orders, ordered) = sync_channel(ORDERS);
        let thread = thread::Builder::new().name("gather ahead".into());
        thread
            .stack_size(STACK)
            .spawn(move || gatherer.work(&ordered))?;
        Ok(Self(orders))
    }

    /// Has this gathered, unless too much waits.
    pub(crate) fn order(&self, order: GatherAhead) {
        if self.0.try_send(order).is_err() {
            crate::say("more is to be gathered ahead than can be: reduces fetch it");
        }
    }
}

impl Gatherer {
    fn work(&self, orders: &Receiver<GatherAhead>) {
        let mut handled: BTreeMap<u32, u32> = BTreeMap::new();
        while let Ok(order) = orders.recv() {
            if self.is_over() {
                return;
            }
            let pace = Pace(Mutex::new(Instant::now()));
            for partition in &order.partitions {
                self.gather(*partition, &order, &mut handled, &pace);
            }
            if self
                .told
                .blocking_send(self.copies.told(&order.partitions, &handled))
                .is_err()
            {
                return;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.ends.is_cancelled()
    }

    /// Brings what the launchers of an order have of a partition, of one after the other.
    fn gather(
        &self,
        partition: u32,
        order: &GatherAhead,
        handled: &mut BTreeMap<u32, u32>,
        pace: &Pace,
    ) {
        let is_over = || self.is_over() || self.copies.is_closed();
        for (address, place) in order.launchers.iter().zip(1_u32..) {
            let there = order.sources.iter().filter(|of| of.kept_by == place);
            let outputs: BTreeMap<u32, u32> = sort::map(there.map(|of| (of.map, of.output)));
            let maps: Vec<u32> = outputs.keys().copied().collect();
            if maps.is_empty() || is_over() {
                continue;
            }
            let gets_on = || {
                if pace.is_due() {
                    // Where nobody has read the last one it is not news.
                    let told = self.copies.told(&order.partitions, handled);
                    let _told = self.told.try_send(told).is_ok();
                }
            };
            let brought = self
                .copies
                .place(partition, &self.room)
                .and_then(|(file, at)| {
                    let wanted = PartitionFetch {
                        job: self.job,
                        partition,
                        maps: &maps,
                    };
                    let onto = Onto {
                        file: &file,
                        at,
                        room: &self.room,
                    };
                    let waiting = Waiting {
                        is_over: &is_over,
                        gets_on: &gets_on,
                    };
                    let brought = self.fetcher.bring(address, wanted, onto, waiting);
                    let parts = brought.map_err(|Unfetched { why, .. }| why.to_string())?;
                    self.copies.keep(partition, &file, &parts, &outputs);
                    Ok(())
                });
            if let Err(why) = brought {
                // Whoever reads it tries again, and says whose fault it is.
                crate::say(&format!(
                    "partition {partition} is not gathered ahead: {why}"
                ));
            }
            let done = handled.entry(partition).or_default();
            *done = done.saturating_add(u32::try_from(maps.len()).unwrap_or(u32::MAX));
        }
    }
}

/// When it was last told how far it is.
struct Pace(Mutex<Instant>);

impl Pace {
    fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.elapsed() >= TELL;
        if is_due {
            *last = Instant::now();
        }
        is_due
    }
}
