//! How many tasks of stages that have a limit run on nodes.

use super::NodeRecord;
use crate::schedule::element::functions;
use crate::schedule::{Need, NodeIx, NodeLimit, ResourceName, Session};

/// Tasks that take a function and run on a node at a time as its boards can use them, before anything is known of these.
pub(in crate::schedule) const AT_FIRST: u64 = 4;

impl Session {
    /// Whether as many tasks of a stage that has a [limit](Need::limit) run on a node as may.
    #[must_use]
    pub fn is_limited(&self, node: NodeIx, need: &Need) -> bool {
        let Some(record) = self.state.nodes.get(node.0 as usize) else {
            return false;
        };
        let mut functions = functions(need);
        match need.limit {
            None => false,
            Some(NodeLimit::Most { most, .. }) => {
                let class = self.state.needs.class(need);
                let count = class.and_then(|class| record.limited.get(&class));
                functions.next().is_some() && count.is_some_and(|count| *count >= most.get().into())
            }
            Some(NodeLimit::Boards) => functions.any(|name| {
                let (running, allowed) = self.by_boards(record, name);
                running >= allowed
            }),
        }
    }

    /// Tasks that take a function and run on a node as its boards can use them, and how many may.
    #[must_use]
    pub fn on_boards(&self, node: NodeIx, function: &ResourceName) -> Option<(u64, u64)> {
        let record = self.state.nodes.get(node.0 as usize)?;
        Some(self.by_boards(record, function))
    }

    fn by_boards(&self, record: &NodeRecord, function: &ResourceName) -> (u64, u64) {
        let classes = record.limited.iter().filter(|(class, _)| {
            let need = self.state.needs.get(*class);
            let need = need.filter(|need| need.limit == Some(NodeLimit::Boards));
            need.is_some_and(|need| functions(need).any(|name| name == function))
        });
        let running = classes.map(|(_, count)| *count);
        let allowed = record.allowed.get(function).copied();
        (running.sum(), allowed.unwrap_or(AT_FIRST))
    }
}
