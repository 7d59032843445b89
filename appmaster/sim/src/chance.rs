//! Chance that a seed determines.

/// SplitMix64 (G. L. Steele et al., "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 on below `many`; 0 of none.
    pub fn below(&mut self, many: u64) -> u64 {
        self.draw().checked_rem(many).unwrap_or(0)
    }

    /// Above 0, at most 1, evenly.
    pub(crate) fn even(&mut self) -> f64 {
        // The 32 highest bits.
        let bits = u32::try_from(self.draw() >> 32).unwrap_or(u32::MAX);
        (f64::from(bits) + 1.0) / (f64::from(u32::MAX) + 1.0)
    }

    /// Exponential, of this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.even().ln()
    }

    /// Log-normal: its logarithm has this mean and deviation (Box and Muller's transform).
    pub(crate) fn log_normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * self.even().ln()).sqrt();
        let angle = std::f64::consts::TAU * self.even();
        (radius * angle.cos()).mul_add(deviation, mean).exp()
    }

    /// Puts them in any order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            let among = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1);
            let other = usize::try_from(self.below(among)).unwrap_or(0);
            all.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_that_are_asked_for() {
        let mut chance = Chance::seeded(7);
        let count = 200_000;
        let sum: f64 = (0..count).map(|_| chance.exponential(50.0)).sum();
        assert!((sum / f64::from(count) - 50.0).abs() < 0.5);
        // The logarithm's mean, and its deviation.
        let logs: Vec<f64> = (0..count)
            .map(|_| chance.log_normal(9.95, 1.68).ln())
            .collect();
        let mean = logs.iter().sum::<f64>() / f64::from(count);
        let square = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / f64::from(count);
        assert!((mean - 9.95).abs() < 0.02 && (square.sqrt() - 1.68).abs() < 0.02);
        let mut all: Vec<u32> = (0..100).collect();
        chance.shuffle(&mut all);
        assert_ne!(all, (0..100).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }
}
