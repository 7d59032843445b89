//! Which nodes a gang is placed on: those that are in doubt only where nothing else helps.

use super::{Gang, silence};
use crate::{ClusterView, Millis, Mode, NodeId, NodeShare, Placement, Rejection};

impl Gang {
    /// Places what is not `held`, where the mode leaves a choice beside the nodes that containers were
    /// lost with of late, or that do not answer; on those too, if it can never be placed otherwise.
    pub(super) fn place_on(
        &mut self,
        now: Millis,
        view: &ClusterView,
        held: &[NodeShare],
    ) -> Result<Placement, Rejection> {
        self.avoided.retain(|_, until| now < *until);
        let without = |left_out: &dyn Fn(&NodeId) -> bool| {
            let mut beside = view.clone();
            beside.nodes.retain(|node| !left_out(&node.id));
            (self.place)(&self.demand, &beside, held)
        };
        let is_avoided = |node: &NodeId| self.avoided.contains_key(node);
        let mut quiet = silence::quiet(view);
        quiet.append(&mut self.silent.spoken_for(now));
        // A mere suspicion is no reason to wait.
        if !self.is_bound() && !quiet.is_empty() {
            let left_out =
                |node: &NodeId| is_avoided(node) || self.silent.has(node) || quiet.contains(node);
            if let Ok(placement) = without(&left_out) {
                return Ok(placement);
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
                Err(never) if !never.may_pass() => {}
                answer => return answer,
            }
        }
        (self.place)(&self.demand, view, held)
    }

    /// Whether the mode leaves no choice of nodes.
    pub(super) const fn is_bound(&self) -> bool {
        matches!(self.demand.mode, Mode::None | Mode::Dist)
    }
}
