//! Lists of hosts, as mpiexec and mpirun write them in a file or on the command line.
//!
//! A list is read once, when the command line is: [`read()`] for a file, [`inline`] for a word.
//! Where a host is mentioned again, its places are added to those of its first mention, which fixes
//! its position. [`in_order`] and [`one_each_first`] deal processes over the places of a list.

mod deal;
mod error;
mod line;
mod range;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use deal::{in_order, one_each_first};
pub(crate) use error::HostListError;
pub(crate) use read::{HostNames, inline, names, read};

/// Processes of one job, at most.
pub(crate) const PROCESSES_MAX: u32 = 1_000_000;

/// Hosts in order of first mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostList {
    /// The list itself, in words: "the list hosts.txt".
    pub words: String,
    /// At least one, each name once.
    pub hosts: Vec<Host>,
    /// What was read without having an effect, a sentence each.
    pub notes: Vec<String>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// As the user wrote it, without brackets.
    pub name: String,
    /// Processes that it takes, at least 1: the sum over its mentions, 1 for a mention without a
    /// number.
    pub places: u32,
    /// In a file, where it is first mentioned: "hosts.txt:3".
    pub at: Option<String>,
}
