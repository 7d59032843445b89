//! Hashes: of short keys, of records as a multiset, of bytes in their order.
//!
//! Folded multiplication, as in wyhash: two words, multiplied to 128 bits, halves joined. With fixed seeds it tells runs of
//! one program apart, and withstands nobody who wants collisions: keys of the same hash can be written down. Where
//! that would cost time, each task has seeds of its own. They follow from the job's settings and the task's split: keys that
//! collide in one task do not collide in the next, nor in another job. They are no secret: an author of input who knows
//! settings, split and program of a job computes its seeds, and writes keys that collide there.

/// What a hash is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seeds([u64; 3]);

/// The seeds of hashes that processes compare.
const SEEDS: [u64; 3] = [
    0x9E37_79B9_7F4A_7C15,
    0xD6E8_FEB8_6659_FD93,
    0xA076_1D64_78BD_642F,
];

/// The next number of SplitMix64.
pub(crate) const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let wide = (a as u128) * (b as u128);
    let [
        l0,
        l1,
        l2,
        l3,
        l4,
        l5,
        l6,
        l7,
        h0,
        h1,
        h2,
        h3,
        h4,
        h5,
        h6,
        h7,
    ] = wide.to_le_bytes();
    u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7])
        ^ u64::from_le_bytes([h0, h1, h2, h3, h4, h5, h6, h7])
}

/// Up to eight bytes as a little-endian word; missing ones are zero.
#[inline]
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*word);
    }
    // Two loads that overlap instead of a loop over single bytes.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let shift = (bytes.len() - 4) * 8;
        return u64::from(u32::from_le_bytes(*first))
            | u64::from(u32::from_le_bytes(*last)) << shift;
    }
    match bytes {
        [] => 0,
        [a] => u64::from(*a),
        [a, b] => u64::from(*a) | u64::from(*b) << 8,
        [a, b, c, ..] => u64::from(*a) | u64::from(*b) << 8 | u64::from(*c) << 16,
    }
}

/// Hash of a byte string, and of its length, as all processes make it.
#[inline]
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    Seeds(SEEDS).hash(bytes, seed)
}

impl Seeds {
    /// Seeds that only those know who know all of these `parts`, whatever some of them are.
    pub(crate) fn of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut state = parts.fold(0_u64, |state, part| {
            // A part that somebody has chosen takes nothing away from what the others are.
            (state.rotate_left(23) ^ hash(part, 0)).wrapping_mul(SEEDS[0])
        });
        Self([(); 3].map(|()| split_mix(&mut state)))
    }

    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8], seed: u64) -> u64 {
        let seeds = &self.0;
        let mut state = seed ^ seeds[0];
        let mut rest = bytes;
        while let Some((head, tail)) = rest.split_first_chunk::<16>() {
            let (low, high) = head.split_at(8);
            state = fold(word_of(low) ^ seeds[1], word_of(high) ^ state);
            rest = tail;
        }
        let (low, high) = rest.split_at(rest.len().min(8));
        fold(
            word_of(low) ^ seeds[2] ^ bytes.len() as u64,
            word_of(high) ^ state,
        )
    }

    /// Hash of two words of a short key and its length.
    #[inline]
    pub(crate) const fn hash_words(&self, low: u64, high: u64, length: u64) -> u64 {
        fold(low ^ self.0[1], high ^ self.0[0] ^ length)
    }

    /// The seeds that anybody can read.
    #[cfg(test)]
    pub(crate) const KNOWN: Self = Self(SEEDS);

    /// Eight bytes at which a known hash forgets everything else.
    #[cfg(test)]
    pub(crate) const fn blind_spot(&self) -> [u8; 8] {
        self.0[1].to_le_bytes()
    }
}

/// The two digests of a partition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digests {
    /// Of its blocks, in their order.
    pub(crate) bytes: u64,
    /// Of its records: a sum, so that their order does not matter.
    pub(crate) records: u64,
}

impl Digests {
    #[inline]
    pub(crate) fn record(&mut self, key: &[u8], value: &[u8]) {
        self.records = self.records.wrapping_add(hash(value, hash(key, 0)));
    }

    pub(crate) const fn block(&mut self, head: &[u8; super::block::HEAD]) {
        // The CRC in the head stands for the block's bytes.
        let [a, b, c, d, .., w, x, y, z] = *head;
        self.bytes = fold(
            self.bytes ^ SEEDS[1],
            u64::from_le_bytes([a, b, c, d, w, x, y, z]) ^ SEEDS[2],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Digests, Seeds, hash, word_of};

    #[test]
    fn a_word_is_its_bytes_and_zeros() {
        for length in 0..=9_usize {
            let bytes: Vec<u8> = (1..=9).take(length).collect();
            let mut padded = bytes.clone();
            padded.resize(9, 0);
            assert_eq!(
                word_of(&bytes),
                u64::from_le_bytes(padded[..8].try_into().unwrap()),
                "{length}"
            );
        }
    }

    #[test]
    fn order_does_not_matter_and_content_does() {
        let of = |records: &[(&[u8], &[u8])]| {
            let mut digests = Digests::default();
            records
                .iter()
                .for_each(|(key, value)| digests.record(key, value));
            digests.records
        };
        assert_eq!(
            of(&[(b"a", b"1"), (b"b", b"2")]),
            of(&[(b"b", b"2"), (b"a", b"1")])
        );
        assert_ne!(of(&[(b"a", b"1")]), of(&[(b"a", b"1"), (b"a", b"1")]));
        assert_ne!(of(&[(b"ab", b"1")]), of(&[(b"a", b"b1")]));
        assert_ne!(hash(b"0123456789abcdef", 0), hash(b"0123456789abcdeg", 0));
    }

    #[test]
    fn seeds_are_of_all_their_parts() {
        let of = |parts: &[&[u8]]| Seeds::of(parts.iter().copied()).0;
        assert_eq!(of(&[b"a", b"b"]), of(&[b"a", b"b"]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"b", b"a"]));
        // A part in which a known hash forgets what was before it.
        let blind = [Seeds::KNOWN.blind_spot(), [0; 8]].concat();
        assert_ne!(of(&[b"a", &blind]), of(&[b"b", &blind]));
    }
}
