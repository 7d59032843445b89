//! Processes of the node that belong to nobody here, so that a look need not read them again.
//!
//! Reading what the kernel tells of one process costs more than ten microseconds, a node has hundreds or
//! thousands, kernel threads among them, and few are the ranks'. The launcher is a subreaper: whatever a
//! rank has started descends from the launcher for as long as it lives. So a process that does not will
//! never be a rank's.

use std::collections::{BTreeMap, BTreeSet};

use crate::processes::ProcessStat;

/// Pids of processes that do not descend from this one.
#[derive(Debug, Default)]
pub(crate) struct ForeignProcesses {
    known: BTreeSet<i32>,
    /// Those of them that the look which is under way has come by. The others are gone, and their pids
    /// may be somebody else's by the next look.
    seen: BTreeSet<i32>,
}

impl ForeignProcesses {
    /// Whether a look that comes by this process can leave it out.
    pub(crate) fn hold(&mut self, pid: i32) -> bool {
        self.known.contains(&pid) && {
            self.seen.insert(pid);
            true
        }
    }

    /// Ends a look, which has come by all processes and read these; `own` is this process.
    pub(crate) fn learn(&mut self, processes: &BTreeMap<i32, ProcessStat>, own: i32) {
        self.known = std::mem::take(&mut self.seen);
        let new = processes.keys().copied();
        let new: Vec<i32> = new
            .filter(|&pid| self.is_new(pid, processes, own))
            .collect();
        self.known.extend(new);
    }

    /// Where an ancestor is missing the next look will tell: it has ended or begun in this moment.
    fn is_new(&self, pid: i32, processes: &BTreeMap<i32, ProcessStat>, own: i32) -> bool {
        let mut current = pid;
        // As many steps as there are processes: pids may have changed hands while they were read.
        for _ in 0..=processes.len() {
            if current == own {
                return false;
            }
            // The first processes of the node, or of its part that can be seen, have no parent.
            if current == 0 || self.known.contains(&current) {
                return true;
            }
            match processes.get(&current) {
                Some(process) => current = process.parent,
                None => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: i32 = 50;

    fn processes(parents: &[(i32, i32)]) -> BTreeMap<i32, ProcessStat> {
        let process = |parent| ProcessStat {
            parent,
            ..ProcessStat::default()
        };
        let all = parents.iter();
        all.map(|&(pid, parent)| (pid, process(parent))).collect()
    }

    fn left_out(foreign: &mut ForeignProcesses, pids: &[i32]) -> Vec<i32> {
        let pids = pids.iter().copied();
        pids.filter(|&pid| foreign.hold(pid)).collect()
    }

    #[test]
    fn who_does_not_descend_from_this_process_is_read_once() {
        let mut foreign = ForeignProcesses::default();
        let all = [1, 2, 3, 40, OWN, 51, 52];
        assert!(left_out(&mut foreign, &all).is_empty());
        let parents = [
            (1, 0),
            (2, 0),
            (3, 2),
            (40, 1),
            (OWN, 40),
            (51, OWN),
            (52, 51),
        ];
        foreign.learn(&processes(&parents), OWN);
        assert_eq!(left_out(&mut foreign, &all), [1, 2, 3, 40]);
        // A new one is told by an ancestor that was left out.
        foreign.learn(&processes(&[(OWN, 40), (51, OWN), (60, 3), (61, 51)]), OWN);
        assert_eq!(left_out(&mut foreign, &[1, 60, 61]), [1, 60]);
    }

    #[test]
    fn the_pid_of_one_that_has_gone_is_read_again() {
        let mut foreign = ForeignProcesses::default();
        foreign.learn(&processes(&[(1, 0), (9, 1)]), OWN);
        assert_eq!(left_out(&mut foreign, &[1]), [1]);
        foreign.learn(&processes(&[]), OWN);
        assert_eq!(left_out(&mut foreign, &[1, 9]), [1]);
    }

    #[test]
    fn one_whose_ancestors_are_not_all_there_is_read_again() {
        let mut foreign = ForeignProcesses::default();
        foreign.learn(&processes(&[(1, 0), (9, 8), (11, 12), (12, 11)]), OWN);
        assert_eq!(left_out(&mut foreign, &[1, 9, 11, 12]), [1]);
    }
}
