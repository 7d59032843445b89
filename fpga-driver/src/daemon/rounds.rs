//! The packets that wait for a board, in the order in which it gets them: pure bookkeeping.
//!
//! Each lease has a line of its own.  A packet costs board time, and the lease that has used the least is
//! next; of several, the one whose last turn is longest ago.  So neither many packets nor heavy ones win a
//! lease more of the board than another that has packets waiting: their shares differ by one packet.
//!
//! A lease saves no time up.  One that had nothing waiting, or is new, goes on from the time at which the
//! last turn began, unless it has used more.  What the card lost goes before all lines, and costs nothing
//! again.

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
    /// What the lease of the last turn had used before it.
    began: u64,
}

#[derive(Debug)]
struct Line<T> {
    lease: u64,
    /// Number of its last turn; 0 before the first.
    last: u64,
    /// Board time that it has used.
    used: u64,
    /// How much of that its last turn cost.
    cost: u64,
    packets: VecDeque<T>,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self {
            lost: VecDeque::new(),
            lines: Vec::new(),
            turn: 0,
            began: 0,
        }
    }
}

impl<T> Rounds<T> {
    /// Lines up a packet behind those of its lease.
    pub(super) fn push(&mut self, lease: u64, packet: T) {
        match self.lines.iter_mut().find(|line| line.lease == lease) {
            Some(line) => {
                if line.packets.is_empty() {
                    line.used = line.used.max(self.began);
                }
                line.packets.push_back(packet);
            }
            None => {
                let mut line = self.new_line(lease);
                line.packets.push_back(packet);
                self.lines.push(line);
            }
        }
    }

    fn new_line(&self, lease: u64) -> Line<T> {
        Line {
            lease,
            last: 0,
            used: self.began,
            cost: 0,
            packets: VecDeque::new(),
        }
    }

    /// The packet whose turn it is; `cost` says how much board time a packet takes.
    pub(super) fn next(&mut self, cost: impl FnOnce(&T) -> u64) -> Option<T> {
        if let Some((_, packet)) = self.lost.pop_front() {
            return Some(packet);
        }
        let line = self
            .lines
            .iter_mut()
            .filter(|line| !line.packets.is_empty())
            .min_by_key(|line| (line.used, line.last))?;
        let packet = line.packets.pop_front()?;
        self.turn += 1;
        self.began = line.used;
        line.last = self.turn;
        line.cost = cost(&packet);
        line.used = line.used.saturating_add(line.cost);
        Some(packet)
    }

    /// Gives back a packet whose turn it was: it has cost nothing, and the next turn is its lease's.
    pub(super) fn give_back(&mut self, lease: u64, packet: T) {
        let mut line = self
            .take_line(lease)
            .unwrap_or_else(|| self.new_line(lease));
        line.used = line.used.saturating_sub(line.cost);
        line.cost = 0;
        line.last = 0;
        line.packets.push_front(packet);
        self.lines.insert(0, line);
    }

    fn take_line(&mut self, lease: u64) -> Option<Line<T>> {
        let at = self.lines.iter().position(|line| line.lease == lease)?;
        Some(self.lines.remove(at))
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
        removed.extend(self.take_line(lease).into_iter().flat_map(|it| it.packets));
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
        self.lost.is_empty() && self.lines.iter().all(|line| line.packets.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next of packets that all cost the same.
    fn one(rounds: &mut Rounds<&'static str>) -> Option<&'static str> {
        rounds.next(|_| 1)
    }

    fn drain(rounds: &mut Rounds<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| one(rounds)).collect()
    }

    /// Gives a lease's line so many packets that cost so much each.
    fn fill(rounds: &mut Rounds<(u64, u64)>, lease: u64, cost: u64, packets: usize) {
        for _ in 0..packets {
            rounds.push(lease, (lease, cost));
        }
    }

    /// What so many turns cost each of the leases 0, 1 and 2.
    fn used(rounds: &mut Rounds<(u64, u64)>, turns: usize) -> [u64; 3] {
        let mut used = [0; 3];
        for _ in 0..turns {
            let (lease, cost) = rounds.next(|it| it.1).unwrap();
            used[usize::try_from(lease).unwrap()] += cost;
        }
        used
    }

    #[test]
    fn heavy_packets_win_no_more_of_the_board_than_light_ones() {
        const HEAVY: u64 = 1000;
        const LIGHT: u64 = 7;
        let mut rounds = Rounds::default();
        fill(&mut rounds, 0, HEAVY, 40);
        fill(&mut rounds, 1, LIGHT, 4000);
        let mut sum = [0; 3];
        for _ in 0..2000 {
            let turn = used(&mut rounds, 1);
            sum = [sum[0] + turn[0], sum[1] + turn[1], 0];
            assert!(sum[0].abs_diff(sum[1]) <= HEAVY, "{sum:?}");
        }
        assert!(sum[0] > 10 * HEAVY, "{sum:?}");

        // A new lease has its share from now on, not what it did not use before; so has one that rested.
        fill(&mut rounds, 2, LIGHT, 4000);
        let [heavy, light, new] = used(&mut rounds, 2000);
        assert!(heavy.abs_diff(light) <= HEAVY, "{heavy} {light}");
        assert!(heavy.abs_diff(new) <= HEAVY, "{heavy} {new}");
        rounds.remove(1);
        rounds.remove(2);
        let left = rounds.len();
        used(&mut rounds, left);
        fill(&mut rounds, 1, LIGHT, 4000);
        used(&mut rounds, 3000);
        fill(&mut rounds, 0, HEAVY, 10);
        let [rested, light, _] = used(&mut rounds, 500);
        assert!(rested.abs_diff(light) <= HEAVY, "{rested} {light}");
    }

    /// A lease that is new meanwhile is behind it.
    #[test]
    fn a_packet_that_was_given_back_has_cost_nothing() {
        let mut rounds = Rounds::default();
        fill(&mut rounds, 0, 1000, 2);
        fill(&mut rounds, 1, 600, 3);
        let packet = rounds.next(|it| it.1).unwrap();
        fill(&mut rounds, 2, 600, 1);
        rounds.give_back(0, packet);
        let order = std::iter::from_fn(|| rounds.next(|it| it.1)).map(|it| it.0);
        assert_eq!(order.collect::<Vec<_>>(), [0, 1, 2, 1, 0, 1]);
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
        assert_eq!(one(&mut rounds), Some("a0"));
        assert_eq!(one(&mut rounds), Some("a1"));
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
            let before = std::iter::from_fn(|| one(&mut rounds)).take_while(|it| *it != "c");
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
