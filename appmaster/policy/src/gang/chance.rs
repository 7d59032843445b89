//! Chance from a seed: the same seed gives the same numbers.
//!
//! Source: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators",
//! OOPSLA 2014 (SplitMix64). Good enough to keep jobs out of step, and nothing else is asked of it.

use crate::Millis;

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A span from `shortest` to `longest`, both included, each as likely as the other.
    pub const fn between(&mut self, shortest: Millis, longest: Millis) -> Millis {
        let spans = longest.0.saturating_sub(shortest.0).saturating_add(1);
        // Spans are far below 2⁶⁴: the remainder's bias is of no account.
        match self.next().checked_rem(spans) {
            Some(span) => shortest.plus(Millis(span)),
            None => shortest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut chance = Chance::new(1_234_567);
        let first = [chance.next(), chance.next()];
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn spans_stay_within_their_bounds_and_reach_them() {
        let mut chance = Chance::new(7);
        let spans: Vec<u64> = (0..200)
            .map(|_| chance.between(Millis(3), Millis(5)).0)
            .collect();
        assert_eq!(spans.iter().min(), Some(&3));
        assert_eq!(spans.iter().max(), Some(&5));
        assert_eq!(chance.between(Millis(9), Millis(9)), Millis(9));
    }
}
