//! Numbers between memory, files and processes, converted and never cut.

/// A length of a file as one of memory; beyond memory it is the largest there is, which every bound refuses.
#[inline]
pub(crate) fn size(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// A length of memory as 32 bits; beyond them it is the largest there is, which every bound refuses.
#[inline]
pub(crate) fn word(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The lower 32 bits.
#[inline]
pub(crate) const fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
