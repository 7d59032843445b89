//! Indices into a [`Session`](super::Session), and the point in time that everything is told with.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Number;

/// A point in time or a span, in nanoseconds. Points count from a zero of the caller's and never go back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Nanos(pub u64);

impl Nanos {
    /// So many whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// So many milliseconds.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds.saturating_mul(1_000_000))
    }

    /// This point, or span, and a span more.
    #[must_use]
    pub const fn plus(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span from `earlier` to this, zero where `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Number for $name {
            fn of(number: u32) -> Self {
                Self(number)
            }

            fn number(self) -> u32 {
                self.0
            }
        }
    };
}

index! {
    /// A job, numbered in the order of arrival.
    JobIx
}
index! {
    /// A host, numbered in the order of joining.
    NodeIx
}
index! {
    /// A container, numbered in the order of joining.
    ContainerIx
}
index! {
    /// A slot, numbered in the order of joining.
    SlotIx
}
index! {
    /// A task within its job and stage, numbered as the job lists them.
    TaskIx
}
index! {
    /// One try at a task, numbered in the order of the decisions that started them.
    AttemptIx
}
