//! Stable sorts that share one piece of code, whatever they sort, and ordered collections without one.
//!
//! The standard library's are compiled for each type and each order: 4 KB a place of the file that travels to every node,
//! and there were sixty such places. Here the numbers of the items are sorted, by a comparison behind a pointer, and the
//! items then moved to their places; what is compiled for a type is that move. It allocates 8 bytes an item and more, and a
//! comparison takes some nanoseconds longer: what sorts records, or sits in a policy's inner loop, takes the standard
//! library's.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Smallest first.
pub fn ascending<T: Ord>(items: &mut [T]) {
    by(items, T::cmp);
}

/// Smallest key first; the key is made anew for each comparison.
pub fn by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    by(items, |one, other| key(one).cmp(&key(other)));
}

/// In the order that `compare` says, which must be a total one; what it calls equal stays as it was.
pub fn by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let all: &[T] = items;
    let moves = moves(all.len(), &|one, other| compare(&all[one], &all[other]));
    for (one, other) in moves {
        items.swap(one, other);
    }
}

/// A set of these. `collect` sorts them first, by code of its own for each type.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// A map of these, of which a later one takes the place of an earlier; as [`set`].
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// Which pairs of `count` items to swap, one after the other, to have them in order.
fn moves(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    // Whose number is at a place belongs there.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|one, other| compare(*one, *other));
    let mut moves = Vec::new();
    for first in 0..count {
        // The item that was at `first` goes from place to place until it is at its own.
        let mut at = first;
        while order[at] != first {
            let from = std::mem::replace(&mut order[at], at);
            moves.push((at, from));
            at = from;
        }
        order[at] = at;
    }
    moves
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_are_sorted_as_the_standard_library_sorts_them(items in vec((0_u8..20, any::<u16>()), 0..200)) {
            let mut expected = items.clone();
            let mut sorted = items.clone();
            expected.sort_by_key(|(key, _)| Reverse(*key));
            super::by_key(&mut sorted, |(key, _)| Reverse(*key));
            prop_assert_eq!(&sorted, &expected);
            expected.sort();
            super::ascending(&mut sorted);
            prop_assert_eq!(&sorted, &expected);
        }
    }

    #[test]
    fn none_and_one_are_sorted() {
        super::ascending::<String>(&mut []);
        let mut one = ["a"];
        super::ascending(&mut one);
        assert_eq!(one, ["a"]);
    }
}
