//! Values of equal keys folded before anything is sorted: an open table with short keys and values inline.
//!
//! Iterated in the order of its slots, which depends on keys and on seeds, and these on the task alone: its attempts have
//! the same. Keys that all look for one slot must be chosen for one task, by an author of its input who knows settings, split
//! and program of the job, or guesses them.

use super::collect::Fold;
use super::digest::{Seeds, word_of};
use crate::error::Result;
use crate::width::word;

/// Keys up to this length are in the slot.
const INLINE: usize = 16;
/// Slots of a new table.
const FIRST: usize = 1 << 12;
/// After so many records it is looked at whether folding is worth it.
const TRIAL: u64 = 1 << 16;
/// It is not where more than this many hundredths of the records are new keys.
const NEW_MAX: u64 = 80;

/// 32 bytes, so that two share a cache line and none lies in two.
///
/// To ask the memory for the slots of sixteen records before the first of them is folded in was tried: word count took
/// 1.4 times as long.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct TableSlot {
    /// As in [`Sought`].
    low: u64,
    /// As in [`Sought`]; of a longer key, where it lies in the arena.
    high: u64,
    /// The value, if it has at most eight bytes; else where it lies in the arena.
    value: u64,
    /// The key's length and one; 0 is an empty slot.
    key_length: u32,
    value_length: u32,
}

/// A key as it is looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sought {
    /// The first eight bytes of a key up to [`INLINE`]; of a longer one its hash.
    low: u64,
    /// The other bytes of a key up to [`INLINE`].
    high: u64,
    hash: u64,
    /// The key's length and one.
    key_length: u32,
}

impl Sought {
    #[inline]
    pub(crate) fn new(key: &[u8], seeds: &Seeds) -> Self {
        let key_length = word(key.len()).saturating_add(1);
        if key.len() <= INLINE {
            let (low, high) = (word_of(key), word_of(key.get(8..).unwrap_or_default()));
            return Self {
                low,
                high,
                hash: seeds.hash_words(low, high, key.len() as u64),
                key_length,
            };
        }
        let hash = seeds.hash(key, 0);
        Self {
            low: hash,
            high: 0,
            hash,
            key_length,
        }
    }
}

/// The bytes of a key that is in its slot.
#[inline]
fn short_key(low: u64, high: u64, to: &mut [u8]) {
    let (first, rest) = to.split_at_mut(8);
    first.copy_from_slice(&low.to_le_bytes());
    rest.copy_from_slice(&high.to_le_bytes());
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// It is in the table.
    Here,
    /// It is in the table, which has more than its budget now: it must be emptied next.
    Last,
    /// The table is full: it must be emptied first.
    Full,
}

/// The table.
pub(crate) struct CombineTable {
    slots: Vec<TableSlot>,
    used: usize,
    arena: Vec<u8>,
    /// Most bytes of slots and arena together.
    budget: usize,
    seen: u64,
    new: u64,
    scratch: Vec<u8>,
    seeds: Seeds,
}

impl CombineTable {
    pub(crate) fn new(budget: usize, seeds: Seeds) -> Self {
        Self {
            slots: vec![TableSlot::default(); FIRST],
            used: 0,
            arena: Vec::new(),
            budget,
            seen: 0,
            new: 0,
            scratch: Vec::new(),
            seeds,
        }
    }

    /// A key as it is looked for here.
    #[inline]
    pub(crate) fn sought(&self, key: &[u8]) -> Sought {
        Sought::new(key, &self.seeds)
    }

    /// The hash of the key in a slot.
    #[inline]
    const fn hash_of(seeds: &Seeds, slot: &TableSlot) -> u64 {
        let length = slot.key_length as usize - 1;
        if length <= INLINE {
            seeds.hash_words(slot.low, slot.high, length as u64)
        } else {
            slot.low
        }
    }

    /// Whether records fold so seldom that the table only costs.
    pub(crate) const fn is_useless(&self) -> bool {
        self.seen == TRIAL && self.new * 100 > TRIAL * NEW_MAX
    }

    /// The slot at which a key is looked for first.
    #[inline]
    fn first(&self, hash: u64) -> usize {
        crate::width::low(hash) as usize & (self.slots.len() - 1)
    }

    /// Folds a record in, whose `key` is `sought`.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        sought: &Sought,
        key: &[u8],
        value: &[u8],
        fold: &mut (impl Fold + ?Sized),
    ) -> Result<Inserted> {
        let short = sought.key_length as usize <= INLINE + 1;
        let mask = self.slots.len() - 1;
        let mut at = self.first(sought.hash);
        loop {
            let slot = &self.slots[at];
            if slot.key_length == 0 {
                break;
            }
            if slot.low == sought.low
                && slot.key_length == sought.key_length
                && if short {
                    slot.high == sought.high
                } else {
                    self.arena_at(slot.high, key.len()) == key
                }
            {
                self.seen += 1;
                self.scratch.clear();
                let length = slot.value_length as usize;
                if length <= 8 {
                    let left = slot.value.to_le_bytes();
                    fold.fold(key, &left[..length], value, &mut self.scratch)?;
                } else {
                    let start = crate::width::size(slot.value);
                    let left = self.arena.get(start..start + length).unwrap_or_default();
                    fold.fold(key, left, value, &mut self.scratch)?;
                }
                return Ok(self.replace(at));
            }
            at = (at + 1) & mask;
        }
        self.add(sought, key, value)
    }

    /// Puts a key into the table that is not there.
    fn add(&mut self, sought: &Sought, key: &[u8], value: &[u8]) -> Result<Inserted> {
        let short = key.len() <= INLINE;
        let more =
            if short { 0 } else { key.len() } + if value.len() <= 8 { 0 } else { value.len() };
        if self.used * 2 >= self.slots.len() && !self.grow(more)
            || self.bytes() + more > self.budget && self.used > 0
        {
            return Ok(Inserted::Full);
        }
        self.seen += 1;
        self.new += 1;
        let high = if short {
            sought.high
        } else {
            u64::from(self.keep(key))
        };
        let stored = if value.len() <= 8 {
            word_of(value)
        } else {
            u64::from(self.keep(value))
        };
        let mask = self.slots.len() - 1;
        let mut at = self.first(sought.hash);
        while self.slots[at].key_length != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = TableSlot {
            low: sought.low,
            high,
            value: stored,
            key_length: sought.key_length,
            value_length: word(value.len()),
        };
        self.used += 1;
        Ok(Inserted::Here)
    }

    fn arena_at(&self, start: u64, length: usize) -> &[u8] {
        let start = crate::width::size(start);
        self.arena.get(start..start + length).unwrap_or_default()
    }

    fn keep(&mut self, bytes: &[u8]) -> u32 {
        let at = word(self.arena.len());
        self.arena.extend_from_slice(bytes);
        at
    }

    /// Puts what was folded into slot `at`.
    #[inline]
    fn replace(&mut self, at: usize) -> Inserted {
        let length = self.scratch.len();
        let slot = &mut self.slots[at];
        let old = slot.value_length as usize;
        slot.value_length = word(length);
        if length <= 8 {
            slot.value = word_of(&self.scratch);
            return Inserted::Here;
        }
        if old > 8 && length <= old {
            let start = crate::width::size(slot.value);
            if let Some(place) = self.arena.get_mut(start..start + length) {
                place.copy_from_slice(&self.scratch);
            }
            return Inserted::Here;
        }
        slot.value = u64::from(word(self.arena.len()));
        self.arena.extend_from_slice(&self.scratch);
        // A value that grew has left its old place behind.
        if self.bytes() > self.budget {
            Inserted::Last
        } else {
            Inserted::Here
        }
    }

    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<TableSlot>() + self.arena.len()
    }

    /// Doubles the table, unless that were beyond its budget.
    fn grow(&mut self, more: usize) -> bool {
        // Old and new slots live together for a moment.
        if self.bytes() + 2 * self.slots.len() * size_of::<TableSlot>() + more > self.budget {
            return false;
        }
        let doubled = vec![TableSlot::default(); self.slots.len() * 2];
        let mask = doubled.len() - 1;
        for slot in std::mem::replace(&mut self.slots, doubled) {
            if slot.key_length == 0 {
                continue;
            }
            let hash = Self::hash_of(&self.seeds, &slot);
            let mut at = crate::width::low(hash) as usize & mask;
            while self.slots[at].key_length != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
        true
    }

    /// Gives every record away, in the order of the slots, and is empty then.
    pub(crate) fn drain(&mut self, mut to: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        for slot in &mut self.slots {
            if slot.key_length == 0 {
                continue;
            }
            let length = slot.key_length as usize - 1;
            let mut short = [0; INLINE];
            let key = if length <= INLINE {
                short_key(slot.low, slot.high, &mut short);
                &short[..length]
            } else {
                let start = crate::width::size(slot.high);
                self.arena.get(start..start + length).unwrap_or_default()
            };
            let inline = slot.value.to_le_bytes();
            let value_length = slot.value_length as usize;
            let value = if value_length <= 8 {
                &inline[..value_length]
            } else {
                let start = crate::width::size(slot.value);
                self.arena
                    .get(start..start + value_length)
                    .unwrap_or_default()
            };
            to(key, value)?;
            slot.key_length = 0;
        }
        self.used = 0;
        self.arena.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{CombineTable, Inserted, TableSlot};
    use crate::error::Result;
    use crate::sort::digest::Seeds;

    fn append(left: &[u8], right: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(left);
        out.extend_from_slice(right);
        Ok(())
    }

    fn seeds() -> Seeds {
        Seeds::of([b"a task".as_slice()].into_iter())
    }

    /// Slots that were in the way of keys on the way to their own, all together.
    fn in_the_way(table: &CombineTable) -> usize {
        let mask = table.slots.len() - 1;
        let used = table
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.key_length > 0);
        used.map(|(at, slot)| {
            let first = table.first(CombineTable::hash_of(&table.seeds, slot));
            at.wrapping_sub(first) & mask
        })
        .sum()
    }

    /// Keys that look for one slot where seeds are known: short ones, and long ones with such a beginning.
    #[test]
    fn keys_that_were_chosen_are_as_quick_as_others() {
        let count = 4_000_u32;
        let blind = Seeds::KNOWN.blind_spot();
        for tail in [b"".as_slice(), b"and so on, as long as it likes to be"] {
            let slots = |seeds: Seeds| {
                let mut table = CombineTable::new(64 << 20, seeds);
                for number in 0..count {
                    let mut key = blind.to_vec();
                    key.extend(u64::from(number).to_be_bytes());
                    key.extend(tail);
                    assert_eq!(insert(&mut table, &key, b"1"), Inserted::Here);
                }
                in_the_way(&table)
            };
            let count = count as usize;
            let (known, unknown) = (slots(Seeds::KNOWN), slots(seeds()));
            assert!(
                known > count * count / 8,
                "{known}: these keys were well chosen once"
            );
            assert!(unknown < 2 * count, "{unknown}");
        }
    }

    fn insert(table: &mut CombineTable, key: &[u8], value: &[u8]) -> Inserted {
        table
            .insert(&table.sought(key), key, value, &mut append)
            .unwrap()
    }

    #[test]
    fn no_slot_lies_in_two_cache_lines() {
        assert_eq!(size_of::<TableSlot>(), 32);
        let table = CombineTable::new(1 << 20, seeds());
        assert_eq!(table.slots.as_ptr().align_offset(32), 0);
    }

    proptest! {
        #[test]
        fn every_value_is_folded_into_its_key(
            records in prop::collection::vec((prop::collection::vec(0_u8..2, 0..20), prop::collection::vec(any::<u8>(), 0..6)), 0..600)
        ) {
            let mut table = CombineTable::new(1 << 20, seeds());
            let mut expected: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for (key, value) in &records {
                prop_assert_eq!(insert(&mut table, key, value), Inserted::Here);
                expected.entry(key.clone()).or_default().extend_from_slice(value);
            }
            let mut got = BTreeMap::new();
            table.drain(|key, value| {
                assert!(got.insert(key.to_vec(), value.to_vec()).is_none());
                Ok(())
            }).unwrap();
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn a_value_that_grows_takes_no_more_than_the_budget() {
        let budget = 400_000;
        let mut table = CombineTable::new(budget, seeds());
        let (mut drained, mut last) = (0, 0);
        let piece = [7; 100];
        for _ in 0..2000 {
            let inserted = insert(&mut table, b"key", &piece);
            // The value itself may be as long as all of them.
            assert!(table.bytes() <= budget + 200_000, "{}", table.bytes());
            if inserted == Inserted::Last {
                last += 1;
                table
                    .drain(|_, value| {
                        drained += value.len();
                        Ok(())
                    })
                    .unwrap();
            }
        }
        table
            .drain(|_, value| {
                drained += value.len();
                Ok(())
            })
            .unwrap();
        assert_eq!(drained, 200_000);
        assert!(last > 2, "{last}");
    }

    #[test]
    fn a_full_table_says_so_and_takes_up_work_again() {
        let mut table = CombineTable::new(400_000, seeds());
        let mut full = 0;
        let mut seen = 0;
        for number in 0..20_000_u32 {
            let key = format!("a key that is longer than a slot has room for {number}");
            if insert(&mut table, key.as_bytes(), b"1") == Inserted::Full {
                full += 1;
                table
                    .drain(|_, _| {
                        seen += 1;
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(insert(&mut table, key.as_bytes(), b"1"), Inserted::Here);
            }
        }
        table
            .drain(|_, _| {
                seen += 1;
                Ok(())
            })
            .unwrap();
        assert!(full > 2, "{full}");
        assert_eq!(seen, 20_000);
    }
}
