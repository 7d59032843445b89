//! Elements of nodes that YARN counts: all that a node has free of them is asked for with the container there, and
//! on a node with GPUs a container may have slots of another number.

use std::collections::{BTreeMap, BTreeSet};

use holding::Asking;
use policy::elements::{GPU, Trust, cores_counted_by, counted_by, is_taken_whole};
use policy::lending::{CoreClass, OfferedSlot};
use policy::{ContainerId, NodeId, Resources};

use super::nodes::NodesRead;
use super::place::PlaceState;
use super::{Pool, Want};

impl Pool {
    /// The same, with what the nodes have free of elements.
    pub(super) fn with_elements(&self, number: u32, mut asking: Asking) -> Asking {
        let Some(nodes) = &self.nodes else {
            return asking;
        };
        if self.plan.elements != Trust::Scan {
            for share in &mut asking.placement.shares {
                share.ask = self.ask(number, nodes, &share.node);
            }
        }
        asking
    }

    /// What is asked for at a node.
    fn ask(&self, number: u32, nodes: &NodesRead, node: &NodeId) -> Resources {
        let all = self.plan.slot.times(self.plan.room.get());
        let Some(there) = nodes.node(node) else {
            return all;
        };
        let view = nodes.view();
        let room = view.room(&self.beside(number, there.clone(), view.step));
        let mut counts = all.counts;
        let mut has_gpu = false;
        for (index, name) in view.types.iter() {
            if self.takes_whole(name) {
                counts.set(index, room.counts.of(index));
                has_gpu |= counted_by(name) == Some(GPU) && room.counts.of(index) > 0;
            }
        }
        let more = self.plan.slot.times(self.plan.gpu_slots.get());
        let fits = more.memory <= room.memory && more.vcores <= room.vcores;
        match has_gpu && fits && more.memory > all.memory {
            true => Resources { counts, ..more },
            false => Resources { counts, ..all },
        }
    }

    /// Whether all that a node has free of a type is asked for.
    pub(super) fn takes_whole(&self, type_name: &str) -> bool {
        let by_cores = self.plan.core_slots.is_some();
        is_taken_whole(type_name) || (by_cores && cores_counted_by(type_name).is_some())
    }

    /// The nodes were read: what is asked for and is not there any more is asked for no longer.
    pub(super) fn ask_less(&mut self) -> Vec<Want> {
        let mut wants: Vec<(u32, Asking)> = Vec::new();
        if self.plan.elements == Trust::Scan {
            return Vec::new();
        }
        let Some(nodes) = &self.nodes else {
            return Vec::new();
        };
        let view = nodes.view();
        for (number, place) in &self.places {
            let (PlaceState::Asked, Some(asked)) = (&place.state, &place.asked) else {
                continue;
            };
            let is_short = asked.fresh().any(|share| {
                let there = nodes.node(&share.node);
                there.is_some_and(|there| !share.ask.counts.fit(view.room(there).counts))
            });
            if is_short {
                let mut again = asked.clone();
                again.kept = BTreeSet::new();
                wants.push((*number, self.with_elements(*number, again)));
            }
        }
        for (number, asked) in &wants {
            if let Some(place) = self.places.get_mut(number) {
                place.asked = Some(asked.clone());
            }
        }
        let asks = wants.into_iter();
        asks.map(|(number, asked)| Want::Ask(number, asked))
            .collect()
    }

    /// What YARN has granted to a container that is started.
    pub(crate) fn granted_to(&self, container: &ContainerId) -> Option<Resources> {
        self.place_of(container)?.granted
    }

    /// A container's launcher has found elements of its node, or none.
    pub(crate) fn found(&mut self, container: &ContainerId, has_elements: bool) {
        if let Some(place) = self.place_of_mut(container) {
            place.has_elements = has_elements;
        }
    }

    /// What the attributes of a container's node tell of elements.
    pub(crate) fn attributed_to(&self, container: &ContainerId) -> BTreeMap<String, u64> {
        let place = self.place_of(container);
        let node = place.and_then(|place| Some(&place.share.as_ref()?.node));
        let nodes = self.nodes.as_ref();
        let there = nodes.zip(node).and_then(|(nodes, node)| nodes.node(node));
        there
            .map(|there| there.elements.clone())
            .unwrap_or_default()
    }

    /// The node of a container.
    pub(crate) fn node_of(&self, container: &ContainerId) -> Option<NodeId> {
        let place = self.place_of(container)?;
        Some(place.share.as_ref()?.node.clone())
    }

    /// The slots of a container whose node has these elements and classes of cores: on a node with GPUs as many as its
    /// memory is for.
    pub(crate) fn slots(
        &self,
        container: &ContainerId,
        elements: &BTreeMap<String, u64>,
        cores: &[CoreClass],
    ) -> Vec<OfferedSlot> {
        let room = self.room(container);
        let most = match elements.get(GPU) {
            Some(1..) => self.plan.gpu_slots.get().min(room),
            Some(0) | None => self.plan.slots.get(),
        };
        match &self.plan.core_slots {
            Some(by_cores) => by_cores.slots(cores, most),
            None => OfferedSlot::alike(most),
        }
    }

    /// For how many slots a container's memory is.
    pub(super) fn room(&self, container: &ContainerId) -> u32 {
        let least = self.plan.room.get();
        let granted = self.granted_to(container).unwrap_or_default();
        let memory = self.plan.slot.memory.0.max(1);
        let slots = u32::try_from(granted.memory.0 / memory).unwrap_or(u32::MAX);
        // What YARN rounds up is left unused.
        slots.clamp(least, self.plan.gpu_slots.get().max(least))
    }
}
