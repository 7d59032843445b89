//! Looking for nodes, containers and slots.

use std::collections::BTreeSet;

use crate::schedule::element::{has_elements, needs_element};
use crate::schedule::place::{SlotKind, StageBits};
use crate::schedule::{
    Container, ContainerIx, JobIx, Nanos, Node, NodeIx, Session, Slot, SlotIx, SlotUse, Speed,
    Stage, TaskIx,
};

/// As many failed attempts as no job has: a node that has them was named as one to avoid.
pub(in crate::schedule) const AVOIDED: u32 = u32::MAX;

impl Session {
    /// A node.
    #[must_use]
    pub fn node(&self, node: NodeIx) -> Option<&Node> {
        self.state
            .nodes
            .get(node.0 as usize)
            .map(|record| &record.node)
    }

    /// The node of a host.
    #[must_use]
    pub fn host(&self, host: &str) -> Option<NodeIx> {
        self.state.hosts.get(host).copied()
    }

    /// A container that is there.
    #[must_use]
    pub fn container(&self, container: ContainerIx) -> Option<&Container> {
        let record = self.state.containers.get(&container)?;
        Some(&record.container)
    }

    /// Whether a container is wanted back: no new task goes there.
    #[must_use]
    pub fn is_leaving(&self, container: ContainerIx) -> bool {
        let record = self.state.containers.get(&container);
        record.is_some_and(|record| record.leaving.is_some())
    }

    /// The container that joined last.
    pub(in crate::schedule) fn newest_container(&self) -> ContainerIx {
        ContainerIx(self.state.next_container.saturating_sub(1))
    }

    /// How many free slots of one speed there are for a stage.
    #[must_use]
    pub fn free_count(&self, stage: Stage, speed: Speed) -> usize {
        let slots = self.state.free_by.get(&(stage, speed));
        slots.map_or(0, BTreeSet::len)
    }

    /// Slots of a container, by position.
    #[must_use]
    pub fn slots_of(&self, container: ContainerIx) -> &[SlotIx] {
        let record = self.state.containers.get(&container);
        record.map_or(&[], |record| &record.slots)
    }

    /// A slot that is there.
    #[must_use]
    pub fn slot(&self, slot: SlotIx) -> Option<&Slot> {
        self.state.slots.get(&slot)
    }

    /// Every slot, by number.
    pub fn slots(&self) -> impl Iterator<Item = (SlotIx, &Slot)> {
        self.state.slots.iter()
    }

    /// How many slots there are.
    #[must_use]
    pub fn slot_count(&self) -> usize {
        self.state.slots.len()
    }

    /// How many slots run a stage.
    #[must_use]
    pub fn slot_count_of(&self, stage: Stage) -> usize {
        self.state.slots_of.get(&stage).copied().unwrap_or(0)
    }

    /// The node of a slot.
    #[must_use]
    pub fn node_of(&self, slot: SlotIx) -> Option<NodeIx> {
        let container = self.slot(slot)?.container;
        Some(self.container(container)?.node)
    }

    /// Nodes with a free slot, by number.
    pub fn free_nodes(&self) -> impl Iterator<Item = NodeIx> {
        self.state.free_nodes.iter().copied()
    }

    /// The next node with a free slot after `node`, or the first.
    #[must_use]
    pub fn free_node_after(&self, node: Option<NodeIx>) -> Option<NodeIx> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = node.map_or(Unbounded, Excluded);
        self.state
            .free_nodes
            .range((from, Unbounded))
            .next()
            .copied()
    }

    /// Free slots of a node, by number.
    pub fn free_slots(&self, node: NodeIx) -> impl Iterator<Item = SlotIx> {
        let record = self.state.nodes.get(node.0 as usize);
        record
            .into_iter()
            .flat_map(|record| record.free.iter().copied())
    }

    /// The next node after `node`, or the first, with a free slot for a stage of which tasks are pending; of gangs only
    /// where these are to count.
    #[must_use]
    pub fn open_node_after(&self, node: Option<NodeIx>, gangs: bool) -> Option<NodeIx> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = node.map_or(Unbounded, |node| Excluded((node, SlotIx(u32::MAX))));
        let open = self.state.free_by.iter();
        let open = open.filter(|((stage, speed), _)| {
            let counts = *speed != Speed::Parked && (gangs || *stage != Stage::Gang);
            counts && self.is_pending(*stage)
        });
        let next = open.filter_map(|(_, slots)| slots.range((from, Unbounded)).next());
        next.map(|(node, _)| *node).min()
    }

    /// Whether tasks are pending that need no element.
    pub(in crate::schedule) fn needs_plain_nodes(&self) -> bool {
        let stages = [Stage::Map, Stage::Reduce, Stage::Gang].into_iter();
        let mut needs = stages
            .flat_map(|stage| self.classes(stage))
            .filter_map(|class| self.need(class));
        needs.any(|need| !needs_element(need))
    }

    /// Free slots of a node for stages of which tasks are pending, by number; of those that are alike the first.
    pub fn open_slots(&self, node: NodeIx) -> impl Iterator<Item = SlotIx> + use<> {
        let stages = [Stage::Map, Stage::Reduce, Stage::Gang].into_iter();
        let pending = StageBits::of(stages.filter(|stage| self.is_pending(*stage)));
        let record = self.state.nodes.get(node.0 as usize);
        let kinds = record.into_iter().flat_map(|record| &record.free_kinds);
        let open = kinds.filter(|(kind, _)| kind.starts_tasks() && kind.runs_any(pending));
        let mut firsts: Vec<SlotIx> = open
            .filter_map(|(_, slots)| slots.first().copied())
            .collect();
        firsts.sort_unstable();
        firsts.into_iter()
    }

    /// Free slots of one speed for a stage, by node.
    pub fn free_for(&self, stage: Stage, speed: Speed) -> impl Iterator<Item = (NodeIx, SlotIx)> {
        let slots = self.state.free_by.get(&(stage, speed));
        slots.into_iter().flatten().copied()
    }

    /// A free slot of a container for a stage, on cores of this speed.
    #[must_use]
    pub fn free_in(&self, container: ContainerIx, stage: Stage, speed: Speed) -> Option<SlotIx> {
        let node = self.container(container)?.node;
        let kinds = &self.state.nodes.get(node.0 as usize)?.free_kinds;
        let runs = |kind: &SlotKind| {
            kind.is_of(container, speed) && kind.runs_any(StageBits::of([stage].into_iter()))
        };
        let slots = kinds.iter().filter(|(kind, _)| runs(kind));
        slots.filter_map(|(_, slots)| slots.first().copied()).min()
    }

    /// Every node, by number, those without containers included.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIx, &Node)> {
        let numbered = (0..).map(NodeIx).zip(&self.state.nodes);
        numbered.map(|(ix, record)| (ix, &record.node))
    }

    /// Containers of a node, by number.
    pub fn containers_of(&self, node: NodeIx) -> impl Iterator<Item = ContainerIx> {
        let record = self.state.nodes.get(node.0 as usize);
        record
            .into_iter()
            .flat_map(|record| record.containers.iter().copied())
    }

    /// Whether no further attempt of a job is to start at a node: too many have failed there, or it was
    /// [named](crate::schedule::Event::Avoided), and there is another node with fewer, which has the elements that the
    /// job's tasks need. Cost: O(nodes) where too many have failed.
    #[must_use]
    pub fn avoids(&self, job: JobIx, node: NodeIx) -> bool {
        let limit = self.job(job).map_or(0, |job| job.node_failures);
        let failed = |node| self.state.failed.get(&(node, job)).copied().unwrap_or(0);
        // Without a limit failures are not counted, and what a node is stays.
        let limit = if limit > 0 { limit } else { AVOIDED };
        let bad = |node| failed(node) >= limit;
        let serves = |node| {
            let stages = self.job(job).into_iter();
            let mut stages = stages.flat_map(|job| job.stages.values());
            stages.all(|state| {
                let wants = state.pending > 0 || state.running > 0;
                !wants || has_elements(self, &state.need, node)
            })
        };
        let is_there = |node| self.containers_of(node).next().is_some() && serves(node);
        let mut others = self.nodes().map(|(other, _)| other);
        bad(node) && others.any(|other| !bad(other) && is_there(other))
    }

    /// Whether an attempt at a task has failed at a node.
    #[must_use]
    pub fn has_failed(&self, node: NodeIx, job: JobIx, stage: Stage, task: TaskIx) -> bool {
        self.state.failed_at.contains(&(node, job, stage, task))
    }

    /// Whether all of a job's pending tasks have failed at a node, and a slot is free at another, where one of them has
    /// not. Cost: O(failed tasks of the job there · nodes with a free slot).
    fn goes_elsewhere(&self, job: JobIx, node: NodeIx) -> bool {
        let Some(record) = self.state.jobs.get(&job) else {
            return false;
        };
        let from = (node, job, Stage::Map, TaskIx(0));
        let here = self.state.failed_at.range(from..);
        let here = here.take_while(|(at, of, ..)| (*at, *of) == (node, job));
        let failed = here.map(|(_, _, stage, task)| (*stage, *task));
        let failed: Vec<(Stage, TaskIx)> = failed
            .filter(|(stage, task)| {
                let tasks = record.tasks.get(stage);
                tasks.is_some_and(|tasks| tasks.pending.contains(task))
            })
            .collect();
        let pending: usize = record.tasks.values().map(|tasks| tasks.pending.len()).sum();
        if failed.is_empty() || failed.len() < pending {
            return false;
        }
        let serves = |other: NodeIx, stage: Stage| {
            let need = record.job.stages.get(&stage).map(|state| &state.need);
            let mut free = self
                .state
                .free_by
                .iter()
                .filter(|((of, speed), _)| *of == stage && *speed != Speed::Parked);
            need.is_some_and(|need| has_elements(self, need, other))
                && free.any(|(_, slots)| slots.iter().any(|(at, _)| *at == other))
        };
        let mut others = self.free_nodes().filter(|other| *other != node);
        others.any(|other| {
            let mut failed = failed.iter();
            !self.avoids(job, other)
                && failed.any(|(stage, task)| {
                    !self.has_failed(other, job, *stage, *task) && serves(other, *stage)
                })
        })
    }

    /// The jobs that [avoid](Self::avoids) a node, or all of whose pending tasks have failed there while another has a
    /// free slot for them.
    #[must_use]
    pub fn avoiding(&self, node: NodeIx) -> Vec<JobIx> {
        let here = (node, JobIx(0))..=(node, JobIx(u32::MAX));
        let jobs = self.state.failed.range(here).map(|((_, job), _)| *job);
        jobs.filter(|job| self.avoids(*job, node) || self.goes_elsewhere(*job, node))
            .collect()
    }

    /// Slots kept for a gang.
    pub fn held(&self, job: JobIx) -> impl Iterator<Item = SlotIx> {
        let held = self.state.held_of.range((job, SlotIx(0))..);
        held.map_while(move |(whose, slot)| (*whose == job).then_some(*slot))
    }

    /// When the first slots that are kept for a gang are given up.
    #[must_use]
    pub fn first_hold_ends(&self) -> Option<Nanos> {
        self.state.hold_ends.first().map(|(until, _)| *until)
    }

    pub(in crate::schedule) fn is_free(&self, slot: SlotIx) -> bool {
        self.slot(slot)
            .is_some_and(|slot| slot.taken == SlotUse::Free)
    }
}
