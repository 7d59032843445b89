//! The entries of what is in an arena, in one list whatever the number of partitions: what they take depends on how many
//! there are, and not on how the partitions come.

use super::radix::SortEntry;
use crate::width::size;

/// Entries in the order in which they came, until they are dealt.
#[derive(Default)]
pub(crate) struct Entries {
    list: Vec<SortEntry>,
    /// The partition of each; none where there is only one.
    places: Vec<u32>,
    /// Working space of dealing and sorting.
    room: Vec<SortEntry>,
    partitions: usize,
    /// Most entries that an arena has room for.
    most: usize,
}

impl Entries {
    /// Entries of so many partitions, in `budget` bytes at most.
    pub(crate) fn new(partitions: u32, budget: usize) -> Self {
        let mut entries = Self {
            list: Vec::new(),
            places: Vec::new(),
            room: Vec::new(),
            partitions: size(partitions.into()),
            most: 0,
        };
        entries.most = budget / entries.each();
        entries
    }

    /// Bytes that an entry takes, with its share of the working space.
    #[inline]
    pub(crate) const fn each(&self) -> usize {
        let place = if self.partitions > 1 {
            size_of::<u32>()
        } else {
            0
        };
        2 * size_of::<SortEntry>() + place
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) const fn partitions(&self) -> usize {
        self.partitions
    }

    /// Adds an entry of a partition that there is.
    #[inline]
    pub(crate) fn push(&mut self, entry: SortEntry, partition: u32) {
        if self.list.len() == self.list.capacity() {
            self.grow();
        }
        self.list.push(entry);
        if self.partitions > 1 {
            self.places.push(partition);
        }
    }

    /// Room for twice as many, and for no more than there will ever be.
    #[cold]
    fn grow(&mut self) {
        let more = self.list.len().max(1024);
        let more = more.min(self.most.saturating_sub(self.list.len())).max(1);
        self.list.reserve_exact(more);
        if self.partitions > 1 {
            self.places.reserve_exact(more);
        }
    }

    /// Deals the entries to their partitions, each of which has them in the order in which they came. Returns them, where
    /// each partition ends, and working space for sorting.
    pub(crate) fn dealt(&mut self) -> (&mut [SortEntry], Vec<usize>, &mut Vec<SortEntry>) {
        let all = self.list.len();
        self.room.clear();
        self.room.reserve_exact(all);
        if self.partitions <= 1 {
            return (&mut self.list, vec![all; self.partitions], &mut self.room);
        }
        let mut ends = vec![0; self.partitions];
        for place in &self.places {
            if let Some(count) = ends.get_mut(*place as usize) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        self.room.resize(all, 0);
        for (entry, place) in self.list.iter().zip(&self.places) {
            let Some(next) = ends.get_mut(*place as usize) else {
                continue;
            };
            if let Some(to) = self.room.get_mut(*next) {
                *to = *entry;
            }
            *next += 1;
        }
        (&mut self.room, ends, &mut self.list)
    }

    /// There are none any more; their memory stays.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.places.clear();
    }

    /// Changes memory with others, which may be of another number of partitions; none of both has entries.
    pub(crate) const fn exchange(&mut self, others: &mut Self) {
        std::mem::swap(&mut self.list, &mut others.list);
        std::mem::swap(&mut self.places, &mut others.places);
        std::mem::swap(&mut self.room, &mut others.room);
    }

    /// Gives back the memory that is not taken now.
    pub(crate) fn shrink(&mut self) {
        self.list.shrink_to_fit();
        self.places.shrink_to_fit();
        self.room = Vec::new();
    }

    /// Bytes that are set aside.
    #[cfg(test)]
    pub(crate) fn set_aside(&self) -> usize {
        (self.list.capacity() + self.room.capacity()) * size_of::<SortEntry>()
            + self.places.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Entries;

    proptest! {
        #[test]
        fn each_partition_has_its_entries_in_their_order(
            places in prop::collection::vec(0_u32..7, 0..300), partitions in 7_u32..9,
        ) {
            let mut entries = Entries::new(partitions, 1 << 20);
            for (number, place) in (0..).zip(&places) {
                entries.push(number, *place);
            }
            let (list, ends, _) = entries.dealt();
            let mut from = 0;
            for (partition, end) in (0..).zip(ends) {
                let wanted: Vec<u128> = (0..).zip(&places).filter(|(_, place)| **place == partition).map(|(number, _)| number).collect();
                prop_assert_eq!(&list[from..end], wanted.as_slice());
                from = end;
            }
            prop_assert_eq!(from, places.len());
        }
    }

    #[test]
    fn one_partition_or_none_needs_no_dealing() {
        let mut entries = Entries::new(1, 1 << 20);
        (0..3).for_each(|number| entries.push(number, 0));
        let (list, ends, _) = entries.dealt();
        assert_eq!((&*list, ends), ([0, 1, 2].as_slice(), vec![3]));
        assert_eq!(Entries::new(0, 1 << 20).dealt().1, Vec::<usize>::new());
    }

    #[test]
    fn no_more_is_set_aside_than_there_will_ever_be() {
        let budget = 1 << 20;
        let mut entries = Entries::new(20, budget);
        for round in 0..20 {
            for number in 0..budget / entries.each() {
                entries.push(number as u128, round);
            }
            entries.dealt();
            assert!(entries.set_aside() <= budget, "{}", entries.set_aside());
            entries.clear();
        }
    }
}
