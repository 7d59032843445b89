//! Numbers for the messages of one direction, so that a fresh link goes on where the last one stopped.
//!
//! The sender numbers its messages from 1 and keeps each until the receiver has taken it; the receiver
//! takes each number once, in order, and says which one it took last. A link may break at any moment and
//! lose whatever was on its way, in both directions. The next one begins with what the receiver took
//! last: what follows is sent again, and what comes twice is known by its number.
//!
//! Nothing here waits, sends or looks at a clock: times are spans since any moment that the owner chose.

use std::collections::VecDeque;
use std::time::Duration;

use thiserror::Error;

/// How much may wait until the receiver has taken it.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Messages at the most.
    pub count: usize,
    /// Their bytes at the most, as the sender counts them.
    pub bytes: usize,
}

/// More waits for the receiver than may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{count} messages of {bytes} bytes wait already")]
pub struct Full {
    /// Messages that wait.
    pub count: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// What a peer said of numbers cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SequenceError {
    /// It has taken a message that was never sent.
    #[error("took message {taken}, and {sent} were sent")]
    Unsent {
        /// What it says.
        taken: u64,
        /// The last that was sent.
        sent: u64,
    },
    /// It has forgotten what it took.
    #[error("has forgotten that it took message {acknowledged}: the last it knows of is {taken}")]
    Forgotten {
        /// What it says.
        taken: u64,
        /// What it has said before.
        acknowledged: u64,
    },
    /// Messages before this one are missing.
    #[error("sent message {number} after {taken}")]
    Gap {
        /// What came.
        number: u64,
        /// The last that was taken.
        taken: u64,
    },
}

/// One message that is kept.
#[derive(Debug)]
struct Unacknowledged<T> {
    since: Duration,
    bytes: usize,
    what: T,
}

/// The sender's end.
#[derive(Debug)]
pub struct Outgoing<T> {
    bounds: Bounds,
    /// Those that the receiver has not taken yet, as far as is known. Their numbers follow `acknowledged`.
    kept: VecDeque<Unacknowledged<T>>,
    bytes: usize,
    /// The last that the receiver has taken.
    acknowledged: u64,
    /// Of those that are kept, how many were handed to the present link.
    handed: usize,
    /// When the receiver last took one.
    progress: Duration,
}

impl<T: Clone> Outgoing<T> {
    /// Of which so much may wait.
    #[must_use]
    pub const fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            kept: VecDeque::new(),
            bytes: 0,
            acknowledged: 0,
            handed: 0,
            progress: Duration::ZERO,
        }
    }

    /// One more message, of so many bytes, at the time `now`.
    ///
    /// # Errors
    /// Too much waits; the message is not among it.
    pub fn push(&mut self, now: Duration, what: T, bytes: usize) -> Result<(), Full> {
        if !self.has_room() {
            return Err(Full {
                count: self.kept.len(),
                bytes: self.bytes,
            });
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.kept.push_back(Unacknowledged {
            since: now,
            bytes,
            what,
        });
        Ok(())
    }

    /// Whether one more may wait, however long it is.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.kept.len() < self.bounds.count && self.bytes < self.bounds.bytes
    }

    /// The next message for the present link, with its number.
    pub fn hand_over(&mut self) -> Option<(u64, T)> {
        let what = self.kept.get(self.handed)?.what.clone();
        self.handed = self.handed.saturating_add(1);
        Some((self.sent(), what))
    }

    /// Whether the present link has been handed everything.
    #[must_use]
    pub fn is_handed_over(&self) -> bool {
        self.handed == self.kept.len()
    }

    /// The number of the last message that was handed to the present link, or was taken before.
    fn sent(&self) -> u64 {
        self.acknowledged
            .saturating_add(u64::try_from(self.handed).unwrap_or(u64::MAX))
    }

    /// The receiver says, on the present link or late on an earlier one, what it took last.
    ///
    /// # Errors
    /// That cannot be.
    pub fn acknowledge(&mut self, now: Duration, taken: u64) -> Result<(), SequenceError> {
        let last = self
            .acknowledged
            .saturating_add(u64::try_from(self.kept.len()).unwrap_or(u64::MAX));
        if taken > last {
            return Err(SequenceError::Unsent { taken, sent: last });
        }
        while self.acknowledged < taken {
            let Some(kept) = self.kept.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(kept.bytes);
            self.acknowledged = self.acknowledged.saturating_add(1);
            self.handed = self.handed.saturating_sub(1);
            self.progress = now;
        }
        Ok(())
    }

    /// A fresh link begins: the receiver says what it took last, and is sent what follows.
    ///
    /// # Errors
    /// That cannot be.
    pub fn resume(&mut self, now: Duration, taken: u64) -> Result<(), SequenceError> {
        if taken < self.acknowledged {
            return Err(SequenceError::Forgotten {
                taken,
                acknowledged: self.acknowledged,
            });
        }
        self.acknowledge(now, taken)?;
        self.handed = 0;
        Ok(())
    }

    /// Since when the receiver has taken nothing of what waits for it; `None`: nothing waits.
    #[must_use]
    pub fn waits_since(&self) -> Option<Duration> {
        let oldest = self.kept.front()?;
        Some(oldest.since.max(self.progress))
    }

    /// What the present link has not been handed yet.
    pub fn unsent(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().skip(self.handed).map(|kept| &kept.what)
    }

    /// How much waits.
    #[must_use]
    pub fn waiting(&self) -> Full {
        Full {
            count: self.kept.len(),
            bytes: self.bytes,
        }
    }
}

/// The receiver's end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Incoming {
    taken: u64,
}

impl Incoming {
    /// The number of the last message that was taken; 0: none.
    #[must_use]
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the message of this number is new; one that is not is to be dropped.
    ///
    /// # Errors
    /// One before it is missing.
    pub const fn is_new(&self, number: u64) -> Result<bool, SequenceError> {
        if number > self.taken.saturating_add(1) {
            let taken = self.taken;
            return Err(SequenceError::Gap { number, taken });
        }
        Ok(number > self.taken)
    }

    /// The message of this number has been taken.
    pub fn took(&mut self, number: u64) {
        self.taken = self.taken.max(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        count: 4,
        bytes: 100,
    };

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    fn next(outgoing: &mut Outgoing<char>) -> Option<(u64, char)> {
        outgoing.hand_over()
    }

    #[test]
    fn a_fresh_link_is_sent_what_was_not_taken() {
        let mut outgoing = Outgoing::new(BOUNDS);
        for what in ['a', 'b', 'c'] {
            outgoing.push(at(1), what, 10).unwrap();
        }
        assert_eq!(next(&mut outgoing), Some((1, 'a')));
        assert_eq!(next(&mut outgoing), Some((2, 'b')));
        outgoing.acknowledge(at(2), 1).unwrap();
        assert_eq!(outgoing.unsent().copied().collect::<Vec<_>>(), ['c']);
        // The link breaks; b had come, its acknowledgement had not.
        outgoing.resume(at(3), 2).unwrap();
        assert_eq!(next(&mut outgoing), Some((3, 'c')));
        assert_eq!(next(&mut outgoing), None);
        // It breaks again, and c has not come.
        outgoing.resume(at(3), 2).unwrap();
        assert_eq!(next(&mut outgoing), Some((3, 'c')));
        assert!(outgoing.is_handed_over());
        outgoing.acknowledge(at(4), 3).unwrap();
        assert_eq!(outgoing.waiting(), Full { count: 0, bytes: 0 });
    }

    #[test]
    fn what_cannot_be_is_said() {
        let mut outgoing = Outgoing::new(BOUNDS);
        outgoing.push(at(0), 'a', 1).unwrap();
        let unsent = SequenceError::Unsent { taken: 2, sent: 1 };
        assert_eq!(outgoing.acknowledge(at(0), 2), Err(unsent));
        outgoing.hand_over();
        outgoing.acknowledge(at(0), 1).unwrap();
        // A late word of an earlier link is none to worry about; a peer that begins anew is.
        outgoing.acknowledge(at(0), 0).unwrap();
        let forgotten = SequenceError::Forgotten {
            taken: 0,
            acknowledged: 1,
        };
        assert_eq!(outgoing.resume(at(0), 0), Err(forgotten));
        let mut incoming = Incoming::default();
        assert_eq!(incoming.is_new(1), Ok(true));
        incoming.took(1);
        assert_eq!(incoming.is_new(1), Ok(false));
        let gap = SequenceError::Gap {
            number: 3,
            taken: 1,
        };
        assert_eq!(incoming.is_new(3), Err(gap));
    }

    #[test]
    fn what_waits_is_bounded_by_count_and_by_bytes() {
        let mut outgoing = Outgoing::new(BOUNDS);
        for what in ['a', 'b', 'c', 'd'] {
            outgoing.push(at(0), what, 1).unwrap();
        }
        assert_eq!(
            outgoing.push(at(0), 'e', 1),
            Err(Full { count: 4, bytes: 4 })
        );
        outgoing.hand_over();
        outgoing.acknowledge(at(0), 1).unwrap();
        outgoing.push(at(0), 'e', 1000).unwrap();
        outgoing.hand_over();
        outgoing.acknowledge(at(0), 2).unwrap();
        let full = Full {
            count: 3,
            bytes: 1002,
        };
        assert_eq!(outgoing.push(at(0), 'f', 1), Err(full));
    }

    #[test]
    fn who_takes_one_after_the_other_is_not_stuck() {
        let mut outgoing = Outgoing::new(BOUNDS);
        assert_eq!(outgoing.waits_since(), None);
        for (second, what) in [(10, 'a'), (11, 'b'), (12, 'c')] {
            outgoing.push(at(second), what, 1).unwrap();
        }
        assert_eq!(outgoing.waits_since(), Some(at(10)));
        outgoing.hand_over();
        outgoing.acknowledge(at(30), 1).unwrap();
        assert_eq!(outgoing.waits_since(), Some(at(30)));
        // A fresh link alone is no progress.
        outgoing.resume(at(50), 1).unwrap();
        assert_eq!(outgoing.waits_since(), Some(at(30)));
    }

    /// A generator of chances; the same seed, the same chances.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
            self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    /// What is under way on one link: messages that way, acknowledgements this way.
    #[derive(Default)]
    struct LossyLink {
        there: VecDeque<(u64, u64)>,
        back: VecDeque<u64>,
    }

    #[test]
    fn whatever_links_lose_repeat_and_bring_late_each_message_is_taken_once_in_order() {
        let mut all = 0;
        for seed in 0..300 {
            let mut chance = Chance(seed);
            let bounds = Bounds {
                count: 20,
                bytes: usize::MAX,
            };
            let (mut outgoing, mut incoming) = (Outgoing::new(bounds), Incoming::default());
            let mut pushed = 0_u64;
            let mut taken: Vec<u64> = Vec::new();
            // The last is the present one; what the others still hold may come late.
            let mut links = vec![LossyLink::default()];
            for _ in 0..2_000 {
                let of = usize::try_from(chance.below(links.len() as u64)).unwrap();
                match chance.below(12) {
                    0..=2 if outgoing.push(at(0), pushed, 1).is_ok() => pushed += 1,
                    3..=5 => {
                        let next = outgoing.hand_over();
                        links.last_mut().unwrap().there.extend(next);
                    }
                    6..=8 => {
                        if let Some((number, what)) = links[of].there.pop_front() {
                            if incoming.is_new(number).unwrap() {
                                incoming.took(number);
                                taken.push(what);
                            }
                            links[of].back.push_back(incoming.taken());
                        }
                    }
                    9..=10 => {
                        if let Some(said) = links[of].back.pop_front() {
                            outgoing.acknowledge(at(0), said).unwrap();
                        }
                    }
                    11 => {
                        // All that is under way on the present link is lost, or comes when it likes.
                        if chance.below(2) == 0 {
                            links.pop();
                        }
                        outgoing.resume(at(0), incoming.taken()).unwrap();
                        links.push(LossyLink::default());
                        // What is older is lost at last.
                        if links.len() > 4 {
                            links.remove(0);
                        }
                    }
                    _ => {}
                }
            }
            // At last a link that holds.
            outgoing.resume(at(0), incoming.taken()).unwrap();
            while let Some((number, what)) = outgoing.hand_over() {
                assert!(incoming.is_new(number).unwrap());
                incoming.took(number);
                taken.push(what);
            }
            all += pushed;
            assert_eq!(taken, (0..pushed).collect::<Vec<u64>>(), "seed {seed}");
        }
        assert!(all > 20_000, "{all}");
    }
}
