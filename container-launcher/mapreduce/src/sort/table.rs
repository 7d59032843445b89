//! Values of equal keys folded before anything is sorted: an open table with short keys and values inline.
//!
//! Iterated in the order of its slots, which depends on keys alone: hashes have fixed seeds.

use super::collect::Fold;
use super::digest::{hash, hash_words, word_of};
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

#[derive(Clone, Copy, Default)]
struct Slot {
    low: u64,
    high: u64,
    /// The value, if it has at most eight bytes; else where it lies in the arena.
    value: u64,
    /// The key's length and one; 0 is an empty slot.
    key_length: u32,
    /// Where a key longer than [`INLINE`] lies in the arena.
    key_at: u32,
    value_length: u32,
    hash: u32,
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
pub(crate) struct Table {
    slots: Vec<Slot>,
    used: usize,
    arena: Vec<u8>,
    /// Most bytes of slots and arena together.
    budget: usize,
    seen: u64,
    new: u64,
    scratch: Vec<u8>,
}

impl Table {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            slots: vec![Slot::default(); FIRST],
            used: 0,
            arena: Vec::new(),
            budget,
            seen: 0,
            new: 0,
            scratch: Vec::new(),
        }
    }

    /// Whether records fold so seldom that the table only costs.
    pub(crate) const fn is_useless(&self) -> bool {
        self.seen == TRIAL && self.new * 100 > TRIAL * NEW_MAX
    }

    /// Folds a record in.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        key: &[u8],
        value: &[u8],
        fold: &mut dyn Fold,
    ) -> Result<Inserted> {
        let short = key.len() <= INLINE;
        let (low, high) = (word_of(key), word_of(key.get(8..).unwrap_or_default()));
        let hashed = if short {
            hash_words(low, high, key.len() as u64)
        } else {
            hash(key, 0)
        };
        let tag = crate::width::low(hashed >> 32);
        let key_length = word(key.len()).saturating_add(1);
        let mask = self.slots.len() - 1;
        let mut at = crate::width::low(hashed) as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.key_length == 0 {
                break;
            }
            if slot.hash == tag
                && slot.key_length == key_length
                && slot.low == low
                && slot.high == high
                && (short
                    || self
                        .arena
                        .get(slot.key_at as usize..slot.key_at as usize + key.len())
                        == Some(key))
            {
                self.seen += 1;
                self.scratch.clear();
                let length = slot.value_length as usize;
                if length <= 8 {
                    fold.fold(
                        &slot.value.to_le_bytes()[..length],
                        value,
                        &mut self.scratch,
                    )?;
                } else {
                    let start = crate::width::size(slot.value);
                    let left = self.arena.get(start..start + length).unwrap_or_default();
                    fold.fold(left, value, &mut self.scratch)?;
                }
                self.replace(at);
                // A value that grew has left its old place behind.
                return Ok(if self.bytes() > self.budget {
                    Inserted::Last
                } else {
                    Inserted::Here
                });
            }
            at = (at + 1) & mask;
        }
        let more =
            if short { 0 } else { key.len() } + if value.len() <= 8 { 0 } else { value.len() };
        if self.used * 2 >= self.slots.len() && !self.grow(more)
            || self.bytes() + more > self.budget && self.used > 0
        {
            return Ok(Inserted::Full);
        }
        self.seen += 1;
        self.new += 1;
        let key_at = if short { 0 } else { self.keep(key) };
        let stored = if value.len() <= 8 {
            word_of(value)
        } else {
            u64::from(self.keep(value))
        };
        let mask = self.slots.len() - 1;
        let mut at = crate::width::low(hashed) as usize & mask;
        while self.slots[at].key_length != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = Slot {
            low,
            high,
            value: stored,
            key_length,
            key_at,
            value_length: word(value.len()),
            hash: tag,
        };
        self.used += 1;
        Ok(Inserted::Here)
    }

    fn keep(&mut self, bytes: &[u8]) -> u32 {
        let at = word(self.arena.len());
        self.arena.extend_from_slice(bytes);
        at
    }

    /// Puts what was folded into slot `at`.
    fn replace(&mut self, at: usize) {
        let length = self.scratch.len();
        let old = self.slots[at].value_length as usize;
        let value = if length <= 8 {
            word_of(&self.scratch)
        } else if old > 8 && length <= old {
            let start = crate::width::size(self.slots[at].value);
            if let Some(place) = self.arena.get_mut(start..start + length) {
                place.copy_from_slice(&self.scratch);
            }
            self.slots[at].value
        } else {
            let start = word(self.arena.len());
            self.arena.extend_from_slice(&self.scratch);
            u64::from(start)
        };
        self.slots[at].value = value;
        self.slots[at].value_length = word(length);
    }

    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.arena.len()
    }

    /// Doubles the table, unless that were beyond its budget.
    fn grow(&mut self, more: usize) -> bool {
        // Old and new slots live together for a moment.
        if self.bytes() + 2 * self.slots.len() * size_of::<Slot>() + more > self.budget {
            return false;
        }
        let doubled = vec![Slot::default(); self.slots.len() * 2];
        let mask = doubled.len() - 1;
        for slot in std::mem::replace(&mut self.slots, doubled) {
            if slot.key_length == 0 {
                continue;
            }
            let length = slot.key_length as usize - 1;
            let hashed = if length <= INLINE {
                hash_words(slot.low, slot.high, length as u64)
            } else {
                hash(
                    self.arena
                        .get(slot.key_at as usize..slot.key_at as usize + length)
                        .unwrap_or_default(),
                    0,
                )
            };
            let mut at = crate::width::low(hashed) as usize & mask;
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
                short[..8].copy_from_slice(&slot.low.to_le_bytes());
                short[8..].copy_from_slice(&slot.high.to_le_bytes());
                &short[..length]
            } else {
                self.arena
                    .get(slot.key_at as usize..slot.key_at as usize + length)
                    .unwrap_or_default()
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

    use super::{Inserted, Table};
    use crate::error::Result;

    fn append(left: &[u8], right: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(left);
        out.extend_from_slice(right);
        Ok(())
    }

    proptest! {
        #[test]
        fn every_value_is_folded_into_its_key(
            records in prop::collection::vec((prop::collection::vec(0_u8..2, 0..20), prop::collection::vec(any::<u8>(), 0..6)), 0..600)
        ) {
            let mut table = Table::new(1 << 20);
            let mut expected: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for (key, value) in &records {
                prop_assert_eq!(table.insert(key, value, &mut append).unwrap(), Inserted::Here);
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
        let mut table = Table::new(budget);
        let (mut drained, mut last) = (0, 0);
        let piece = [7; 100];
        for _ in 0..2000 {
            let inserted = table.insert(b"key", &piece, &mut append).unwrap();
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
        let mut table = Table::new(400_000);
        let mut full = 0;
        let mut seen = 0;
        for number in 0..20_000_u32 {
            let key = format!("a key that is longer than a slot has room for {number}");
            if table.insert(key.as_bytes(), b"1", &mut append).unwrap() == Inserted::Full {
                full += 1;
                table
                    .drain(|_, _| {
                        seen += 1;
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(
                    table.insert(key.as_bytes(), b"1", &mut append).unwrap(),
                    Inserted::Here
                );
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
