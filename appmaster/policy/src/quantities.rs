//! Ids and quantities, each a type of its own so that none is taken for another.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::resource_types::{Counts, GPU, ResourceTypes};

/// Memory, in mebibytes: YARN's own unit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct MiB(pub u64);

/// Virtual cores, as YARN counts them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Vcores(pub u32);

/// A point in time or a span, in milliseconds; points count from whatever zero the caller chose.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Millis(pub u64);

/// Number of a process in its job, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

/// A node as YARN names it, `host:port`. Opaque here; its text order breaks ties.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub String);

/// A container as YARN names it. Opaque here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId(pub String);

/// An amount of memory, cores and what else the cluster counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resources {
    /// Memory.
    pub memory: MiB,
    /// Cores.
    pub vcores: Vcores,
    /// Countable types, by their table; 0 also of those that the cluster does not count.
    pub counts: Counts,
}

impl Resources {
    /// Memory and cores alone.
    #[must_use]
    pub const fn new(memory_mib: u64, vcores: u32) -> Self {
        Self {
            memory: MiB(memory_mib),
            vcores: Vcores(vcores),
            counts: Counts::NONE,
        }
    }

    /// The same with these counts of the other types.
    #[must_use]
    pub const fn with_counts(self, counts: Counts) -> Self {
        Self { counts, ..self }
    }

    /// `count` times this; what overflows stays at the type's maximum, which no node has.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self {
            memory: MiB(self.memory.0.saturating_mul(count.into())),
            vcores: Vcores(self.vcores.0.saturating_mul(count)),
            counts: self.counts.map(|each| each.saturating_mul(count.into())),
        }
    }

    /// This and `other` together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            memory: MiB(self.memory.0.saturating_add(other.memory.0)),
            vcores: Vcores(self.vcores.0.saturating_add(other.vcores.0)),
            counts: self.counts.with(other.counts, u64::saturating_add),
        }
    }

    /// What is left after taking `other`, not below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            memory: MiB(self.memory.0.saturating_sub(other.memory.0)),
            vcores: Vcores(self.vcores.0.saturating_sub(other.vcores.0)),
            counts: self.counts.with(other.counts, u64::saturating_sub),
        }
    }

    /// `share` of each amount, 0 to 1, rounded down; memory to whole steps.
    #[must_use]
    pub fn share(self, share: f64, step: MiB) -> Self {
        // Shares come as 32-bit floats: 0.1 of 10 is 1. Amounts are far below 2⁵³.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of an amount that is far below 2⁵³, and not negative"
        )]
        let part = |amount: u64| (amount as f64 * share.clamp(0.0, 1.0) * (1.0 + 1e-6)) as u64;
        let step = step.0.max(1);
        let memory = part(self.memory.0);
        Self {
            memory: MiB(how_often(step, memory).saturating_mul(step)),
            vcores: Vcores(u32::try_from(part(self.vcores.0.into())).unwrap_or(u32::MAX)),
            counts: self.counts.map(part),
        }
    }

    /// The smaller of each amount.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        Self {
            memory: self.memory.min(other.memory),
            vcores: self.vcores.min(other.vcores),
            counts: self.counts.with(other.counts, u64::min),
        }
    }

    /// In words, with those of `types` of which there are some: `2048 MiB, 2 vcores and 1 GPU`.
    #[must_use]
    pub fn words(self, types: &ResourceTypes) -> String {
        in_words(self.memory, self.vcores, types.named(self.counts))
    }
}

/// An amount in words, with so many of each of these types.
#[must_use]
pub fn in_words<'a>(
    memory: MiB,
    vcores: Vcores,
    named: impl IntoIterator<Item = (&'a str, u64)>,
) -> String {
    let named = named.into_iter().map(|(name, count)| counted(name, count));
    let mut parts: Vec<String> = [memory.to_string(), vcores.to_string()].into();
    parts.extend(named);
    enumerated(&parts)
}

/// So many of a countable type, in words: `1 GPU`, `2 acc/kmeans-map`.
#[must_use]
pub fn counted(name: &str, count: u64) -> String {
    match (name, count) {
        (GPU, 1) => "1 GPU".into(),
        (GPU, many) => format!("{many} GPUs"),
        (name, count) => format!("{count} {name}"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn enumerated(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// How often `part` fits into `whole`; a part of 0 counts as 1.
pub(crate) const fn how_often(part: u64, whole: u64) -> u64 {
    match whole.checked_div(part) {
        Some(times) => times,
        None => whole,
    }
}

impl Millis {
    /// This point, or span, and a span more.
    #[must_use]
    pub const fn plus(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl fmt::Display for MiB {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.0)
    }
}

impl fmt::Display for Vcores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => write!(f, "1 vcore"),
            many => write!(f, "{many} vcores"),
        }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
