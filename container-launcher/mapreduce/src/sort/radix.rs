//! Entries of sixteen bytes, and how they are sorted.
//!
//! An entry is one number: the first eight bytes of the key (big-endian, short keys padded with zeros), then
//! where the record lies, then the key's length. So the order of entries as numbers is the order of
//! prefixes and, among equal ones, that of arrival: what remains are ties between keys longer than their
//! prefix. Large lists are dealt into buckets by those bits in which they differ first.

/// One record of the arena: `prefix` in the upper 64 bits, `offset` in the next 32, `length` below.
pub(crate) type SortEntry = u128;

/// Below this many entries the standard sort is as fast.
const SMALL: usize = 4096;
/// Bits by which a list is dealt.
const BITS: u32 = 10;

#[inline]
pub(crate) fn entry(key: &[u8], offset: u32, length: u32) -> SortEntry {
    (u128::from(prefix(key)) << 64) | (u128::from(offset) << 32) | u128::from(length)
}

/// The first eight bytes of a key as a number, missing ones zero.
#[inline]
pub(crate) fn prefix(key: &[u8]) -> u64 {
    super::digest::word_of(key).swap_bytes()
}

#[inline]
const fn prefix_of(entry: SortEntry) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = entry.to_le_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Where the record lies, and how long its key is.
#[inline]
pub(crate) const fn place_of(entry: SortEntry) -> (usize, usize) {
    let [l0, l1, l2, l3, o0, o1, o2, o3, ..] = entry.to_le_bytes();
    (
        u32::from_le_bytes([o0, o1, o2, o3]) as usize,
        u32::from_le_bytes([l0, l1, l2, l3]) as usize,
    )
}

/// Sorts `entries` by the keys that they stand for; `key` finds the bytes of one. `room` is working space,
/// kept from call to call.
pub(crate) fn sort<'a>(
    entries: &mut [SortEntry],
    room: &mut Vec<SortEntry>,
    key: impl Fn(SortEntry) -> &'a [u8] + Copy,
) {
    by_prefix(entries, room);
    break_ties(entries, key);
}

fn by_prefix(entries: &mut [SortEntry], room: &mut Vec<SortEntry>) {
    if entries.len() <= SMALL {
        entries.sort_unstable();
        return;
    }
    // The first bit in which any two prefixes differ.
    let first = entries.first().copied().unwrap_or_default();
    let differing = prefix_of(entries.iter().fold(0, |bits, entry| bits | (entry ^ first)));
    if differing == 0 {
        // Prefixes are equal: what is left of the order is that of arrival.
        entries.sort_unstable();
        return;
    }
    let shift = (64 - differing.leading_zeros()).saturating_sub(BITS);
    let mask = (1_u64 << BITS) - 1;
    let bucket = |entry: SortEntry| crate::width::low((prefix_of(entry) >> shift) & mask) as usize;
    let mut starts = [0_usize; 1 << BITS];
    for &entry in entries.iter() {
        starts[bucket(entry)] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    room.clear();
    room.extend_from_slice(entries);
    for &entry in room.iter() {
        let start = &mut starts[bucket(entry)];
        if let Some(place) = entries.get_mut(*start) {
            *place = entry;
        }
        *start += 1;
    }
    // `starts` are the ends now.
    let mut from = 0;
    for end in starts {
        if let Some(bucket) = entries.get_mut(from..end) {
            by_prefix(bucket, room);
        }
        from = end;
    }
}

/// Sorts what has equal prefixes by the whole keys, equal keys by arrival.
fn break_ties<'a>(entries: &mut [SortEntry], key: impl Fn(SortEntry) -> &'a [u8] + Copy) {
    for run in entries.chunk_by_mut(|a, b| prefix_of(*a) == prefix_of(*b)) {
        if run.len() > 1 && !all_short_and_equal(run) {
            run.sort_unstable_by(|a, b| key(*a).cmp(key(*b)).then_with(|| a.cmp(b)));
        }
    }
}

/// Keys within their prefix are equal where their lengths are.
fn all_short_and_equal(run: &[SortEntry]) -> bool {
    let mut lengths = run.iter().map(|entry| place_of(*entry).1);
    lengths
        .next()
        .is_none_or(|first| first <= 8 && lengths.all(|length| length == first))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{entry, place_of, sort};

    fn sorted(keys: &[Vec<u8>]) -> Vec<usize> {
        let mut entries: Vec<_> = (0_u32..)
            .zip(keys)
            .map(|(at, key)| entry(key, at, u32::try_from(key.len()).unwrap()))
            .collect();
        sort(&mut entries, &mut Vec::new(), |entry| {
            &keys[place_of(entry).0]
        });
        entries.iter().map(|entry| place_of(*entry).0).collect()
    }

    fn expected(keys: &[Vec<u8>]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
        order
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(keys in prop::collection::vec(prop::collection::vec(0_u8..3, 0..12), 0..200)) {
            prop_assert_eq!(sorted(&keys), expected(&keys));
        }
    }

    #[test]
    fn large_lists_with_few_and_many_differences_are_sorted() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        for shape in 0..4 {
            let keys: Vec<Vec<u8>> = (0..40_000)
                .map(|_| match shape {
                    0 => random().to_be_bytes().to_vec(),
                    1 => format!("the same beginning {}", random() % 1000).into_bytes(),
                    2 => vec![b'a'; usize::try_from(random() % 10).unwrap()],
                    _ => b"equal".to_vec(),
                })
                .collect();
            assert_eq!(sorted(&keys), expected(&keys), "shape {shape}");
        }
    }
}
