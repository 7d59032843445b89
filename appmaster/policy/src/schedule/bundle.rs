//! Amounts of named, countable resources.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Few;

/// A countable resource: `memory-mb`, `vcores`, `acc/gpu`, `gpu0/memory-mb`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceName(pub String);

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How much of each resource; what is not named is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bundle(Few<ResourceName, u64>);

impl Bundle {
    /// A bundle of no resources at all.
    #[must_use]
    pub const fn new() -> Self {
        Self(Few::new())
    }

    /// The same with `amount` of `name`.
    #[must_use]
    pub fn with(mut self, name: &str, amount: u64) -> Self {
        self.0.insert(name.into(), amount);
        self
    }

    /// How much of `name`.
    #[must_use]
    pub fn amount(&self, name: &ResourceName) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The same; none where `name` is not counted here, not even at 0.
    #[must_use]
    pub fn counted(&self, name: &ResourceName) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Whether `name` is counted here, be it at 0.
    #[must_use]
    pub fn counts(&self, name: &ResourceName) -> bool {
        self.0.contains_key(name)
    }

    /// Every resource that is named, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, u64)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }

    /// Makes of the amount of `name` another.
    pub(super) fn change(&mut self, name: &ResourceName, to: impl FnOnce(u64) -> u64) {
        if let Some(there) = self.0.get_mut(name) {
            *there = to(*there);
            return;
        }
        let amount = to(0);
        if amount > 0 {
            self.0.insert(name.clone(), amount);
        }
    }
}

impl fmt::Display for Bundle {
    /// `2048 memory-mb and 1 acc/gpu`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, amount) in &self.0 {
            write!(f, "{separator}{amount} {name}")?;
            separator = " and ";
        }
        Ok(())
    }
}
