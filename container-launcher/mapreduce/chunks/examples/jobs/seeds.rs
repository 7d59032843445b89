//! Numbers that look like chance and are the same each time, and what bytes mean.

/// The number at a place of a sequence (SplitMix64), from 0 to 1: 24 bits, so that it is exact.
pub(crate) fn float(seed: u64, place: u64) -> f32 {
    let mut state = seed.wrapping_add((place + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^= state >> 31;
    let [low, high, third, ..] = state.to_le_bytes();
    let [whole, part] = [u16::from_le_bytes([low, high]), u16::from(third)];
    f32::from(whole) / 65_536.0 + f32::from(part) / 16_777_216.0
}

/// The bytes of so many floats of a sequence, from a place on.
pub(crate) fn bytes(seed: u64, first: u64, count: u64) -> Vec<u8> {
    let floats = (first..first + count).map(|place| float(seed, place));
    floats.flat_map(f32::to_le_bytes).collect()
}

/// The floats that bytes are.
pub(crate) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let words = bytes.chunks_exact(4);
    words.filter_map(|word| Some(f32::from_le_bytes(*word.first_chunk()?)))
}
