//! Ends by want of memory: by YARN's look at a container, or by the kernel.
//!
//! Every few seconds a NodeManager adds up the resident size and the address space of a container's
//! processes. It ends a container that is over its own size (exit status -104) or over its size times
//! `yarn.nodemanager.vmem-pmem-ratio` (-103), and says so in a form that Hadoop 2.10 to 3.5 share:
//!
//! ```text
//! … Current usage: 2.6 GB of 2 GB physical memory used; 3.1 GB of 4.2 GB virtual memory used. Killing …
//! ```

use crate::{MiB, Rank};

/// What the ApplicationMaster has seen of the ranks beside the cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenMemory {
    /// Who of the container's ranks held the most of the memory in question, and how much, when last
    /// sampled.
    pub largest: Option<(Rank, MiB)>,
    /// Whether processes were killed for want of memory while the rank ran, and which.
    pub out_of_memory: OutOfMemory,
}

/// Whether the kernel has killed processes for want of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfMemory {
    /// Not that anybody knows.
    #[default]
    No,
    /// Somewhere on the node.
    Node,
    /// In the container's own control group.
    Group,
    /// Not the kernel: its launcher ended the rank, which had more than its share, before YARN would have ended
    /// the container.
    Share,
}

/// Which memory of a container was over its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Pages that are there.
    Physical,
    /// Address space.
    Virtual,
}

impl Limit {
    /// The limit that YARN's exit status speaks of.
    #[must_use]
    pub const fn of(status: i32) -> Option<Self> {
        match status {
            -103 => Some(Self::Virtual),
            -104 => Some(Self::Physical),
            _ => None,
        }
    }

    /// What was used and what was allowed, in YARN's units.
    #[must_use]
    pub fn used(self, diagnostics: &str) -> Option<(&str, &str)> {
        let (_, usage) = diagnostics.split_once("Current usage: ")?;
        let (physical, rest) = usage.split_once(" physical memory used")?;
        let amounts = match self {
            Self::Physical => physical,
            Self::Virtual => {
                let (amounts, _) = rest.split_once(" virtual memory used")?;
                amounts.trim_start_matches([';', ' '])
            }
        };
        let (used, limit) = amounts.split_once(" of ")?;
        let is_amount = |text: &str| {
            text.len() < 20
                && text.split_once(' ').is_some_and(|(number, unit)| {
                    number.parse::<f64>().is_ok() && unit.ends_with('B')
                })
        };
        (is_amount(used) && is_amount(limit)).then_some((used, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_words_have_no_amounts() {
        let odd = "Current usage: lots of it physical memory used; virtual memory used";
        assert_eq!(Limit::Physical.used(odd), None);
        assert_eq!(Limit::Virtual.used(odd), None);
    }
}
