//! A container is lost: another takes its place, on another node where it is in doubt.

use policy::gang::GangEvent;
use policy::{ContainerId, Millis, NodeShare};

use super::place::PlaceState;
use super::{AVOID, Pool, Want};

impl Pool {
    /// A container or its launcher is gone, or is of no use. Another is asked for; `in_doubt`: on another
    /// node, since YARN does not say what became of it.
    pub(crate) fn lost(
        &mut self,
        now: Millis,
        container: &ContainerId,
        in_doubt: bool,
    ) -> Vec<Want> {
        let number = self.number_of(container);
        let Some(place) = number.and_then(|number| self.remove(number)) else {
            // Granted, and not started yet.
            return self.all_hear(now, &GangEvent::ContainerEnded(container.clone()));
        };
        let mut wants = vec![Want::Release(vec![container.clone()])];
        if let PlaceState::Joined(container) = place.state {
            wants.push(Want::Withdraw(container));
        }
        // That YARN takes back what it wants back is no fault of the node.
        let faulty = place.share.filter(|_| place.leaving.is_none());
        if let Some(NodeShare { node, .. }) = faulty {
            let until = now.plus(AVOID);
            let again = self.failed.insert(node.clone(), until).is_some();
            if again || in_doubt {
                self.avoided.insert(node, until);
            }
        }
        self.note_gone(now);
        // Of an elastic one more are asked for when they are wanted.
        if self.staying() < self.plan.containers.get() {
            wants.extend(self.open(now));
        }
        wants
    }
}
