//! A placement as the rows of one allocate call.
//!
//! One container on one named node takes three rows: the host, its rack and `*`, with
//! `relax_locality` false on the latter two. Without the rack row the CapacityScheduler never
//! matches the host; with it the request is strict: it is never served elsewhere, and never delays
//! the job's other requests while it waits. Rows of one size share an allocation request id, under
//! which the ResourceManager keeps its table; a new size takes a new id, because two sizes under one
//! id would overwrite each other.

use std::collections::BTreeMap;

use policy::{Placement, Resources};
use proto_hadoop::yarn::{ANY, Resource, ResourceRequest};

/// Request priority; the ResourceManager gives 0 to the AM's own container.
const PRIORITY: i32 = 1;

/// The job's rows in the ResourceManager's table, as we believe them to stand there.
#[derive(Debug, Default)]
pub(crate) struct RequestTable {
    /// Rows that are outstanding, by allocation request id and resource name.
    rows: BTreeMap<(i64, String), ResourceRequest>,
    next_id: i64,
    /// The round of asking that each id belongs to.
    rounds: BTreeMap<i64, u32>,
    /// The partition, on `*` rows; see [`RequestTable::new`].
    label: String,
}

impl RequestTable {
    /// For the nodes of partition `label`, or for those without one.
    ///
    /// The ResourceManager (`SchedulerUtils.validateResourceRequest`) refuses a label on a host or
    /// rack row; those take over that of their `*` row. A `*` row without any would be given the
    /// queue's default label, so the default partition is named too: by the empty label, which is
    /// taken even where node labels are off.
    pub(crate) fn new(label: Option<String>) -> Self {
        Self {
            label: label.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The rows that replace everything outstanding by `placement`, in one call: old rows with a
    /// count of 0, new rows under new ids.
    pub(crate) fn replace(&mut self, round: u32, placement: &Placement) -> Vec<ResourceRequest> {
        let mut calls: Vec<ResourceRequest> = std::mem::take(&mut self.rows)
            .into_values()
            .map(|row| ResourceRequest {
                containers: 0,
                ..row
            })
            .collect();

        let mut by_size: BTreeMap<(u64, u32), Vec<usize>> = BTreeMap::new();
        for (index, share) in placement.shares.iter().enumerate() {
            let size = (share.ask.memory.0, share.ask.vcores.0);
            by_size.entry(size).or_default().push(index);
        }
        for indices in by_size.into_values() {
            self.next_id += 1;
            let id = self.next_id;
            self.rounds.insert(id, round);
            for index in indices {
                let share = &placement.shares[index];
                self.count(id, &share.host, share.ask, true);
                self.count(id, &share.rack, share.ask, false);
                self.count(id, ANY, share.ask, false);
            }
        }
        calls.extend(self.rows.values().cloned());
        calls
    }

    fn count(&mut self, id: i64, name: &str, size: Resources, relax_locality: bool) {
        let row = self.rows.entry((id, name.to_owned()));
        row.and_modify(|row| row.containers += 1)
            .or_insert_with(|| ResourceRequest {
                priority: PRIORITY,
                resource_name: name.to_owned(),
                capability: Resource {
                    memory_mib: size.memory.0,
                    vcores: size.vcores.0,
                    ..Resource::default()
                },
                containers: 1,
                relax_locality,
                node_label: (name == ANY).then(|| self.label.clone()),
                allocation_request_id: id,
            });
    }

    /// The ResourceManager served one container of `id` on `host`: it counts its rows down, and
    /// so do we. The round that the container belongs to; `None` for an id that we never used.
    pub(crate) fn served(&mut self, id: i64, host: &str, rack: &str) -> Option<u32> {
        for name in [host, rack, ANY] {
            let key = (id, name.to_owned());
            if let Some(row) = self.rows.get_mut(&key) {
                row.containers = row.containers.saturating_sub(1);
                if row.containers == 0 {
                    self.rows.remove(&key);
                }
            }
        }
        self.rounds.get(&id).copied()
    }

    /// Whether anything is still waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows, for a ResourceManager that has lost its table.
    pub(crate) fn all(&self) -> Vec<ResourceRequest> {
        self.rows.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use policy::{NodeId, NodeShare};

    use super::*;

    fn share(host: &str, rack: &str, memory_mib: u64) -> NodeShare {
        NodeShare {
            node: NodeId(format!("{host}:1")),
            host: host.into(),
            rack: rack.into(),
            processes: 1,
            ask: Resources::new(memory_mib, 1),
        }
    }

    fn brief(rows: &[ResourceRequest]) -> Vec<(i64, &str, u64, u32, bool)> {
        let row = |r: &ResourceRequest| -> (i64, u64, u32, bool) {
            (
                r.allocation_request_id,
                r.capability.memory_mib,
                r.containers,
                r.relax_locality,
            )
        };
        rows.iter()
            .map(|r| {
                let (id, memory, containers, relax) = row(r);
                (id, r.resource_name.as_str(), memory, containers, relax)
            })
            .collect()
    }

    #[test]
    fn every_host_gets_its_three_rows_and_every_size_its_own_id() {
        let placement = Placement {
            shares: vec![
                share("a", "/r1", 2048),
                share("b", "/r1", 2048),
                share("c", "/r2", 1024),
            ],
        };
        let mut table = RequestTable::default();
        assert_eq!(
            brief(&table.replace(1, &placement)),
            [
                (1, "*", 1024, 1, false),
                (1, "/r2", 1024, 1, false),
                (1, "c", 1024, 1, true),
                (2, "*", 2048, 2, false),
                (2, "/r1", 2048, 2, false),
                (2, "a", 2048, 1, true),
                (2, "b", 2048, 1, true),
            ]
        );
    }

    #[test]
    fn the_label_stands_on_the_any_row_alone() {
        let placement = Placement {
            shares: vec![share("a", "/r", 1024)],
        };
        for (label, expected) in [(Some("gpu"), "gpu"), (None, "")] {
            let mut table = RequestTable::new(label.map(str::to_owned));
            let rows = table.replace(1, &placement);
            let labels: Vec<_> = rows.iter().map(|row| row.node_label.as_deref()).collect();
            assert_eq!(labels, [Some(expected), None, None]);
        }
    }

    #[test]
    fn served_rows_are_counted_down_and_only_the_rest_is_cleared() {
        let placement = Placement {
            shares: vec![share("a", "/r", 1024), share("b", "/r", 1024)],
        };
        let mut table = RequestTable::default();
        assert_eq!(table.replace(7, &placement).len(), 4);
        assert_eq!(table.served(1, "a", "/r"), Some(7));
        assert_eq!(table.served(99, "a", "/r"), None);
        assert!(!table.is_empty());
        let nothing = Placement { shares: vec![] };
        assert_eq!(
            brief(&table.replace(7, &nothing)),
            [
                (1, "*", 1024, 0, false),
                (1, "/r", 1024, 0, false),
                (1, "b", 1024, 0, true),
            ]
        );
        assert!(table.is_empty());
    }
}
