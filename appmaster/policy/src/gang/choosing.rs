//! Which nodes a gang is placed on: those that are in doubt only where nothing else helps.

use std::collections::BTreeSet;

use super::limits::AVOID_FULL;
use super::{Chance, Gang, GangState, silence};
use crate::{
    ClusterView, Millis, Mode, NodeId, NodeShare, NodeView, Placement, Rejection, Resources,
};

/// Nodes that look alike are passed over only where more of them are left than this, for each that is missing.
const ALIKE: usize = 4;
/// And by a gang that asks for the first time only where there are so many of them for each of its processes.
const MANY_ALIKE: usize = 16;

impl Gang {
    /// Places what is not `held`, where the mode leaves a choice beside the nodes that containers were
    /// lost with of late, or that do not answer; on those too, if it can never be placed otherwise. Where it could
    /// be, and cannot now, it is placed on those that have been left alone for a while.
    pub(super) fn place_on(
        &mut self,
        now: Millis,
        view: &ClusterView,
        held: &[NodeShare],
    ) -> Result<Placement, Rejection> {
        self.avoided.retain(|_, until| now < *until);
        let by_named;
        let view = match self.goes_by_named && view.queue.headroom.is_none() {
            true => {
                let mut view = view.clone();
                view.queue.headroom = view.queue.named;
                by_named = view;
                &by_named
            }
            false => view,
        };
        let alike = match self.state {
            GangState::Gathering { .. } => self.neighbours_of_silent(view),
            _ => self.first_of_equals(view),
        };
        let without = |left_out: &dyn Fn(&NodeId) -> bool| {
            let mut beside = view.clone();
            beside.nodes.retain(|node| !left_out(&node.id));
            (self.place)(&self.demand, &beside, held)
        };
        let is_avoided = |node: &NodeId| self.avoided.contains_key(node);
        let mut quiet = silence::quiet(view);
        quiet.append(&mut self.silent.spoken_for(now));
        // A mere suspicion is no reason to wait.
        if !self.is_bound() {
            let suspects = [&alike | &quiet, quiet];
            for suspects in suspects.iter().filter(|suspects| !suspects.is_empty()) {
                let left_out = |node: &NodeId| {
                    is_avoided(node) || self.silent.has(node) || suspects.contains(node)
                };
                if let Ok(placement) = without(&left_out) {
                    return Ok(placement);
                }
            }
        }
        if !self.is_bound() && !self.silent.is_empty() {
            match without(&|node| is_avoided(node) || self.silent.has(node)) {
                Err(why) if !matches!(why, Rejection::BesideHeld { .. }) => {}
                answer => return answer,
            }
        }
        if !self.is_bound() && !self.avoided.is_empty() {
            match without(&is_avoided) {
                // Waiting for others than those is waiting for what may never come.
                Err(Rejection::NoNodes) => {}
                Err(never) if !never.may_pass() => {}
                Err(not_now) => {
                    let rested = now.plus(self.limits.avoid).0.saturating_sub(AVOID_FULL.0);
                    let rests = |node: &NodeId| {
                        self.avoided.get(node).is_some_and(|until| until.0 > rested)
                    };
                    return without(&rests).map_err(|_neither| not_now);
                }
                Ok(placement) => return Ok(placement),
            }
        }
        (self.place)(&self.demand, view, held)
    }

    /// Of many nodes that are equally free, those that come before the ones to ask: as many as chance says.
    ///
    /// In the order of their names all jobs would ask for the same ones. A job that waits has them reserved, which no
    /// report shows, and everybody who comes after it would wait for an answer from just these.
    fn first_of_equals(&mut self, view: &ClusterView) -> BTreeSet<NodeId> {
        let demand = &self.demand;
        let is_any_as_good = demand.mode == Mode::All
            && demand.sort_nodes
            && !demand.same_rack
            && demand.near.held.is_empty();
        let freest = view.nodes.iter().map(|node| view.room(node).memory).max();
        let (true, Some(freest)) = (is_any_as_good, freest) else {
            return BTreeSet::new();
        };
        let nodes = view.nodes.iter();
        let equals: BTreeSet<&NodeId> = nodes
            .filter(|node| view.room(node).memory == freest)
            .map(|node| &node.id)
            .collect();
        let processes = usize::try_from(demand.processes.get()).unwrap_or(usize::MAX);
        match equals.len() < processes.saturating_mul(MANY_ALIKE) {
            true => BTreeSet::new(),
            false => some_of(&mut self.chance, equals, processes),
        }
    }

    /// Nodes that have as much room as one that does not answer, and come before others that have: as many
    /// as chance says.
    ///
    /// What does not answer and lives has its room reserved for a job that waits. That job was given equal nodes in the
    /// order of their names, as this one would be, and the next in that order are most likely reserved for it,
    /// too.
    fn neighbours_of_silent(&mut self, view: &ClusterView) -> BTreeSet<NodeId> {
        let wanted = self.members.outstanding().len().max(1);
        let alike = alike(view, |node| self.silent.has(node));
        some_of(&mut self.chance, alike, wanted)
    }

    /// Whether the mode leaves no choice of nodes.
    pub(super) const fn is_bound(&self) -> bool {
        matches!(self.demand.mode, Mode::None | Mode::Dist)
    }
}

/// Nodes that have as much room as one that does not answer.
pub(super) fn alike(view: &ClusterView, is_silent: impl Fn(&NodeId) -> bool) -> BTreeSet<&NodeId> {
    let silent = view.nodes.iter().filter(|node| is_silent(&node.id));
    let rooms: Vec<Resources> = silent.map(|node| view.room(node)).collect();
    let looks_so = |node: &&NodeView| !is_silent(&node.id) && rooms.contains(&view.room(node));
    match rooms.is_empty() {
        true => BTreeSet::new(),
        false => view
            .nodes
            .iter()
            .filter(looks_so)
            .map(|node| &node.id)
            .collect(),
    }
}

/// The first of `alike`, as many as chance says; [`ALIKE`] for each that is wanted stay.
pub(super) fn some_of(
    chance: &mut Chance,
    alike: BTreeSet<&NodeId>,
    wanted: usize,
) -> BTreeSet<NodeId> {
    let most = alike.len().saturating_sub(wanted.saturating_mul(ALIKE));
    if most == 0 {
        return BTreeSet::new();
    }
    let most = Millis(u64::try_from(most).unwrap_or(u64::MAX));
    let passed = chance.between(Millis(0), most);
    let passed = usize::try_from(passed.0).unwrap_or(usize::MAX);
    alike.into_iter().take(passed).cloned().collect()
}
