//! In which order a reduce is handed its keys.

use crate::sort::block::SortedRun;
use crate::sort::digest::hash;
use crate::sort::merge::Merge;

/// In which order a reduce is handed its keys, and so what sorting costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By their bytes, each key with all its values.
    #[default]
    Sorted,
    /// By a hash, each key with all its values: the same order on every run, but none that means anything.
    /// It is faster where keys begin alike, as paths and addresses do; a record takes 8 bytes more.
    Grouped,
    /// As they were emitted, map after map, without any sorting. Neighbours with equal keys make a group,
    /// and the same key may come again. A combiner joins records that are not neighbours, too: with one, the order is
    /// the same on every run, but none that means anything.
    None,
}

impl Order {
    /// Bytes that are stored before a key.
    pub(crate) const fn ahead(self) -> usize {
        match self {
            Self::Grouped => 8,
            Self::Sorted | Self::None => 0,
        }
    }

    /// The key as it is stored: what is compared is its bytes. `room` may be used for it.
    #[inline]
    pub(crate) fn stored<'a>(self, key: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        if self != Self::Grouped {
            return key;
        }
        room.clear();
        room.extend_from_slice(&hash(key, 0).to_be_bytes());
        room.extend_from_slice(key);
        room
    }

    /// The user's key of a stored one.
    #[inline]
    pub(crate) fn key(self, stored: &[u8]) -> &[u8] {
        stored.get(self.ahead()..).unwrap_or_default()
    }

    /// Some runs as one.
    pub(crate) fn join(self, runs: Vec<SortedRun>) -> Merge {
        match self {
            Self::Sorted | Self::Grouped => Merge::new(runs),
            Self::None => Merge::chain(runs),
        }
    }

    /// As a plan names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sorted => "sorted",
            Self::Grouped => "grouped",
            Self::None => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn a_stored_key_has_its_hash_ahead_where_order_means_nothing() {
        let mut room = Vec::new();
        for order in [Order::Sorted, Order::Grouped, Order::None] {
            let stored = order.stored(b"key", &mut room).to_vec();
            assert_eq!(order.key(&stored), b"key");
            assert_eq!(stored.len(), 3 + order.ahead());
        }
    }
}
