//! Matrices that are made of a number.

/// Which of the two.
pub(crate) const LEFT: u64 = 1;
pub(crate) const RIGHT: u64 = 2;

/// `count` rows of `columns` numbers from 0 to 1, from row `first` on.
pub(crate) fn rows(seed: u64, matrix: u64, first: u64, count: u64, columns: u32) -> Vec<f32> {
    let mut numbers = Vec::new();
    for row in first..first + count {
        let mut state = mixed(mixed(seed ^ (matrix << 60)) ^ row);
        for _ in 0..columns {
            state = state.wrapping_add(STEP);
            let [high, low, ..] = mixed(state).to_be_bytes();
            numbers.push(f32::from(u16::from_be_bytes([high, low])) / 65536.0);
        }
    }
    numbers
}

/// The step of `SplitMix64`, and how it mixes (Steele, Lea, Flood, OOPSLA 2014).
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mixed(number: u64) -> u64 {
    let mut mixed = number;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
