//! What the ranks use: the launchers' samples, kept within bounds.

use std::collections::BTreeMap;

use job::report::Sample;
use job::wire;
use policy::lifecycle::{Cause, Limit, OutOfMemory, SeenMemory, Verdict};
use policy::{MiB, Rank};

use crate::mpi::Mpi;

/// Samples of one rank, as the report promises.
const SAMPLES_MAX: usize = 600;
/// Samples of all ranks together: 2.4 MB here, and about 6 MB as the report's JSON, which goes in one
/// message.
const SAMPLES_ALL_MAX: usize = 100_000;
/// However many ranks there are.
const SAMPLES_MIN: usize = 2;
/// Between two samples of a launcher, ms, until some are dropped.
const INTERVAL_MS: u64 = 1000;
/// Samples come a little early or late.
const JITTER_MS: u64 = INTERVAL_MS / 2;
const KIB_PER_MIB: u64 = 1024;

/// All ranks of a job.
#[derive(Debug)]
pub(crate) struct Usages {
    most: usize,
    ranks: BTreeMap<Rank, Usage>,
}

/// One rank with all its children.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    samples: Vec<Sample>,
    /// Between two of them, ms.
    interval_ms: u64,
    /// Newest and highest, KiB.
    resident_kib: u64,
    virtual_kib: u64,
    peak_resident_kib: u64,
    /// User and system time, ms.
    cpu_ms: u64,
}

impl Usages {
    /// Of a job of so many ranks.
    pub(crate) fn new(processes: u32) -> Self {
        let ranks = usize::try_from(processes).unwrap_or(usize::MAX).max(1);
        Self {
            most: (SAMPLES_ALL_MAX / ranks).clamp(SAMPLES_MIN, SAMPLES_MAX),
            ranks: BTreeMap::new(),
        }
    }

    /// Takes one in. The caller has checked that the rank is the sender's.
    pub(crate) fn hear(&mut self, heard: &wire::RankUsage) {
        let usage = self.ranks.entry(Rank(heard.rank)).or_default();
        usage.hear(heard, self.most);
    }

    /// What was sampled of a rank, oldest first.
    pub(crate) fn of(&self, rank: Rank) -> &[Sample] {
        self.ranks
            .get(&rank)
            .map_or(&[], |usage| usage.samples.as_slice())
    }

    /// Highest resident size seen of a rank, KiB.
    pub(crate) fn peak_resident_kib(&self, rank: Rank) -> u64 {
        self.ranks
            .get(&rank)
            .map_or(0, |usage| usage.peak_resident_kib)
    }

    /// Processor time of a rank when it was last seen, ms.
    pub(crate) fn cpu_ms(&self, rank: Rank) -> u64 {
        self.ranks.get(&rank).map_or(0, |usage| usage.cpu_ms)
    }

    /// Which of these ranks held the most resident memory when last seen, and how much.
    pub(crate) fn most_resident(&self, ranks: &[Rank]) -> Option<(Rank, MiB)> {
        self.most_of(ranks, |usage| usage.resident_kib)
    }

    /// Which of these ranks held the most address space when last seen, and how much.
    pub(crate) fn most_virtual(&self, ranks: &[Rank]) -> Option<(Rank, MiB)> {
        self.most_of(ranks, |usage| usage.virtual_kib)
    }

    fn most_of(&self, ranks: &[Rank], kib: impl Fn(&Usage) -> u64) -> Option<(Rank, MiB)> {
        let seen = ranks
            .iter()
            .filter_map(|rank| Some((*rank, kib(self.ranks.get(rank)?))));
        // The lowest of several that hold the same.
        let most = seen.max_by_key(|(rank, kib)| (*kib, std::cmp::Reverse(*rank)))?;
        Some((most.0, MiB(most.1 / KIB_PER_MIB)))
    }
}

impl Usage {
    fn hear(&mut self, heard: &wire::RankUsage, most: usize) {
        self.resident_kib = heard.resident_kib;
        self.virtual_kib = heard.virtual_kib;
        self.peak_resident_kib = self.peak_resident_kib.max(heard.resident_kib);
        // A child that ends without being waited for takes its time with it.
        self.cpu_ms = self.cpu_ms.max(heard.cpu_ms);
        let due = self.samples.last().is_none_or(|last| {
            let due_ms = last.at_ms.saturating_add(self.interval_ms);
            heard.at_ms.saturating_add(JITTER_MS) >= due_ms
        });
        if !due {
            return;
        }
        self.samples.push(Sample {
            at_ms: heard.at_ms,
            resident_kib: heard.resident_kib,
            cpu_ms: self.cpu_ms,
        });
        if self.samples.len() > most {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.interval_ms = self.interval_ms.max(INTERVAL_MS).saturating_mul(2);
        }
    }
}

impl Mpi {
    /// What was seen of the ranks that explains a verdict.
    pub(crate) fn seen(&self, verdict: &Verdict) -> SeenMemory {
        let cause = verdict.cause.as_ref();
        let killed = cause.and_then(Cause::killed_for_memory);
        let largest = killed.and_then(|(container, limit)| {
            let seat = self.seats.of(container)?;
            match limit {
                Limit::Physical => self.usages.most_resident(&seat.ranks),
                Limit::Virtual => self.usages.most_virtual(&seat.ranks),
            }
        });
        let failed = match cause {
            Some(Cause::RankFailed { rank, .. }) => self.reports.get(&rank.number),
            _ => None,
        };
        let out_of_memory = match failed.map(wire::RankEnded::out_of_memory) {
            None | Some(wire::OutOfMemory::No) => OutOfMemory::No,
            Some(wire::OutOfMemory::Node) => OutOfMemory::Node,
            Some(wire::OutOfMemory::Group) => OutOfMemory::Group,
            Some(wire::OutOfMemory::Share) => OutOfMemory::Share,
        };
        SeenMemory {
            largest,
            out_of_memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(rank: u32, second: u64, resident_mib: u64) -> wire::RankUsage {
        wire::RankUsage {
            rank,
            at_ms: second * 1000,
            resident_kib: resident_mib * 1024,
            virtual_kib: resident_mib * 4096,
            cpu_ms: second * 900,
        }
    }

    #[test]
    fn a_long_job_keeps_its_whole_course_in_bounded_room() {
        let mut usages = Usages::new(1);
        for second in 1..=6000 {
            usages.hear(&heard(0, second, second));
        }
        let samples = usages.of(Rank(0));
        assert!((300..=SAMPLES_MAX).contains(&samples.len()));
        assert_eq!(samples[0].at_ms, 1000);
        assert!(samples[samples.len() - 1].at_ms > 5_980_000);
        let gaps = samples.windows(2).map(|two| two[1].at_ms - two[0].at_ms);
        assert_eq!(
            gaps.collect::<std::collections::BTreeSet<_>>(),
            [16_000].into()
        );
        assert_eq!(usages.peak_resident_kib(Rank(0)), 6000 * 1024);
    }

    #[test]
    fn many_ranks_share_the_room() {
        let mut usages = Usages::new(10_000);
        for second in 1..=1000 {
            usages.hear(&heard(7, second, 1));
        }
        assert!(usages.of(Rank(7)).len() <= 10);
        assert_eq!(Usages::new(10_000_000).most, SAMPLES_MIN);
        assert_eq!(Usages::new(4).most, SAMPLES_MAX);
    }

    #[test]
    fn the_largest_is_the_one_that_is_large_now() {
        let mut usages = Usages::new(3);
        usages.hear(&heard(0, 1, 900));
        usages.hear(&heard(0, 2, 10));
        usages.hear(&heard(1, 2, 40));
        usages.hear(&heard(2, 2, 40));
        let all = [Rank(0), Rank(1), Rank(2)];
        assert_eq!(usages.most_resident(&all), Some((Rank(1), MiB(40))));
        assert_eq!(usages.most_virtual(&all), Some((Rank(1), MiB(160))));
        assert_eq!(usages.most_resident(&[Rank(9)]), None);
        assert_eq!(usages.cpu_ms(Rank(0)), 1800);
    }
}
