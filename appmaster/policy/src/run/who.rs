//! Which process of a job, in the words of its user.

use std::fmt;

use crate::Rank;

/// A process of the job, by the name that a user knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Its number in the job.
    pub number: Rank,
    /// Of one that was spawned: its group, from 1, and its rank there.
    pub spawned: Option<(u32, u32)>,
}

impl From<Rank> for Who {
    /// One of the job's own ranks.
    fn from(number: Rank) -> Self {
        Self {
            number,
            spawned: None,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spawned {
            None => write!(f, "rank {}", self.number),
            Some((group, rank)) => write!(f, "rank {rank} of spawned group {group}"),
        }
    }
}
