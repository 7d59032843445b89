//! Chance that can be had again: the same seed, the same moments.

use std::time::Duration;

/// SplitMix64 (Steele, Lea, Flood, 2014): every seed is a good one.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Starts at `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..sides`; 0 if there are none. The bias of so few sides is nothing.
    pub fn throw(&mut self, sides: u64) -> u64 {
        self.next().checked_rem(sides).unwrap_or(0)
    }

    /// A time below `bound`, in whole milliseconds.
    pub fn time(&mut self, bound: Duration) -> Duration {
        let bound = u64::try_from(bound.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.throw(bound))
    }

    /// One of `all`.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(all.len()).unwrap_or(u64::MAX);
        all.get(usize::try_from(self.throw(count)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same() {
        let throws = |seed| {
            let mut dice = Dice::new(seed);
            [(); 8].map(|()| dice.throw(1000))
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        assert!(Dice::new(1).time(Duration::from_secs(2)) < Duration::from_secs(2));
        assert_eq!(Dice::new(1).pick::<u8>(&[]), None);
    }
}
