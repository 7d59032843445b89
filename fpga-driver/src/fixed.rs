//! Fixed point, as the accelerators compute in it: the same bits on every machine.

/// Bits after the point of a vector's elements.
pub const Q22: u32 = 22;
/// Bits after the point of log probabilities.
pub const Q24: u32 = 24;

/// The nearest number with 22 bits after the point, halves to even; what is too large is cut off.
pub fn q22(value: f64) -> i32 {
    fixed(value, Q22)
}

/// The same for a number from -1 to 1, without the call that rounds elsewhere; what is far beyond gives
/// some number.
pub fn q22_of_unit(value: f64) -> i32 {
    // At 1.5 * 2^52 a double's last bit counts ones, so that the sum is rounded, halves to even; the
    // integer stands in the lowest bits.
    let ones = (value * f64::from(1u32 << Q22) + 6_755_399_441_055_744.0).to_bits();
    let [a, b, c, d, ..] = ones.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// The same with 24 bits.
pub fn q24(value: f64) -> i32 {
    fixed(value, Q24)
}

/// The number that such bits stand for.
pub fn from_q22(bits: i32) -> f64 {
    f64::from(bits) / f64::from(1u32 << Q22)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float becomes an integer by saturating: the bounds are what is wanted, and NaN gives 0"
)]
fn fixed(value: f64, bits: u32) -> i32 {
    (value * f64::from(1u32 << bits)).round_ties_even() as i32
}

/// SplitMix64 (Steele, Lea, Flood 2014): the seeded data of examples and tests is part of what they
/// assert, so that its generator must never change.
#[derive(Debug, Clone)]
pub struct Seeded(pub u64);

impl Seeded {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `0..bound`; 0 where the bound is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        let high = (self.bits() >> 32) * u64::from(bound);
        u32::try_from(high >> 32).unwrap_or(0)
    }

    /// From 0 to below 1, in steps of 2^-32.
    pub fn share(&mut self) -> f64 {
        let [_, _, _, _, a, b, c, d] = self.bits().to_le_bytes();
        f64::from(u32::from_le_bytes([a, b, c, d])) / 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_even_and_ends_at_the_bounds() {
        let step = 1.0 / f64::from(1u32 << Q22);
        assert_eq!([0.5, 1.5, -0.5, -1.5].map(|n| q22(n * step)), [0, 2, 0, -2]);
        assert_eq!(q22(1.0), 1 << 22);
        assert_eq!(
            [q22(1e9), q22(-1e9), q22(f64::NAN)],
            [i32::MAX, i32::MIN, 0]
        );
        assert_eq!(q24(-1.0), -(1 << 24));
    }

    #[test]
    fn both_ways_to_round_give_the_same() {
        let mut seeded = Seeded(4);
        for _ in 0..100_000 {
            let value = seeded.share() * 2.0 - 1.0;
            assert_eq!(q22_of_unit(value), q22(value));
        }
        let step = 1.0 / f64::from(1u32 << Q22);
        for n in [
            -1.0,
            -0.0,
            0.0,
            1.0,
            0.5 * step,
            1.5 * step,
            -0.5 * step,
            -2.5 * step,
        ] {
            assert_eq!(q22_of_unit(n), q22(n), "{n}");
        }
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut seeded = Seeded(0);
        assert_eq!(seeded.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(seeded.bits(), 0x6e78_9e6a_a1b9_65f4);
        assert!((0..1000).all(|_| seeded.below(7) < 7 && seeded.share() < 1.0));
    }
}
