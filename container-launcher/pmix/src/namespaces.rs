//! The namespaces that a server knows: a job's own ranks, and groups that these have spawned.
//!
//! To the host a namespace is a group's number, and a process of several groups' its number in the job: the number of
//! its group's rank 0, and its rank. To the library it is a name.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::abi::Proc;

/// `PMIX_RANK_WILDCARD`: all ranks of a namespace.
pub(crate) const ALL: u32 = u32::MAX - 1;

/// A group, as the host counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) number: u32,
    /// Number in the job of its rank 0.
    pub(crate) first: u32,
    pub(crate) size: u32,
}

/// Who is in a fence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Members {
    /// None: of several groups.
    pub(crate) group: Option<u32>,
    /// Ranks of the group, none: all of it; or numbers in the job, ascending.
    pub(crate) ranks: Vec<u32>,
}

/// All namespaces, by name.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(Mutex<BTreeMap<Vec<u8>, Group>>);

impl Namespaces {
    pub(crate) fn add(&self, name: &str, group: Group) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.as_bytes().to_vec(), group);
    }

    pub(crate) fn remove(&self, name: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name.as_bytes());
    }

    /// The group of a process; none: nobody has told of its namespace.
    pub(crate) fn of(&self, proc: &Proc) -> Option<Group> {
        let end = proc.namespace.iter().position(|&byte| byte == 0);
        let name = proc.namespace.get(..end.unwrap_or(proc.namespace.len()))?;
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(name).copied()
    }

    /// Who these are; none: somebody nobody has told of.
    pub(crate) fn members(&self, procs: &[Proc]) -> Option<Members> {
        let groups: Vec<Group> = procs
            .iter()
            .map(|proc| self.of(proc))
            .collect::<Option<_>>()?;
        let first = groups.first()?;
        if groups.iter().all(|group| group == first) {
            let ranks: Vec<u32> = procs.iter().map(|proc| proc.rank).collect();
            return Some(Members {
                group: Some(first.number),
                ranks: match ranks.contains(&ALL) {
                    true => Vec::new(),
                    false => ranks,
                },
            });
        }
        let mut numbers = Vec::new();
        for (group, proc) in groups.iter().zip(procs) {
            match proc.rank {
                ALL => numbers.extend(group.first..group.first.saturating_add(group.size)),
                rank => numbers.push(group.first.saturating_add(rank)),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(Members {
            group: None,
            ranks: numbers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::proc_of;

    #[test]
    fn processes_of_one_group_are_ranks_and_those_of_several_are_numbers() {
        let all = Namespaces::default();
        let group = |number, first, size| Group {
            number,
            first,
            size,
        };
        all.add("own", group(0, 0, 4));
        all.add("spawned", group(1, 4, 3));
        let members = |procs: &[(&str, u32)]| {
            let procs: Vec<Proc> = procs
                .iter()
                .map(|&(name, rank)| proc_of(name, rank))
                .collect();
            all.members(&procs)
                .map(|members| (members.group, members.ranks))
        };
        assert_eq!(members(&[("own", ALL)]), Some((Some(0), vec![])));
        assert_eq!(
            members(&[("spawned", 2), ("spawned", 0)]),
            Some((Some(1), vec![2, 0]))
        );
        assert_eq!(
            members(&[("spawned", ALL), ("own", 3), ("own", 0)]),
            Some((None, vec![0, 3, 4, 5, 6]))
        );
        assert_eq!(members(&[("own", 0), ("stranger", 0)]), None);
        assert_eq!(members(&[]), None);
        all.remove("spawned");
        assert_eq!(all.of(&proc_of("spawned", 0)), None);
    }
}
