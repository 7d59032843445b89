//! How many tasks boards can use: one more question after each look at them.
//!
//! Source: HeteroYARN (Li et al., TPDS 2020), 3.3 and Figure 8, which finds the best number of tasks by trying, and leaves open
//! how to find it while jobs run. Tasks are added while a board's queue was empty for more than a tenth of the time since
//! the last look, and withdrawn while more packets wait than a ring has blocks: then it is not the tasks that the board
//! waits for. Nothing is ended for that: fewer start.

use super::Lending;
use super::messages::Word;
use crate::schedule::{ContainerIx, Event, ResourceName};
use crate::{ContainerId, Millis};

/// More than so much of the time, in thousandths, a board's queue may not be empty.
const EMPTY_MOST: u32 = 100;

/// What the boards of a function have been since they were looked at last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionLoad {
    /// The function, by the name of its type: `acc/kmeans-map`.
    pub name: String,
    /// How long their queues were empty, in thousandths of the time.
    pub empty: u32,
    /// More packets wait for them than a ring has blocks.
    pub is_long: bool,
}

impl Lending {
    /// The boards of a container's node were looked at.
    pub fn loaded(
        &mut self,
        now: Millis,
        container: &ContainerId,
        loads: &[FunctionLoad],
    ) -> Vec<Word> {
        let Some(ix) = self.containers.get(container).copied() else {
            return Vec::new();
        };
        let tasks = self.allowed(ix, loads);
        if tasks.is_empty() {
            return Vec::new();
        }
        let allowed = Event::Allowed {
            container: ix,
            tasks,
        };
        self.happened(now, &allowed)
    }

    /// What is to be allowed otherwise than until now.
    fn allowed(&self, ix: ContainerIx, loads: &[FunctionLoad]) -> Vec<(ResourceName, u64)> {
        let session = self.driver.session();
        let Some(node) = session.container(ix).map(|container| container.node) else {
            return Vec::new();
        };
        // All containers of a node tell of the same boards.
        if session.containers_of(node).next() != Some(ix) {
            return Vec::new();
        }
        let loads = loads.iter().filter_map(|load| {
            let name = ResourceName::from(load.name.as_str());
            let (running, allowed) = session.on_boards(node, &name)?;
            let next = next(running, allowed, load);
            (next != allowed).then_some((name, next))
        });
        loads.collect()
    }
}

/// How many tasks may run, where so many do and so many may.
fn next(running: u64, allowed: u64, load: &FunctionLoad) -> u64 {
    if running == 0 {
        // Nobody has tried.
        return allowed;
    }
    if load.is_long {
        return allowed.min(running).saturating_sub(1).max(1);
    }
    // That the board has too little to do says nothing of a number that does not run.
    match load.empty > EMPTY_MOST && running >= allowed {
        true => allowed.saturating_add((allowed / 2).max(1)),
        false => allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(empty: u32, is_long: bool) -> FunctionLoad {
        FunctionLoad {
            name: "acc/kmeans-map".to_owned(),
            empty,
            is_long,
        }
    }

    #[test]
    fn tasks_are_added_while_the_queue_is_empty_and_withdrawn_while_it_is_long() {
        for ((running, allowed, empty, is_long), wanted) in [
            ((4, 4, 101, false), 6),
            ((1, 1, 1000, false), 2),
            // Enough to do.
            ((4, 4, 100, false), 4),
            // Not for want of leave.
            ((3, 4, 1000, false), 4),
            ((0, 4, 1000, false), 4),
            ((8, 8, 0, true), 7),
            // Those that are there end by themselves.
            ((9, 6, 0, true), 5),
            ((2, 6, 0, true), 1),
            ((1, 1, 0, true), 1),
        ] {
            let found = next(running, allowed, &load(empty, is_long));
            assert_eq!(found, wanted, "{running} {allowed} {empty} {is_long}");
        }
    }
}
