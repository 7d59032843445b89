//! What is to happen, in order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use policy::schedule::Nanos;

/// A queue by time; what is due at the same time comes in the order in which it was put in line. Time never goes back:
/// what is put in line for a time that is past is due at once.
#[derive(Debug)]
pub(crate) struct Clock<Due> {
    heap: BinaryHeap<Alarm<Due>>,
    sequence: u64,
    /// When the last was due.
    now: Nanos,
}

#[derive(Debug)]
struct Alarm<Due> {
    when: Nanos,
    number: u64,
    due: Due,
}

impl<Due> Default for Clock<Due> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            sequence: 0,
            now: Nanos(0),
        }
    }
}

impl<Due> Clock<Due> {
    pub(crate) fn at(&mut self, when: Nanos, due: Due) {
        self.heap.push(Alarm {
            when: when.max(self.now),
            number: self.sequence,
            due,
        });
        self.sequence = self.sequence.wrapping_add(1);
    }

    pub(crate) fn next(&mut self) -> Option<(Nanos, Due)> {
        let entry = self.heap.pop()?;
        self.now = entry.when;
        Some((entry.when, entry.due))
    }

    /// What is put in line so far.
    pub(crate) const fn count(&self) -> u64 {
        self.sequence
    }

    /// What has not happened yet, in no order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Due> {
        self.heap.iter().map(|entry| &entry.due)
    }

    /// Takes out of line whatever does not stay.
    pub(crate) fn retain(&mut self, stays: impl Fn(&Due) -> bool) {
        self.heap.retain(|entry| stays(&entry.due));
    }
}

impl<Due> Ord for Alarm<Due> {
    /// The heap gives the greatest first: that is what is due soonest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.when, other.number).cmp(&(self.when, self.number))
    }
}

impl<Due> PartialOrd for Alarm<Due> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<Due> PartialEq for Alarm<Due> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<Due> Eq for Alarm<Due> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_back() {
        let mut clock = Clock::default();
        clock.at(Nanos(5), "late");
        clock.at(Nanos(3), "early");
        assert_eq!(clock.next(), Some((Nanos(3), "early")));
        clock.at(Nanos(1), "past");
        assert_eq!(clock.next(), Some((Nanos(3), "past")));
        assert_eq!(clock.next(), Some((Nanos(5), "late")));
        assert_eq!(clock.next(), None);
    }
}
