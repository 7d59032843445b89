//! The packets that wait for a board, in the order in which it gets them: pure bookkeeping.
//!
//! Each lease has a line of its own, and the lines take turns, one packet each: the line whose last turn
//! is longest ago is next.  So a lease that has lined up many packets lets one of them go before another
//! lease's.  What the card lost goes before all lines.

use std::collections::VecDeque;

/// What waits: a line for each lease.
#[derive(Debug)]
pub(super) struct Rounds<T> {
    /// What the card lost, oldest first.
    lost: VecDeque<(u64, T)>,
    /// The lines of all leases that ever had a packet and have not ended.
    lines: Vec<Line<T>>,
    /// Counts turns.
    turn: u64,
}

#[derive(Debug)]
struct Line<T> {
    lease: u64,
    /// Number of its last turn; 0 before the first.
    last: u64,
    packets: VecDeque<T>,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self {
            lost: VecDeque::new(),
            lines: Vec::new(),
            turn: 0,
        }
    }
}

impl<T> Rounds<T> {
    /// Lines up a packet behind those of its lease.
    pub(super) fn push(&mut self, lease: u64, packet: T) {
        match self.lines.iter_mut().find(|line| line.lease == lease) {
            Some(line) => line.packets.push_back(packet),
            None => self.lines.push(Line {
                lease,
                last: 0,
                packets: VecDeque::from([packet]),
            }),
        }
    }

    /// The packet whose turn it is.
    pub(super) fn next(&mut self) -> Option<T> {
        if let Some((_, packet)) = self.lost.pop_front() {
            return Some(packet);
        }
        let line = self
            .lines
            .iter_mut()
            .filter(|line| !line.packets.is_empty())
            .min_by_key(|line| line.last)?;
        self.turn += 1;
        line.last = self.turn;
        line.packets.pop_front()
    }

    /// Gives back a packet whose turn it was: the next turn is its lease's.
    pub(super) fn give_back(&mut self, lease: u64, packet: T) {
        let mut packets = self.take_line(lease);
        packets.push_front(packet);
        let line = Line {
            lease,
            last: 0,
            packets,
        };
        self.lines.insert(0, line);
    }

    fn take_line(&mut self, lease: u64) -> VecDeque<T> {
        match self.lines.iter().position(|line| line.lease == lease) {
            Some(at) => self.lines.remove(at).packets,
            None => VecDeque::new(),
        }
    }

    /// Adds a packet that the card lost before those that it lost so far.
    pub(super) fn lost_before(&mut self, lease: u64, packet: T) {
        self.lost.push_front((lease, packet));
    }

    /// Adds a packet that the card lost behind those that it lost so far.
    pub(super) fn lost_after(&mut self, lease: u64, packet: T) {
        self.lost.push_back((lease, packet));
    }

    /// Whether something waits that the card lost.
    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Takes out a lease that ends, and its packets, oldest first.
    pub(super) fn remove(&mut self, lease: u64) -> Vec<T> {
        let mut removed = Vec::new();
        for (other, packet) in std::mem::take(&mut self.lost) {
            if other == lease {
                removed.push(packet);
            } else {
                self.lost.push_back((other, packet));
            }
        }
        removed.extend(self.take_line(lease));
        removed
    }

    /// Takes out all packets.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        let lost = std::mem::take(&mut self.lost);
        let lines = std::mem::take(&mut self.lines);
        let lined_up = lines.into_iter().flat_map(|line| line.packets);
        lost.into_iter()
            .map(|(_, packet)| packet)
            .chain(lined_up)
            .collect()
    }

    /// How many packets wait.
    pub(super) fn len(&self) -> usize {
        let lined_up: usize = self.lines.iter().map(|line| line.packets.len()).sum();
        self.lost.len() + lined_up
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(rounds: &mut Rounds<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| rounds.next()).collect()
    }

    #[test]
    fn a_long_line_lets_one_packet_go_before_anothers() {
        let mut rounds = Rounds::default();
        for packet in ["a0", "a1", "a2", "a3"] {
            rounds.push(1, packet);
        }
        rounds.push(2, "b0");
        assert_eq!(drain(&mut rounds), ["a0", "b0", "a1", "a2", "a3"]);

        for packet in ["a0", "a1", "a2", "a3"] {
            rounds.push(1, packet);
        }
        assert_eq!(rounds.next(), Some("a0"));
        assert_eq!(rounds.next(), Some("a1"));
        // A lease that had no turn meanwhile does not wait for a third packet in a row.
        rounds.push(2, "b0");
        rounds.push(3, "c0");
        rounds.push(2, "b1");
        assert_eq!(rounds.len(), 5);
        assert_eq!(drain(&mut rounds), ["c0", "b0", "a2", "b1", "a3"]);
        assert!(rounds.is_empty());
    }

    /// Two leases with full lines and one that sends a packet after each answer: it always has a turn
    /// after one of each.
    #[test]
    fn who_sends_one_at_a_time_is_not_behind() {
        let mut rounds = Rounds::default();
        for _ in 0..10 {
            rounds.push(1, "a");
            rounds.push(2, "b");
        }
        for _ in 0..5 {
            rounds.push(3, "c");
            let before = std::iter::from_fn(|| rounds.next()).take_while(|it| *it != "c");
            assert_eq!(before.count(), 2);
        }
    }

    #[test]
    fn what_was_lost_goes_first_and_what_was_given_back_next() {
        let mut rounds = Rounds::default();
        for (lease, packet) in [(1, "a2"), (2, "b1"), (1, "a3")] {
            rounds.push(lease, packet);
        }
        assert!(!rounds.has_lost());
        rounds.give_back(2, "b0");
        rounds.lost_before(1, "a1");
        rounds.lost_before(1, "a0");
        rounds.lost_after(3, "c0");
        assert!(rounds.has_lost());
        assert_eq!(
            drain(&mut rounds),
            ["a0", "a1", "c0", "b0", "a2", "b1", "a3"]
        );
    }

    #[test]
    fn a_lease_that_ends_takes_its_packets_along() {
        let mut rounds = Rounds::default();
        rounds.push(1, "a1");
        rounds.push(2, "b0");
        rounds.lost_before(1, "a0");
        assert_eq!(rounds.remove(1), ["a0", "a1"]);
        assert_eq!(rounds.remove(1), [""; 0]);
        rounds.lost_after(3, "c0");
        assert_eq!(rounds.take_all(), ["c0", "b0"]);
        assert_eq!(rounds.len(), 0);
    }
}
