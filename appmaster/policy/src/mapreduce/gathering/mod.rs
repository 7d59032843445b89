//! How far homes are with gathering, and which partitions are to be gathered elsewhere because theirs lags or is full.
//!
//! A home is told of outputs of maps; it tells with how many of them it is done, and how many bytes have come. What it
//! was told of [`LATE`] ago or longer and is not done with is late. A partition moves where more than twice as many
//! outputs are late as of the median of the job's partitions, where these are not few bytes, and where bytes come to
//! its home not half as fast as they have come to the median of the others. So one stays that is merely large, or that
//! waits as all do for a launcher which gives nothing.
//!
//! Rules: a container that has lagged, or has no room, is nobody's next home in this job; a partition moves at most
//! [`MOVES`] times, never back; and none moves where all others lag as well.

mod progress;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::{ContainerId, Millis};

use progress::{Pace, Progress};

/// With what it was told of so long ago a home is to be done.
pub const LATE: Millis = Millis(5_000);
/// Fewer bytes the reduce fetches as soon as another home would.
pub const FEW: u64 = 4 << 20;
/// Moves of one partition.
pub const MOVES: u8 = 2;
/// Between two looks.
const LOOK: Millis = Millis(1_000);

/// Why a partition moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveReason {
    /// Its home lags.
    Lags,
    /// Its home has no room.
    Full,
}

/// A partition that is to be gathered elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub partition: u32,
    /// Its home so far.
    pub from: ContainerId,
    /// Why.
    pub why: MoveReason,
    /// About how many bytes that home lacks.
    pub lacks: u64,
    /// For how long it has lacked the first of them.
    pub behind: Millis,
}

/// Partitions that are to move, and the containers that may have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// In the order of their numbers.
    pub partitions: Vec<Move>,
    /// Where to.
    pub among: BTreeSet<ContainerId>,
}

/// The homes of one job's partitions.
#[derive(Clone, Debug, Default)]
pub struct Gathering {
    of: BTreeMap<u32, Progress>,
    paces: BTreeMap<ContainerId, Pace>,
    /// How often each partition has moved.
    moved: BTreeMap<u32, u8>,
    /// Containers that have lagged, or have no room.
    unfit: BTreeMap<ContainerId, MoveReason>,
    looked: Millis,
}

impl Gathering {
    /// `home` gathers a partition from now on; if that had another, it has moved.
    pub fn begins(&mut self, partition: u32, home: ContainerId) {
        let progress = Progress::begins(home);
        if self.of.insert(partition, progress).is_some() {
            let moved = self.moved.entry(partition).or_default();
            *moved = moved.saturating_add(1);
        }
    }

    /// The home of a partition is told of so many outputs, of which an average partition has so many bytes.
    pub fn told(&mut self, now: Millis, partition: u32, outputs: u32, bytes: u64) {
        if self.wakes_at().is_none() {
            // Nothing was to be looked at before.
            self.looked = now;
        }
        if let Some(progress) = self.of.get_mut(&partition).filter(|_| outputs > 0) {
            progress.told(now, outputs, bytes);
        }
    }

    /// A container is done with so many outputs that it was told of for a partition, and has so many bytes of it.
    pub fn seen(&mut self, home: &ContainerId, partition: u32, handled: u32, bytes: u64) {
        let progress = self.of.get_mut(&partition);
        if let Some(progress) = progress.filter(|of| of.home == *home) {
            let gained = progress.seen(handled, bytes);
            self.paces.entry(home.clone()).or_default().gained(gained);
        }
    }

    /// A container has no room for what is gathered.
    pub fn is_full(&mut self, container: &ContainerId) {
        self.unfit.insert(container.clone(), MoveReason::Full);
    }

    /// A container is gone, or is nobody's home any more.
    pub fn lose(&mut self, container: &ContainerId) {
        self.of.retain(|_, progress| progress.home != *container);
        self.paces.remove(container);
    }

    /// Nothing is gathered ahead any more.
    pub fn ends(&mut self) {
        self.of.clear();
    }

    /// Whether a container may be a home: it has not lagged, and has had room.
    #[must_use]
    pub fn may_be_home(&self, container: &ContainerId) -> bool {
        !self.unfit.contains_key(container)
    }

    /// When [`Gathering::moves`] is due, if nothing happens before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Millis> {
        let mut all = self.of.iter();
        let is_due = all.any(|(partition, of)| {
            of.is_open() || (self.is_known_full(&of.home) && self.may_move(*partition))
        });
        is_due.then(|| self.looked.plus(LOOK))
    }

    /// What is to move now to some of `among`. It has moved when it [begins](Self::begins) there; that for which there
    /// was no home is named again.
    pub fn moves(&mut self, now: Millis, among: &BTreeSet<ContainerId>) -> Moves {
        if self.wakes_at().is_none_or(|at| now < at) {
            return Moves::default();
        }
        self.look(now);
        let median = median(self.of.values().map(|of| of.late(now).0)).unwrap_or_default();
        let behind = self.of.values().filter(|of| of.late(now).0 > median);
        let behind: BTreeSet<&ContainerId> = behind.map(|of| &of.home).collect();
        let among: BTreeSet<ContainerId> = (among.iter())
            .filter(|of| self.may_be_home(of) && !behind.contains(of))
            .cloned()
            .collect();
        if among.is_empty() {
            return Moves::default();
        }
        let lags = |of: &Progress| {
            let (outputs, bytes) = of.late(now);
            outputs > median.saturating_mul(2) && bytes >= FEW
        };
        let slow: BTreeSet<ContainerId> = (self.of.values())
            .filter(|of| lags(of) && self.is_slow(&of.home))
            .map(|of| of.home.clone())
            .collect();
        for container in &slow {
            let known = self.unfit.entry(container.clone());
            known.or_insert(MoveReason::Lags);
        }
        let all = self.of.iter().filter_map(|(partition, progress)| {
            let home = &progress.home;
            let why = *self.unfit.get(home)?;
            let moves = why == MoveReason::Full || (lags(progress) && slow.contains(home));
            let (lacks, behind) = progress.lacks(now);
            (moves && self.may_move(*partition)).then(|| Move {
                partition: *partition,
                from: home.clone(),
                why,
                lacks,
                behind,
            })
        });
        Moves {
            partitions: all.collect(),
            among,
        }
    }

    fn is_known_full(&self, container: &ContainerId) -> bool {
        self.unfit.get(container) == Some(&MoveReason::Full)
    }

    /// Whether a partition has not moved too often.
    fn may_move(&self, partition: u32) -> bool {
        let moved = self.moved.get(&partition).copied();
        moved.unwrap_or_default() < MOVES
    }

    /// Takes down how fast containers are.
    fn look(&mut self, now: Millis) {
        let passed = Millis(now.0.saturating_sub(self.looked.0));
        self.looked = now;
        let mut open: BTreeMap<&ContainerId, bool> = BTreeMap::new();
        for progress in self.of.values() {
            *open.entry(&progress.home).or_default() |= progress.is_open();
        }
        for (home, is_open) in open {
            let pace = self.paces.entry(home.clone()).or_default();
            pace.looked(now, passed, is_open);
        }
    }

    /// Whether bytes come to a container not half as fast as they have come to the median of the others.
    fn is_slow(&self, container: &ContainerId) -> bool {
        let others = self.paces.iter().filter(|(of, _)| *of != container);
        let usual = median(others.filter_map(|(_, pace)| pace.usual()));
        let own = self.paces.get(container).and_then(Pace::lately);
        own.zip(usual)
            .is_some_and(|(own, usual)| own.saturating_mul(2) < usual)
    }
}

/// The middle one; of an even number the lower of both.
fn median<T: Ord>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    let middle = all.len().checked_sub(1)? / 2;
    Some(all.swap_remove(middle))
}
