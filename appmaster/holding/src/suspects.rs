//! What it is that the ResourceManager refuses.
//!
//! It takes a call or refuses it as a whole: `DefaultAMSProcessor.allocate` looks at every row and every container
//! that is given back, and throws at the first that is not allowed (any more), before it does anything or tells
//! anything. A row is judged by its size and label alone, also one that cancels (`SchedulerUtils.
//! validateResourceRequest`; Hadoop 2.10 to 3.4). So a call that is refused is not made again as it was: what gives
//! back goes alone, since a call that asks for nothing is taken, and what asks goes in halves by size, until one size
//! is refused by itself.
//!
//! ```text
//!  releases, a, b, c: refused ─▶ releases: taken ─▶ a: taken ─▶ b, c: refused ─▶ b: refused, again and again ─▶ dropped
//!                                                                            └▶ c: taken
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proto_hadoop::ContainerId;
use proto_hadoop::yarn::{AllocateRequest, Resource};

/// How often one is refused by itself before the ResourceManager is believed: while one restarts, what it allows
/// changes with the nodes that come back.
pub(crate) const REFUSALS: u32 = 4;

/// A part of a call, which is allowed or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// This container is given back.
    Release(ContainerId),
    /// Containers of this size are asked for, or not any more.
    Size(Resource),
}

/// The parts of a call.
pub(crate) fn parts(call: &AllocateRequest) -> BTreeSet<Part> {
    let releases = call.releases.iter().copied().map(Part::Release);
    let sizes = call.asks.iter().map(|row| row.capability.clone());
    releases.chain(sizes.map(Part::Size)).collect()
}

/// The parts of calls that were refused, until each is taken or dropped.
#[derive(Debug, Default)]
pub(crate) struct SuspectRequests {
    /// Each is to be sent in a call of its own, in this order.
    groups: VecDeque<BTreeSet<Part>>,
    /// How often some were refused by themselves.
    refusals: BTreeMap<Part, u32>,
}

impl SuspectRequests {
    /// Nothing was refused that has not been taken or dropped since.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// What the next call may say; `None`: all there is to say. What of `releases` was never refused does not wait.
    pub(crate) fn next(&mut self, releases: &BTreeSet<ContainerId>) -> Option<&BTreeSet<Part>> {
        if self.is_empty() {
            return None;
        }
        let releases = releases.iter().copied().map(Part::Release);
        let is_known = |part: &Part| self.groups.iter().any(|group| group.contains(part));
        let others: BTreeSet<Part> = releases.filter(|part| !is_known(part)).collect();
        if !others.is_empty() {
            self.groups.push_front(others);
        }
        self.groups.front()
    }

    /// A call of these parts was taken, or there is nothing to be said of them any more.
    pub(crate) fn clear(&mut self, parts: &BTreeSet<Part>) {
        self.refusals.retain(|part, _| !parts.contains(part));
        self.forget(parts);
    }

    /// A call of these parts was refused. The one that is not allowed, once that is believed.
    pub(crate) fn refused(&mut self, mut parts: BTreeSet<Part>) -> Option<Part> {
        self.forget(&parts);
        let sizes: Vec<Part> = parts
            .iter()
            .filter(|part| matches!(part, Part::Size(_)))
            .cloned()
            .collect();
        let releases = parts.len().saturating_sub(sizes.len());
        let second = match (releases, parts.len()) {
            (_, 0) => return None,
            (_, 1) => return self.refused_alone(parts.pop_first()?),
            // Releases come first, in the order of parts.
            (1.., all) if releases < all => sizes.first().cloned(),
            (_, all) => parts.iter().nth(all / 2).cloned(),
        };
        let second = parts.split_off(&second?);
        self.groups.push_front(second);
        self.groups.push_front(parts);
        None
    }

    fn refused_alone(&mut self, part: Part) -> Option<Part> {
        let refusals = self.refusals.entry(part.clone()).or_default();
        *refusals = refusals.saturating_add(1);
        if *refusals >= REFUSALS {
            self.refusals.remove(&part);
            return Some(part);
        }
        // The others have their turn before.
        self.groups.push_back(BTreeSet::from([part]));
        None
    }

    fn forget(&mut self, parts: &BTreeSet<Part>) {
        for group in &mut self.groups {
            group.retain(|part| !parts.contains(part));
        }
        self.groups.retain(|group| !group.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use proto_hadoop::{AppAttemptId, ApplicationId};

    use super::*;

    fn container(id: i64) -> ContainerId {
        let application = ApplicationId {
            cluster_timestamp: 1,
            id: 1,
        };
        ContainerId {
            attempt: AppAttemptId {
                application,
                attempt: 1,
            },
            id,
        }
    }

    fn size(memory: u64) -> Part {
        Part::Size(Resource::new(memory, 1))
    }

    /// Calls until nothing is suspected, of all parts at first; none of `bad` is allowed. What was dropped, what was
    /// taken, and after how many calls.
    fn calls(all: &BTreeSet<Part>, bad: &[Part]) -> (BTreeSet<Part>, BTreeSet<Part>, u32) {
        let mut suspects = SuspectRequests::default();
        let (mut dropped, mut taken, mut count) = (BTreeSet::new(), BTreeSet::new(), 0);
        let mut call = all.clone();
        loop {
            count += 1;
            if bad.iter().any(|bad| call.contains(bad)) {
                dropped.extend(suspects.refused(call));
            } else {
                suspects.clear(&call);
                taken.extend(call);
            }
            match suspects.next(&BTreeSet::new()) {
                Some(next) => call = next.clone(),
                None => return (dropped, taken, count),
            }
        }
    }

    #[test]
    fn what_is_not_allowed_is_found_and_all_else_is_taken() {
        let sizes = |all: std::ops::Range<u64>| all.map(size).collect::<Vec<_>>();
        let releases: Vec<Part> = (0..3).map(container).map(Part::Release).collect();
        for (count, bad, most) in [(1, vec![0], 4), (8, vec![5], 12), (64, vec![0, 31, 63], 40)] {
            let all: BTreeSet<Part> = releases.iter().cloned().chain(sizes(0..count)).collect();
            let bad: Vec<Part> = bad.into_iter().map(size).collect();
            let (dropped, taken, calls) = calls(&all, &bad);
            assert_eq!(dropped, bad.iter().cloned().collect());
            assert_eq!(taken, &all - &dropped);
            assert!(calls <= most + 2, "{calls} calls for {count}");
        }
        // Releases of somebody else's are refused, too.
        let all: BTreeSet<Part> = releases.iter().cloned().chain(sizes(0..2)).collect();
        let (dropped, taken, _) = calls(&all, &releases[1..2]);
        assert_eq!(dropped, releases[1..2].iter().cloned().collect());
        assert_eq!(taken.len(), 4);
    }

    #[test]
    fn what_is_given_back_meanwhile_does_not_wait() {
        let mut suspects = SuspectRequests::default();
        let none = BTreeSet::new();
        assert_eq!(suspects.next(&BTreeSet::from([container(1)])), None);
        assert_eq!(suspects.refused(BTreeSet::from([size(1), size(2)])), None);
        assert_eq!(suspects.next(&none), Some(&BTreeSet::from([size(1)])));
        let given = BTreeSet::from([container(1)]);
        let alone = BTreeSet::from([Part::Release(container(1))]);
        assert_eq!(suspects.next(&given), Some(&alone));
        suspects.clear(&alone);
        assert_eq!(suspects.next(&none), Some(&BTreeSet::from([size(1)])));
    }

    #[test]
    fn what_is_allowed_again_is_forgiven() {
        let mut suspects = SuspectRequests::default();
        let one = BTreeSet::from([size(1)]);
        for _ in 0..3 {
            for _ in 1..REFUSALS {
                assert_eq!(suspects.refused(one.clone()), None);
                assert_eq!(suspects.next(&BTreeSet::new()), Some(&one));
            }
            suspects.clear(&one);
            assert!(suspects.is_empty());
        }
    }
}
