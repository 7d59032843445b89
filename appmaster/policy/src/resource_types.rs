//! Countable resources beside memory and vcores, which each cluster names by itself: `yarn.io/gpu`,
//! `acc/kmeans-map`.
//!
//! A [`ResourceTypes`] is the table of the names that an application knows; a [`Counts`] says how many of
//! each, by index into that table. Counts of two tables do not mix: whoever reads a cluster reads the
//! table first, and a [`ClusterView`](crate::ClusterView) carries the one that all amounts in it, and of
//! the demand placed on it, belong to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Types that one application knows at the most; amounts are copied all the time, so that their size has a
/// bound. A job asks for a few of what its cluster counts.
pub const MOST_RESOURCE_TYPES: usize = 8;

/// The type of graphics processors.
pub const GPU: &str = "yarn.io/gpu";

/// The place of a type in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeIndex(u8);

/// The names of the countable types, memory and vcores aside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct ResourceTypes(Arc<[String]>);

impl From<Vec<String>> for ResourceTypes {
    fn from(names: Vec<String>) -> Self {
        Self::new(names)
    }
}

impl From<ResourceTypes> for Vec<String> {
    fn from(types: ResourceTypes) -> Self {
        types.0.to_vec()
    }
}

impl ResourceTypes {
    /// The first [`MOST_RESOURCE_TYPES`] of `names`, each once, in their order; what a job asks for
    /// comes first.
    pub fn new<Name: Into<String>>(names: impl IntoIterator<Item = Name>) -> Self {
        let mut known: Vec<String> = Vec::new();
        for name in names {
            let name = name.into();
            if known.len() < MOST_RESOURCE_TYPES && !known.contains(&name) {
                known.push(name);
            }
        }
        Self(known.into())
    }

    /// Every type with its name, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (TypeIndex, &str)> {
        let indexes = (0..).map(TypeIndex);
        indexes.zip(self.0.iter().map(String::as_str))
    }

    /// The name of a type; empty for one of another table.
    #[must_use]
    pub fn name(&self, index: TypeIndex) -> &str {
        self.0.get(usize::from(index.0)).map_or("", String::as_str)
    }

    /// The type called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TypeIndex> {
        let mut types = self.iter();
        types.find_map(|(index, known)| (known == name).then_some(index))
    }

    /// How many of each type `count` says; types without a count have none.
    #[must_use]
    pub fn counts(&self, count: impl Fn(&str) -> Option<u64>) -> Counts {
        let mut counts = Counts::default();
        for (index, name) in self.iter() {
            counts.set(index, count(name).unwrap_or(0));
        }
        counts
    }

    /// The types of which `counts` has some, by name, with their numbers.
    pub fn named(&self, counts: Counts) -> impl Iterator<Item = (&str, u64)> {
        let types = self
            .iter()
            .map(move |(index, name)| (name, counts.of(index)));
        types.filter(|(_, count)| *count > 0)
    }
}

/// How many of each countable type, by index into a [`ResourceTypes`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Counts([u64; MOST_RESOURCE_TYPES]);

impl Counts {
    /// None of anything.
    pub const NONE: Self = Self([0; MOST_RESOURCE_TYPES]);

    /// Of the type at `index`.
    #[must_use]
    pub fn of(self, index: TypeIndex) -> u64 {
        self.0.get(usize::from(index.0)).copied().unwrap_or(0)
    }

    /// The type at `index` has `count`.
    pub fn set(&mut self, index: TypeIndex, count: u64) {
        if let Some(place) = self.0.get_mut(usize::from(index.0)) {
            *place = count;
        }
    }

    /// Whether there is none of anything.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Whether every count is within that of `available`.
    #[must_use]
    pub fn fit(self, available: Self) -> bool {
        self.first_beyond(available).is_none()
    }

    /// The first type of which there are more than `available`.
    #[must_use]
    pub fn first_beyond(self, available: Self) -> Option<TypeIndex> {
        let pairs = (0..)
            .map(TypeIndex)
            .zip(self.0.into_iter().zip(available.0));
        let mut pairs = pairs.filter(|(_, (wanted, there))| wanted > there);
        pairs.next().map(|(index, _)| index)
    }

    /// How often this is in `whole`; any number where there is none of anything.
    #[must_use]
    pub fn times_in(self, whole: Self) -> u64 {
        let pairs = self.0.into_iter().zip(whole.0);
        let times = pairs.filter_map(|(part, whole)| whole.checked_div(part));
        times.min().unwrap_or(u64::MAX)
    }

    /// Each count of this with that of `other`.
    #[must_use]
    pub fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let mut joined = self;
        for (one, other) in joined.0.iter_mut().zip(other.0) {
            *one = join(*one, other);
        }
        joined
    }

    /// Each count of this, changed.
    #[must_use]
    pub fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self(self.0.map(change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_each_name_once_and_a_bound() {
        let types = ResourceTypes::new(["a", "b", "a"]);
        let names: Vec<&str> = types.iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(types.find("c"), None);
        let many = ResourceTypes::new((0..20).map(|number| number.to_string()));
        assert_eq!(many.iter().count(), MOST_RESOURCE_TYPES);
        let last = many.find("7").unwrap();
        assert_eq!((many.name(last), types.name(last)), ("7", ""));
    }

    #[test]
    fn counts_go_by_index() {
        let types = ResourceTypes::new(["gpu", "acc"]);
        let counts = |gpu, acc| types.counts(|name| if name == "gpu" { gpu } else { acc });
        let (one, two) = (counts(Some(1), None), counts(Some(2), Some(3)));
        assert!(one.fit(two) && !two.fit(one));
        assert_eq!(
            two.first_beyond(counts(Some(2), Some(2))),
            types.find("acc")
        );
        assert_eq!(one.times_in(two), 2);
        assert_eq!(counts(Some(1), Some(2)).times_in(two), 1);
        assert_eq!(Counts::default().times_in(two), u64::MAX);
        assert_eq!(types.named(one).collect::<Vec<_>>(), [("gpu", 1)]);
        assert_eq!(two.with(one, u64::saturating_sub), counts(Some(1), Some(3)));
    }
}
