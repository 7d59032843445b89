//! Which end of a fetch that fails is at fault: a broken fetch accuses a pair, and others clear one of them.

use std::collections::BTreeSet;

use crate::schedule::ContainerIx;

/// Partners with whom a launcher fails, although they do well with others, before it is at fault.
const PARTNERS: usize = 2;

/// Fetches that went well and that failed, by source and home.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetches {
    served: BTreeSet<(ContainerIx, ContainerIx)>,
    failed: BTreeSet<(ContainerIx, ContainerIx)>,
    faulty: BTreeSet<ContainerIx>,
    cut: BTreeSet<(ContainerIx, ContainerIx)>,
}

/// Who is now known to be at fault for a fetch that has failed, and was not before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtFault {
    /// Nobody.
    Unknown,
    /// One of the two launchers.
    One(ContainerIx),
    /// What is between them: each does well with others.
    Way,
}

impl Fetches {
    pub(super) fn served(&mut self, source: ContainerIx, home: ContainerIx) {
        self.served.insert((source, home));
        self.failed.remove(&(source, home));
        self.cut.remove(&(source, home));
    }

    /// A fetch has failed.
    pub(super) fn failed(&mut self, source: ContainerIx, home: ContainerIx) -> AtFault {
        self.failed.insert((source, home));
        self.served.remove(&(source, home));
        let serves_others = |one: ContainerIx| {
            let mut served = self.served.iter();
            served.any(|(source, home)| *source == one && *home != one)
        };
        let fetches_elsewhere = |one: ContainerIx| {
            let mut served = self.served.iter();
            served.any(|(source, home)| *home == one && *source != one)
        };
        let of_home = self.failed.iter().filter(|(_, other)| *other == home);
        let sources = of_home.filter(|(source, _)| serves_others(*source)).count();
        let of_source = self.failed.iter().filter(|(other, _)| *other == source);
        let homes = of_source
            .filter(|(_, home)| fetches_elsewhere(*home))
            .count();
        let faulty = match (sources >= PARTNERS, homes >= PARTNERS) {
            (true, _) => home,
            (false, true) => source,
            (false, false) if serves_others(source) && fetches_elsewhere(home) => {
                return match self.cut.insert((source, home)) {
                    true => AtFault::Way,
                    false => AtFault::Unknown,
                };
            }
            (false, false) => return AtFault::Unknown,
        };
        match self.faulty.insert(faulty) {
            true => AtFault::One(faulty),
            false => AtFault::Unknown,
        }
    }

    /// A launcher is gone.
    pub(super) fn lose(&mut self, launcher: ContainerIx) {
        let stays =
            |(source, home): &(ContainerIx, ContainerIx)| ![*source, *home].contains(&launcher);
        self.served.retain(stays);
        self.failed.retain(stays);
        self.cut.retain(stays);
        self.faulty.remove(&launcher);
    }
}
