//! Nodes, containers and slots: which are there, and which are free.

use std::collections::{BTreeMap, BTreeSet};

use crate::Few;
use crate::schedule::place::SlotKind;
use crate::schedule::session::{Attempt, ContainerRecord, NodeRecord, ScheduleState};
use crate::schedule::{
    AttemptIx, AttemptOutcome, Bundle, Container, ContainerIx, JobIx, Nanos, Node, NodeIx,
    ResourceName, Slot, SlotIx, SlotUse, Stage, TaskIx,
};

impl ScheduleState {
    /// Does what changes a node or its containers, and keeps the total of all in line.
    fn recounted(&mut self, node: NodeIx, change: impl FnOnce(&mut Self)) {
        self.count_total(node, u64::saturating_sub);
        change(self);
        self.count_total(node, u64::saturating_add);
    }

    /// Adds what a node has to the total, or takes it off: what its containers count and, where it has some, what it
    /// counts itself and they do not.
    fn count_total(&mut self, node: NodeIx, how: fn(u64, u64) -> u64) {
        let Some(there) = self.nodes.get(node.0 as usize) else {
            return;
        };
        let containers = there.containers.iter();
        let pools: Vec<&Bundle> = containers
            .filter_map(|ix| self.containers.get(ix))
            .map(|record| &record.container.pool)
            .collect();
        let counted = |name| pools.iter().any(|pool| pool.counts(name));
        let own = there.node.pool.iter();
        let own = own.filter(|(name, _)| !pools.is_empty() && !counted(name));
        let amounts = pools.iter().flat_map(|pool| pool.iter()).chain(own);
        for (name, amount) in amounts {
            self.total.change(name, |before| how(before, amount));
        }
    }

    pub(super) fn joined(&mut self, node: &Node, container: &Container, slots: &[Slot]) {
        let known = self.hosts.get(&node.host).copied();
        let at = known.unwrap_or_else(|| self.add_node(node.clone()));
        let ix = ContainerIx(self.next_container);
        self.next_container = self.next_container.saturating_add(1);
        let mut record = ContainerRecord {
            container: container.clone(),
            taken: Bundle::new(),
            slots: Vec::new(),
            leaving: None,
        };
        record.container.node = at;
        self.containers.insert(ix, record);
        let there = self.nodes.get(at.0 as usize);
        let is_first = there.is_some_and(|there| there.containers.is_empty());
        let pending = if is_first {
            self.pending_at(at)
        } else {
            Vec::new()
        };
        self.set_all_pending(&pending, false);
        self.recounted(at, |state| {
            let Some(there) = state.nodes.get_mut(at.0 as usize) else {
                return;
            };
            if is_first {
                // What the host has may have changed since its last container went.
                there.node = node.clone();
                there.taken = Bundle::new();
            }
            there.has_joined = true;
            there.containers.insert(ix);
        });
        self.set_all_pending(&pending, true);
        for slot in slots {
            self.add_slot(ix, slot);
        }
    }

    pub(super) fn add_slot(&mut self, container: ContainerIx, slot: &Slot) -> SlotIx {
        let ix = SlotIx(self.next_slot);
        self.next_slot = self.next_slot.saturating_add(1);
        self.slots.insert(
            ix,
            Slot {
                container,
                taken: SlotUse::Free,
                ..slot.clone()
            },
        );
        self.count_slot(ix, true);
        if let Some(record) = self.containers.get_mut(&container) {
            record.slots.push(ix);
        }
        self.free(ix);
        ix
    }

    pub(super) fn recut(&mut self, container: ContainerIx, now: &[Slot]) {
        let Some(record) = self.containers.get_mut(&container) else {
            return;
        };
        let before = std::mem::take(&mut record.slots);
        let node = record.container.node;
        let is_leaving = record.leaving.is_some();
        let (kept, over, fresh) = self.matched(&before, now);
        for (ix, slot) in &kept {
            self.list_free(node, *ix, false);
            self.count_slot(*ix, false);
            if let Some(there) = self.slots.get_mut(ix) {
                *there = Slot {
                    container,
                    taken: there.taken.clone(),
                    ..(*slot).clone()
                };
            }
            self.count_slot(*ix, true);
            self.list_free(node, *ix, !is_leaving);
        }
        let mut stay: Vec<SlotIx> = kept.into_keys().collect();
        for ix in &over {
            match self.slots.get(ix).map(|slot| &slot.taken) {
                Some(SlotUse::Free) => self.remove_slot(*ix),
                // It goes with its attempt.
                Some(_) => {
                    self.count_slot(*ix, false);
                    if let Some(slot) = self.slots.get_mut(ix) {
                        slot.stages.clear();
                    }
                    stay.push(*ix);
                }
                None => {}
            }
        }
        if let Some(record) = self.containers.get_mut(&container) {
            record.slots = stay;
        }
        for slot in fresh {
            self.add_slot(container, slot);
        }
        self.forget_kinds(node);
    }

    /// Which of a container's slots become which of those that it has now, which are over, and which come: those that
    /// are taken before others, and of its own kind before another that runs a stage of it.
    fn matched<'a>(
        &self,
        before: &[SlotIx],
        now: &'a [Slot],
    ) -> (BTreeMap<SlotIx, &'a Slot>, Vec<SlotIx>, Vec<&'a Slot>) {
        let (mut kept, mut fresh) = (BTreeMap::new(), now.iter().collect::<Vec<&Slot>>());
        let mut over = before.to_vec();
        over.sort_by_key(|ix| {
            let slot = self.slots.get(ix);
            slot.is_none_or(|slot| slot.taken == SlotUse::Free)
        });
        let same =
            |one: &Slot, other: &Slot| one.stages == other.stages && one.speed == other.speed;
        let near = |one: &Slot, other: &Slot| {
            let alike = one.starts_tasks() == other.starts_tasks();
            alike && !one.stages.is_disjoint(&other.stages)
        };
        for fits in [same as fn(&Slot, &Slot) -> bool, near] {
            over.retain(|ix| {
                let slot = self.slots.get(ix);
                let to = slot.and_then(|slot| fresh.iter().position(|other| fits(slot, other)));
                if let Some(at) = to {
                    kept.insert(*ix, fresh.remove(at));
                }
                to.is_none()
            });
        }
        (kept, over, fresh)
    }

    pub(super) fn remove_slot(&mut self, ix: SlotIx) {
        let Some(slot) = self.slots.get(&ix) else {
            return;
        };
        if let Some(record) = self.containers.get_mut(&slot.container) {
            record.slots.retain(|other| *other != ix);
            let node = record.container.node;
            self.not_free(node, ix);
        }
        self.count_slot(ix, false);
        self.slots.remove(&ix);
        self.let_loose(ix);
    }

    /// One slot more, or fewer, runs the stages of this one.
    fn count_slot(&mut self, ix: SlotIx, comes: bool) {
        let Some(slot) = self.slots.get(&ix).filter(|slot| slot.starts_tasks()) else {
            return;
        };
        for stage in &slot.stages {
            let count = self.slots_of.entry(*stage).or_default();
            *count = match comes {
                true => count.saturating_add(1),
                false => count.saturating_sub(1),
            };
        }
    }

    /// Puts a slot of a node, where it is free, into the sets by what may run on it, or takes it out of them.
    fn list_free(&mut self, node: NodeIx, ix: SlotIx, is_in: bool) {
        let (Some(slot), Some(there)) = (self.slots.get(&ix), self.nodes.get_mut(node.0 as usize))
        else {
            return;
        };
        // Where nothing starts, a place is free for moves alone, and makes no node one with free slots.
        let lists = match slot.starts_tasks() {
            true => there.free.contains(&ix),
            false => !is_in || slot.taken == SlotUse::Free,
        };
        if !lists {
            return;
        }
        list(&mut there.free_kinds, SlotKind::of(slot), ix, is_in);
        for stage in &slot.stages {
            list(&mut self.free_by, (*stage, slot.speed), (node, ix), is_in);
        }
    }

    /// Kinds of slots that a node has no more are forgotten with what had them.
    fn forget_kinds(&mut self, node: NodeIx) {
        if let Some(there) = self.nodes.get_mut(node.0 as usize) {
            there.free_kinds.retain(|_, slots| !slots.is_empty());
        }
    }

    /// What is taken of the node stays taken.
    pub(super) fn has_now(&mut self, container: ContainerIx, pool: &Bundle) {
        let node = self.containers.get(&container);
        if let Some(node) = node.map(|record| record.container.node) {
            self.recounted(node, |state| state.has(node, pool));
        }
    }

    fn has(&mut self, node: NodeIx, pool: &Bundle) {
        let Some(there) = self.nodes.get_mut(node.0 as usize) else {
            return;
        };
        there.node.pool = pool.clone();
        there.node.free = pool.clone();
        for (name, amount) in there.taken.iter() {
            there
                .node
                .free
                .change(name, |there| there.saturating_sub(amount));
        }
    }

    /// So many tasks that take these functions may run on the node of a container, as its boards can use them.
    pub(super) fn allowed(&mut self, container: ContainerIx, allowed: &[(ResourceName, u64)]) {
        let Some(record) = self.containers.get(&container) else {
            return;
        };
        let node = record.container.node.0 as usize;
        if let Some(there) = self.nodes.get_mut(node) {
            for (name, count) in allowed {
                there.allowed.insert(name.clone(), *count);
            }
        }
    }

    pub(super) fn lost(&mut self, ix: ContainerIx) {
        let Some(record) = self.containers.get(&ix) else {
            return;
        };
        let node = record.container.node;
        let slots: BTreeSet<SlotIx> = record.slots.iter().copied().collect();
        let on_it = |attempt: &Attempt| {
            slots.contains(&attempt.slot) || attempt.to.is_some_and(|to| slots.contains(&to))
        };
        let lost: Vec<AttemptIx> = self
            .attempts
            .iter()
            .filter(|(_, attempt)| on_it(attempt))
            .map(|(ix, _)| ix)
            .collect();
        lost.into_iter()
            .for_each(|attempt| self.ended(attempt, AttemptOutcome::Lost));
        slots.into_iter().for_each(|slot| self.remove_slot(slot));
        self.forget_kinds(node);
        self.recounted(node, |state| {
            state.containers.remove(&ix);
            if let Some(there) = state.nodes.get_mut(node.0 as usize) {
                there.containers.remove(&ix);
            }
        });
        let there = self.nodes.get(node.0 as usize);
        let is_last = there.is_some_and(|there| there.containers.is_empty());
        if is_last {
            let pending = self.pending_at(node);
            self.set_all_pending(&pending, false);
            self.set_all_pending(&pending, true);
        }
    }

    pub(super) fn named(&mut self, hosts: &[String]) {
        for host in hosts {
            if !self.hosts.contains_key(host) {
                self.add_node(Node {
                    host: host.clone(),
                    ..Node::default()
                });
            }
        }
    }

    fn add_node(&mut self, node: Node) -> NodeIx {
        let ix = NodeIx(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.hosts.insert(node.host.clone(), ix);
        self.nodes.push(NodeRecord {
            node,
            taken: Bundle::new(),
            limited: Few::new(),
            allowed: Few::new(),
            containers: BTreeSet::new(),
            free: BTreeSet::new(),
            free_kinds: BTreeMap::new(),
            has_joined: false,
        });
        ix
    }

    /// Pending tasks that have their input at a node. Cost: O(these and stages of jobs).
    fn pending_at(&self, node: NodeIx) -> Vec<(JobIx, Stage, TaskIx)> {
        let mut there = Vec::new();
        for (ix, record) in self.jobs.iter() {
            for (stage, tasks) in &record.tasks {
                let tasks = tasks.at_node.get(&node).into_iter().flatten();
                there.extend(tasks.map(|task| (ix, *stage, *task)));
            }
        }
        there
    }

    /// Takes tasks out of all orders, and puts them back in, while something changes of where they are.
    fn set_all_pending(&mut self, tasks: &[(JobIx, Stage, TaskIx)], waits: bool) {
        for (ix, stage, task) in tasks {
            match waits {
                true => self.make_pending(*ix, *stage, *task),
                false => self.take_pending(*ix, *stage, *task),
            }
        }
    }

    pub(super) fn wanted_back(&mut self, containers: &[ContainerIx], by: Nanos) {
        for ix in containers {
            let Some(record) = self.containers.get_mut(ix) else {
                continue;
            };
            record.leaving = Some(by);
            let (node, slots) = (record.container.node, record.slots.clone());
            for slot in slots {
                // What is kept there for a gang is of no use to it.
                if self.held.contains_key(&slot) {
                    self.free(slot);
                }
                self.not_free(node, slot);
            }
        }
    }

    /// A slot is nobody's, and may be given out unless its container is wanted back.
    pub(super) fn free(&mut self, ix: SlotIx) {
        self.let_loose(ix);
        let Some(slot) = self.slots.get_mut(&ix) else {
            return;
        };
        slot.taken = SlotUse::Free;
        let gone = slot.stages.is_empty();
        let starts_tasks = slot.starts_tasks();
        let Some(record) = self.containers.get(&slot.container) else {
            return;
        };
        if gone {
            self.remove_slot(ix);
        } else if record.leaving.is_none() {
            let node = record.container.node;
            let there = self.nodes.get_mut(node.0 as usize);
            if let Some(there) = there.filter(|_| starts_tasks) {
                there.free.insert(ix);
                self.free_nodes.insert(node);
            }
            self.list_free(node, ix, true);
        }
    }

    pub(super) fn not_free(&mut self, node: NodeIx, slot: SlotIx) {
        self.list_free(node, slot, false);
        if let Some(there) = self.nodes.get_mut(node.0 as usize) {
            there.free.remove(&slot);
            if there.free.is_empty() {
                self.free_nodes.remove(&node);
            }
        }
    }

    pub(super) fn take(&mut self, ix: SlotIx, taken: SlotUse) {
        self.let_loose(ix);
        let Some(slot) = self.slots.get_mut(&ix) else {
            return;
        };
        slot.taken = taken;
        let Some(record) = self.containers.get(&slot.container) else {
            return;
        };
        let node = record.container.node;
        self.not_free(node, ix);
    }

    pub(super) fn give_up_holds(&mut self) {
        let now = self.now;
        let over = self
            .hold_ends
            .iter()
            .map_while(|(until, slot)| (*until <= now).then_some(*slot));
        let mut over: Vec<SlotIx> = over.collect();
        over.sort_unstable();
        over.into_iter().for_each(|slot| self.free(slot));
    }
}

/// Puts `entry` into the set at `key`, or takes it out. A set that is empty stays: slots come back all the time.
fn list<K: Ord, Entry: Ord>(
    sets: &mut BTreeMap<K, BTreeSet<Entry>>,
    key: K,
    entry: Entry,
    is_in: bool,
) {
    match is_in {
        true => sets.entry(key).or_default().insert(entry),
        false => sets.get_mut(&key).is_some_and(|set| set.remove(&entry)),
    };
}
