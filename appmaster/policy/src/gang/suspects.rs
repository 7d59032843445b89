//! Nodes that may not answer, for the owner of many gangs: what one of them has noticed, all know.

use std::collections::BTreeMap;

use super::choosing::{alike, some_of};
use super::silence::{self, Silence};
use super::{Chance, Gang, Silent, Suspicion};
use crate::{ClusterView, Millis, NodeId, NodeView};

/// What has been noticed so far.
#[derive(Debug)]
pub struct SuspectNodes {
    silence: Silence,
    chance: Chance,
}

/// What is to be thought of nodes now; of all others nothing.
#[derive(Debug, Default)]
pub struct Suspected(BTreeMap<NodeId, Suspicion>);

impl Suspected {
    /// Of one of them.
    #[must_use]
    pub fn of(&self, node: &NodeId) -> Suspicion {
        self.0.get(node).copied().unwrap_or(Suspicion::None)
    }
}

impl SuspectNodes {
    /// None yet; `seed` is to differ from that of other owners.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            silence: Silence::default(),
            chance: Chance::new(seed),
        }
    }

    /// The nodes were read, for these gangs.
    pub fn look<'a>(
        &mut self,
        now: Millis,
        view: &ClusterView,
        gangs: impl Iterator<Item = &'a Gang>,
    ) -> Suspected {
        let nodes = by_id(view);
        let (mut unanswered, mut wanted) = (Vec::new(), 0_usize);
        for gang in gangs {
            wanted = wanted.saturating_add(1);
            unanswered.extend(gang.unanswered(now, view, &nodes));
        }
        self.silence.look(now, view, unanswered);
        let alike = alike(view, |node| self.silence.has(node));
        let alike = some_of(&mut self.chance, alike, wanted.max(1)).into_iter();
        let mut suspected: BTreeMap<NodeId, Suspicion> =
            alike.map(|node| (node, Suspicion::LooksSilent)).collect();
        let mut quiet = silence::quiet(view);
        quiet.append(&mut self.silence.spoken_for(now));
        suspected.extend(quiet.into_iter().map(|node| (node, Suspicion::Quiet)));
        let silent = nodes.into_keys().filter(|node| self.silence.has(node));
        suspected.extend(silent.map(|node| (node.clone(), Suspicion::Silent)));
        Suspected(suspected)
    }

    /// What a gang has asked for of nodes that do not answer.
    #[must_use]
    pub fn silent(&self, now: Millis, gang: &Gang) -> Option<Silent> {
        match self.silence.is_empty() {
            true => None,
            false => self.silence.among(now, &gang.members.outstanding()),
        }
    }
}

pub(super) fn by_id(view: &ClusterView) -> BTreeMap<&NodeId, &NodeView> {
    view.nodes.iter().map(|node| (&node.id, node)).collect()
}
