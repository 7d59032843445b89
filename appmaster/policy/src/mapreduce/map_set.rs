//! A set of a job's maps: a bit for each, because there is one for each partition, and ten thousand maps by a
//! thousand partitions are usual.

use crate::schedule::TaskIx;

const BITS: usize = u64::BITS as usize;

/// Some of the maps of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MapSet {
    words: Vec<u64>,
    size: usize,
}

/// The word of a map, and its bit there.
const fn place(map: TaskIx) -> (usize, u64) {
    let map = map.0 as usize;
    (map / BITS, 1 << (map % BITS))
}

impl MapSet {
    /// Whether it is new.
    pub(super) fn insert(&mut self, map: TaskIx) -> bool {
        let (word, bit) = place(map);
        if self.words.len() <= word {
            self.words.resize(word.saturating_add(1), 0);
        }
        let Some(word) = self.words.get_mut(word) else {
            return false;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        self.size = self.size.saturating_add(usize::from(is_new));
        is_new
    }

    pub(super) fn remove(&mut self, map: TaskIx) {
        let (word, bit) = place(map);
        let Some(word) = self.words.get_mut(word) else {
            return;
        };
        let was_there = *word & bit != 0;
        *word &= !bit;
        self.size = self.size.saturating_sub(usize::from(was_there));
    }

    pub(super) fn contains(&self, map: TaskIx) -> bool {
        let (word, bit) = place(map);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    pub(super) const fn len(&self) -> usize {
        self.size
    }

    /// In order.
    pub(super) fn iter(&self) -> impl Iterator<Item = TaskIx> {
        let most = self.words.len().saturating_mul(BITS);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        (0..most).map(TaskIx).filter(|map| self.contains(*map))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_a_set() {
        let (mut bits, mut tree) = (MapSet::default(), BTreeSet::new());
        // Every number below 256, in an order of no pattern, again and again.
        for step in 0_u32..2_000 {
            let map = TaskIx(step.wrapping_mul(97).wrapping_add(step / 256) % 256);
            if step % 3 == 0 {
                bits.remove(map);
                tree.remove(&map);
            } else {
                assert_eq!(bits.insert(map), tree.insert(map));
            }
            assert_eq!(bits.len(), tree.len());
            assert_eq!(bits.contains(TaskIx(3)), tree.contains(&TaskIx(3)));
        }
        assert!(bits.iter().eq(tree.into_iter()));
        assert!(!bits.contains(TaskIx(100_000)));
    }
}
