//! A map whose keys are numbers that are given out in order.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Numbers of a page.
const PAGE: u32 = 64;

/// A key that is a number and nothing else.
pub trait Number: Copy {
    /// The key of this number.
    fn of(number: u32) -> Self;

    /// Its number.
    fn number(self) -> u32;
}

/// Values by number, in its order. The next number comes at the end; those that go leave nothing where no neighbour of
/// the same 64 is there, so that neither memory nor a walk grows with what is over.
///
/// Cost: O(1) where those that are there follow one another but for a few at the beginning or at the end, where a
/// `BTreeMap` of some thousands looks into four nodes; else O(log pages).
#[derive(Clone)]
pub struct Numbered<K, V> {
    /// In the order of their numbers. None is empty.
    pages: VecDeque<Page<V>>,
    count: usize,
    keys: PhantomData<K>,
}

/// Values of numbers that follow one another.
#[derive(Clone)]
struct Page<V> {
    /// Its first key has 64 times this number.
    number: u32,
    values: Vec<Option<V>>,
    count: u32,
}

impl<K, V> Numbered<K, V> {
    /// One without keys, which takes no memory.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            pages: VecDeque::new(),
            count: 0,
            keys: PhantomData,
        }
    }

    /// How many keys there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<K: Number, V> Numbered<K, V> {
    /// The position of the page of this number; where it is not there, the one that it would have.
    fn page(&self, number: u32) -> Result<usize, usize> {
        let Some(first) = self.pages.front() else {
            return Err(0);
        };
        // Where there are no gaps before it.
        let at = number.wrapping_sub(first.number) as usize;
        match self.pages.get(at) {
            Some(page) if page.number == number => Ok(at),
            _ => self.far_page(number),
        }
    }

    /// The same where there are.
    #[cold]
    fn far_page(&self, number: u32) -> Result<usize, usize> {
        let Some(last) = self.pages.back().map(|last| last.number) else {
            return Err(0);
        };
        let Some(behind) = last.checked_sub(number) else {
            return Err(self.pages.len());
        };
        // Where there are none behind it.
        let at = self
            .pages
            .len()
            .wrapping_sub(1)
            .wrapping_sub(behind as usize);
        match self.pages.get(at) {
            Some(page) if page.number == number => Ok(at),
            _ => self.pages.binary_search_by_key(&number, |page| page.number),
        }
    }

    /// The position of its page, and the one in this.
    fn place(&self, key: K) -> Option<(usize, usize)> {
        let number = key.number();
        let page = self.page(number / PAGE).ok()?;
        Some((page, (number % PAGE) as usize))
    }

    /// What the key has.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        let (page, at) = self.place(*key)?;
        self.pages.get(page)?.values.get(at)?.as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (page, at) = self.place(*key)?;
        self.pages.get_mut(page)?.values.get_mut(at)?.as_mut()
    }

    /// Whether it has this key.
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Gives the key a value; the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let number = key.number() / PAGE;
        if let Err(at) = self.page(number) {
            self.pages.insert(at, Page::new(number));
        }
        let (page, at) = self.place(key)?;
        let page = self.pages.get_mut(page)?;
        while page.values.len() <= at {
            page.values.push(None);
        }
        let before = page.values.get_mut(at)?.replace(value);
        if before.is_none() {
            page.count = page.count.saturating_add(1);
            self.count = self.count.saturating_add(1);
        }
        before
    }

    /// Takes the key away; the value that it had.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (position, at) = self.place(*key)?;
        let page = self.pages.get_mut(position)?;
        let value = page.values.get_mut(at)?.take()?;
        page.count = page.count.saturating_sub(1);
        self.count = self.count.saturating_sub(1);
        if page.count == 0 {
            self.pages.remove(position);
        }
        Some(value)
    }

    /// All pairs, by number.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.pages.iter().flat_map(|page| {
            let numbers = page.number.saturating_mul(PAGE)..;
            let values = page.values.iter().zip(numbers);
            values.filter_map(|(value, number)| Some((K::of(number), value.as_ref()?)))
        })
    }
}

impl<V> Page<V> {
    const fn new(number: u32) -> Self {
        Self {
            number,
            values: Vec::new(),
            count: 0,
        }
    }
}

impl<K, V> Default for Numbered<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Number + fmt::Debug, V: fmt::Debug> fmt::Debug for Numbered<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// As a map.
impl<K: Number + Serialize, V: Serialize> Serialize for Numbered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Number + Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de>
    for Numbered<K, V>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Self::new();
        for (key, value) in BTreeMap::<K, V>::deserialize(deserializer)? {
            all.insert(key, value);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::AttemptIx;

    proptest! {
        /// Numbers over five pages, some of which empty and come again.
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((prop::bool::weighted(0.6), 0..320_u32, any::<u8>()), 0..400)) {
            let (mut numbered, mut map) = (Numbered::new(), BTreeMap::new());
            for (comes, number, value) in steps {
                let key = AttemptIx(number);
                match comes {
                    true => prop_assert_eq!(numbered.insert(key, value), map.insert(key, value)),
                    false => prop_assert_eq!(numbered.remove(&key), map.remove(&key)),
                }
                prop_assert_eq!(numbered.get(&key), map.get(&key));
                prop_assert_eq!(numbered.get_mut(&key), map.get_mut(&key));
                prop_assert_eq!(numbered.contains_key(&key), map.contains_key(&key));
                prop_assert_eq!((numbered.len(), numbered.is_empty()), (map.len(), map.is_empty()));
            }
            prop_assert!(numbered.iter().eq(map.iter().map(|(key, value)| (*key, value))));
            let text = serde_json::to_string(&numbered).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&map).unwrap());
            let back: Numbered<AttemptIx, u8> = serde_json::from_str(&text).unwrap();
            prop_assert!(back.iter().eq(numbered.iter()));
            prop_assert_eq!(format!("{numbered:?}"), format!("{map:?}"));
        }
    }

    #[test]
    fn what_is_over_takes_no_memory_and_no_time() {
        let mut numbered = Numbered::new();
        // One stays, as a process of a long job does, and a million tasks come and go.
        numbered.insert(AttemptIx(5), 0_u64);
        for number in 6..1_000_000 {
            numbered.insert(AttemptIx(number), 1);
            numbered.remove(&AttemptIx(number));
        }
        // A walk looks at all pages.
        assert_eq!(numbered.pages.len(), 1);
        let held = numbered.pages.iter().map(|page| page.values.capacity());
        assert!(held.sum::<usize>() <= 64);
        numbered.remove(&AttemptIx(5));
        assert!(numbered.pages.is_empty() && numbered.is_empty());
    }
}
