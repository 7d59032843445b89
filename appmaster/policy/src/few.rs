//! A map of a few keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Pairs in the order of their keys, each key once. Thousands of jobs wait, each with several such maps of one to three
/// keys: a `BTreeMap` takes room for eleven with its first.
///
/// Cost: O(log keys) to look, O(keys) to insert.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Few<K, V>(Vec<(K, V)>);

impl<K, V> Few<K, V> {
    /// One without keys, which takes no memory.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// All pairs, by key.
    pub fn iter(&self) -> std::slice::Iter<'_, (K, V)> {
        self.0.iter()
    }

    /// Whether it has no key.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    /// All values, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Few<K, V> {
    fn find(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(key))
    }

    /// What the key has.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Whether it has this key.
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    /// Gives the key a value; the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => {
                let there = self.0.get_mut(at);
                there.map(|(_, there)| std::mem::replace(there, value))
            }
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes the key away; the value that it had.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.find(key).ok()?;
        Some(self.0.remove(at).1)
    }
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Few<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.0.iter().map(|(key, value)| (key, value));
        f.debug_map().entries(pairs).finish()
    }
}

/// Of a key that comes twice the last value counts.
impl<K: Ord, V> FromIterator<(K, V)> for Few<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut few = Self::new();
        for (key, value) in pairs {
            few.insert(key, value);
        }
        few
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Few<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<'a, K, V> IntoIterator for &'a Few<K, V> {
    type Item = &'a (K, V);
    type IntoIter = std::slice::Iter<'a, (K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As a map.
impl<K: Serialize, V: Serialize> Serialize for Few<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for Few<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((any::<bool>(), 0..5u8, any::<u8>()), 0..40)) {
            let (mut few, mut map) = (Few::new(), BTreeMap::new());
            for (comes, key, value) in steps {
                match comes {
                    true => prop_assert_eq!(few.insert(key, value), map.insert(key, value)),
                    false => prop_assert_eq!(few.remove(&key), map.remove(&key)),
                }
                prop_assert_eq!(few.get(&key), map.get(&key));
                prop_assert_eq!(few.contains_key(&key), map.contains_key(&key));
                prop_assert!(few.keys().eq(map.keys()) && few.values().eq(map.values()));
            }
            let text = serde_json::to_string(&few).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&map).unwrap());
            let back: Few<u8, u8> = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&back, &few);
            prop_assert_eq!(format!("{:?}", few), format!("{:?}", map));
        }
    }
}
