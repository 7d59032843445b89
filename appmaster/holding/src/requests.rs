//! A placement as the rows of one allocate call.
//!
//! One container on one named node takes three rows: the host, its rack and `*`, with
//! `relax_locality` false on the latter two. Without the rack row the CapacityScheduler never
//! matches the host; with it the request is strict: it is never served elsewhere, and never delays
//! the application's other requests while it waits. Rows of one size share an allocation request id, under
//! which the ResourceManager keeps its table; a new size takes a new id, because two sizes under one
//! id would overwrite each other.
//!
//! Placing again changes as little as possible: what is still wanted stays under its id, what is not is
//! cleared and what is new is asked for, all in one call. While that call is under way the
//! ResourceManager may have served a request that we believe outstanding, and counted its rack's and
//! its `*` row down before we state them; so after such a change those rows are stated again, with
//! their true counts, whenever a container of that id comes.
//!
//! An application may have several requests at once, of jobs that know nothing of each other: each is
//! replaced on its own, and ids belong to one of them. A host may be asked for any number of containers,
//! under one id or several: they are counted by host and id.

use std::collections::{BTreeMap, BTreeSet};

use policy::{Counts, NodeId, NodeShare, Placement, ResourceTypes, Resources};
use proto_hadoop::yarn::{ANY, NodeNames, Resource, ResourceRequest};

/// Request priority; the ResourceManager gives 0 to the AM's own container.
const PRIORITY: i32 = 1;

/// Ids that are remembered when they are not outstanding any more.
const IDS_KEPT: i64 = 256;

/// What is to be asked for from now on.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The round that new requests belong to.
    pub round: u32,
    /// All shares, those that are there and those that stand included.
    pub placement: Placement,
    /// Nodes whose containers are there.
    pub held: BTreeSet<NodeId>,
    /// Nodes whose requests of earlier rounds stand, served meanwhile or not.
    pub kept: BTreeSet<NodeId>,
}

impl Asking {
    /// The shares that are asked for anew.
    pub fn fresh(&self) -> impl Iterator<Item = &NodeShare> {
        let shares = self.placement.shares.iter();
        shares.filter(|share| !self.held.contains(&share.node) && !self.kept.contains(&share.node))
    }
}

/// Allocation request id and resource name.
type RequestKey = (i64, String);

/// Containers asked for on one node under one id.
#[derive(Debug)]
struct Outstanding {
    rack: String,
    containers: u32,
}

/// Which request an id is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub request: u32,
    pub round: u32,
}

/// The application's rows in the ResourceManager's table, as we believe them to stand there.
#[derive(Debug, Default)]
pub(crate) struct RequestTable {
    /// Rows that are outstanding.
    rows: BTreeMap<RequestKey, ResourceRequest>,
    /// What is asked for, by the node's name in requests and by id.
    hosts: BTreeMap<(String, i64), Outstanding>,
    /// Rows that the ResourceManager has not heard of yet.
    unsent: BTreeMap<RequestKey, ResourceRequest>,
    next_id: i64,
    /// What each id belongs to: of those that are outstanding, and the newest of the others, of which
    /// grants may still come.
    origins: BTreeMap<i64, Origin>,
    /// Outstanding ids of which a part was cleared.
    restated: BTreeSet<i64>,
    /// Outstanding ids of which the ResourceManager has taken rows.
    taken: BTreeSet<i64>,
    /// The partition, on `*` rows; see [`RequestTable::new`].
    label: String,
    names: NodeNames,
    /// The table of the counts in sizes.
    types: ResourceTypes,
}

impl RequestTable {
    /// For the nodes of partition `label`, or for those without one, which requests name by `names`.
    ///
    /// The ResourceManager (`SchedulerUtils.validateResourceRequest`) refuses a label on a host or
    /// rack row; those take over that of their `*` row. A `*` row without any would be given the
    /// queue's default label, so the default partition is named too: by the empty label, which is
    /// taken even where node labels are off.
    pub(crate) fn new(label: Option<String>, names: NodeNames, types: ResourceTypes) -> Self {
        Self {
            label: label.unwrap_or_default(),
            names,
            types,
            ..Self::default()
        }
    }

    /// The table of the counts in amounts.
    pub(crate) const fn types(&self) -> &ResourceTypes {
        &self.types
    }

    /// Replaces what is outstanding of `request` by `asking`: old rows with a count of 0, what stands with
    /// its new count, new rows under new ids. [`Self::unsent`] gives what is to be sent for it.
    pub(crate) fn replace(&mut self, request: u32, asking: &Asking) {
        let shares = asking.placement.shares.iter();
        let standing: BTreeSet<&str> = shares
            .filter(|share| asking.kept.contains(&share.node))
            .map(|share| self.name(share))
            .collect();
        let is_own = |id| {
            let origin: Option<&Origin> = self.origins.get(id);
            origin.is_some_and(|origin| origin.request == request)
        };
        let asked = self.hosts.keys();
        let dropped: Vec<(String, i64)> = asked
            .filter(|(host, id)| is_own(id) && !standing.contains(host.as_str()))
            .cloned()
            .collect();
        for (host, id) in dropped {
            if let Some(asked) = self.hosts.remove(&(host.clone(), id)) {
                self.restated.insert(id);
                for name in [host.as_str(), &asked.rack, ANY] {
                    self.lower(id, name, asked.containers, true);
                }
            }
        }

        let mut by_size: BTreeMap<(u64, u32, Counts), Vec<&NodeShare>> = BTreeMap::new();
        for share in asking.fresh() {
            let ask = share.ask;
            let size = (ask.memory.0, ask.vcores.0, ask.counts);
            by_size.entry(size).or_default().push(share);
        }
        for shares in by_size.into_values() {
            self.next_id += 1;
            let id = self.next_id;
            let round = asking.round;
            self.origins.insert(id, Origin { request, round });
            for share in shares {
                let name = self.name(share).to_owned();
                self.raise(id, &name, share.ask, true);
                self.raise(id, &share.rack, share.ask, false);
                self.raise(id, ANY, share.ask, false);
                let asked = self.hosts.entry((name, id));
                let asked = asked.or_insert_with(|| Outstanding {
                    rack: share.rack.clone(),
                    containers: 0,
                });
                asked.containers += 1;
            }
        }
        self.forget_old();
    }

    /// Nothing more is wanted of ids that are not outstanding, and grants of old ones do not come.
    fn forget_old(&mut self) {
        let outstanding: BTreeSet<i64> = self.rows.keys().map(|(id, _)| *id).collect();
        self.restated.retain(|id| outstanding.contains(id));
        self.taken.retain(|id| outstanding.contains(id));
        let newest = self.next_id.saturating_sub(IDS_KEPT);
        self.origins
            .retain(|id, _| *id > newest || outstanding.contains(id));
    }

    /// The node of a share, as requests name it.
    fn name<'a>(&self, share: &'a NodeShare) -> &'a str {
        match self.names {
            NodeNames::Host => &share.host,
            NodeNames::HostAndPort => &share.node.0,
        }
    }

    fn raise(&mut self, id: i64, name: &str, size: Resources, relax_locality: bool) {
        let key = (id, name.to_owned());
        let others = self.types.named(size.counts);
        let others: Vec<(String, u64)> = others
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        let row = self.rows.entry(key.clone());
        let row = row
            .and_modify(|row| row.containers += 1)
            .or_insert_with(|| ResourceRequest {
                priority: PRIORITY,
                resource_name: name.to_owned(),
                capability: Resource::new(size.memory.0, size.vcores.0).with_others(others),
                containers: 1,
                relax_locality,
                node_label: (name == ANY).then(|| self.label.clone()),
                allocation_request_id: id,
            });
        self.unsent.insert(key, row.clone());
    }

    /// So many containers less in a row, which is to be `stated` or is known already.
    fn lower(&mut self, id: i64, name: &str, containers: u32, stated: bool) {
        let key = (id, name.to_owned());
        let Some(row) = self.rows.get_mut(&key) else {
            return;
        };
        row.containers = row.containers.saturating_sub(containers);
        if stated {
            self.unsent.insert(key.clone(), row.clone());
        }
        if row.containers == 0 {
            self.rows.remove(&key);
        }
    }

    /// The ResourceManager served one container of `id` on `node`: it counts its rows down, and
    /// so do we. What the container belongs to; `None` for an id that we never used.
    pub(crate) fn served(&mut self, id: i64, node: &proto_hadoop::NodeId) -> Option<Origin> {
        let key = (self.names.of(node), id);
        // Of a row that was cleared meanwhile, nothing is left to count.
        if let Some(asked) = self.hosts.get_mut(&key) {
            asked.containers = asked.containers.saturating_sub(1);
            let (rack, is_last) = (asked.rack.clone(), asked.containers == 0);
            if is_last {
                self.hosts.remove(&key);
            }
            let stated = self.restated.contains(&id);
            self.lower(id, &key.0, 1, false);
            self.lower(id, &rack, 1, stated);
            self.lower(id, ANY, 1, stated);
        }
        self.origins.get(&id).copied()
    }

    /// Whether anything is still waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The requests that wait for something.
    pub(crate) fn requests(&self) -> BTreeSet<u32> {
        let origins = self.rows.keys().filter_map(|(id, _)| self.origins.get(id));
        origins.map(|origin| origin.request).collect()
    }

    /// What the next call is to say; it counts as said.
    pub(crate) fn unsent(&mut self) -> Vec<ResourceRequest> {
        self.unsent_of(|_| true)
    }

    /// The same of the sizes that `are_meant`.
    pub(crate) fn unsent_of(
        &mut self,
        are_meant: impl Fn(&Resource) -> bool,
    ) -> Vec<ResourceRequest> {
        let (meant, others) = std::mem::take(&mut self.unsent)
            .into_iter()
            .partition(|(_, row)| are_meant(&row.capability));
        self.unsent = others;
        meant.into_values().collect()
    }

    /// A call was taken, with rows of these ids.
    pub(crate) fn taken(&mut self, ids: impl IntoIterator<Item = i64>) {
        let known = ids.into_iter().filter(|id| self.origins.contains_key(id));
        self.taken.extend(known);
    }

    /// What is to be said of containers of `size` is never said: it is not allowed. The requests that ask for some of
    /// which the ResourceManager knows nothing, and for how many; of what it has taken before, it knows more than is
    /// wanted now.
    pub(crate) fn drop_size(&mut self, size: &Resource) -> (BTreeSet<u32>, u32) {
        let unsent = self.unsent.iter();
        let ids = unsent.filter(|(_, row)| row.capability == *size);
        let ids: BTreeSet<i64> = ids.map(|((id, _), _)| *id).collect();
        self.unsent.retain(|(id, _), _| !ids.contains(id));
        let (mut requests, mut containers) = (BTreeSet::new(), 0_u32);
        for id in ids {
            let is_live = self.rows.keys().any(|(of, _)| *of == id);
            if !is_live || self.taken.contains(&id) {
                continue;
            }
            self.rows.retain(|(of, _), _| *of != id);
            self.hosts.retain(|(_, of), asked| {
                if *of == id {
                    containers = containers.saturating_add(asked.containers);
                }
                *of != id
            });
            requests.extend(self.origins.get(&id).map(|origin| origin.request));
        }
        self.forget_old();
        (requests, containers)
    }

    /// A call was refused: its rows are to be said again, unless they have changed since.
    pub(crate) fn refused(&mut self, rows: Vec<ResourceRequest>) {
        for row in rows {
            let key = (row.allocation_request_id, row.resource_name.clone());
            self.unsent.entry(key).or_insert(row);
        }
    }

    /// The ResourceManager has lost its table: everything is to be said again.
    pub(crate) fn forgotten(&mut self) {
        self.unsent = self.rows.clone();
        self.taken.clear();
    }
}

#[cfg(test)]
mod tests;
