//! Which launchers of a session reach each other: each tries the ports of two others as soon as it has joined, and the
//! clients of jobs hear what it says before their job depends on it.
//!
//! ```text
//! joined ─▶ TryPeers (none): it opens its port ─▶ PeersTried: others may try it
//!                       └─▶ it tries two others, and those try it that have tried fewer yet
//! ```
//!
//! Two of one node tell nothing about what lies between nodes, and do not try each other.

use std::collections::{BTreeMap, BTreeSet};

use holding::joined;
use job::wire;
use policy::ContainerId;

/// Others that a launcher tries.
const TRIED: usize = 2;

/// The launchers that have joined.
#[derive(Debug, Default)]
pub(super) struct Peers(BTreeMap<ContainerId, PeerLauncher>);

#[derive(Debug)]
struct PeerLauncher {
    host: String,
    /// Where others fetch from it.
    address: Option<String>,
    /// Why it has none.
    trouble: String,
    /// Whom it was to try.
    asked: BTreeSet<ContainerId>,
    /// Launchers that were to try it.
    tried_by: usize,
    /// Whom it does not reach, and why.
    unreached: BTreeMap<ContainerId, String>,
}

/// An order: who is to try whom.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Try {
    pub(super) by: ContainerId,
    pub(super) peers: Vec<wire::Peer>,
}

/// One that does not reach another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreached {
    pub(super) from: ContainerId,
    pub(super) to: ContainerId,
    pub(super) sentence: String,
}

impl Peers {
    /// A launcher has joined: it is to open its port.
    pub(super) fn joined(&mut self, container: &ContainerId, host: String) -> Try {
        let new = PeerLauncher {
            host,
            address: None,
            trouble: String::new(),
            asked: BTreeSet::new(),
            tried_by: 0,
            unreached: BTreeMap::new(),
        };
        self.0.insert(container.clone(), new);
        Try {
            by: container.clone(),
            peers: Vec::new(),
        }
    }

    /// A launcher has answered: who is to try whom now, and what is new to tell.
    pub(super) fn tried(
        &mut self,
        by: &ContainerId,
        answer: wire::PeersTried,
    ) -> (Vec<Try>, Vec<Unreached>) {
        let mut news = Vec::new();
        for tried in answer.tried {
            let to = ContainerId(tried.container);
            if !tried.trouble.is_empty()
                && let Some(sentence) = self.unreached(by, &to, tried.trouble)
            {
                let from = by.clone();
                news.push(Unreached { from, to, sentence });
            }
        }
        let Some(own) = self.0.get_mut(by) else {
            return (Vec::new(), news);
        };
        if own.address.is_some() {
            return (Vec::new(), news);
        }
        own.trouble = answer.trouble;
        let Some(port) = u16::try_from(answer.port).ok().filter(|port| *port > 0) else {
            return (Vec::new(), news);
        };
        let host = match answer.host.as_str() {
            "" => &own.host,
            named => named,
        };
        own.address = Some(joined(host, port));
        (self.tries(by), news)
    }

    /// Who is to try whom, since the port of `new` is known.
    fn tries(&mut self, new: &ContainerId) -> Vec<Try> {
        let host = self.0.get(new).map(|own| own.host.clone());
        let host = host.unwrap_or_default();
        let others = self.0.iter();
        let others = others.filter(|(_, other)| other.address.is_some() && other.host != host);
        let mut others: Vec<_> = others.map(|(id, other)| (other.tried_by, id)).collect();
        others.sort_unstable();
        let others = others.into_iter().take(TRIED);
        let own: Vec<ContainerId> = others.map(|(_, id)| id.clone()).collect();
        let lacking = self.0.iter().filter(|(_, other)| {
            other.address.is_some() && other.host != host && other.asked.len() < TRIED
        });
        let lacking: Vec<ContainerId> = lacking.take(TRIED).map(|(id, _)| id.clone()).collect();
        let own = (!own.is_empty()).then(|| self.order(new, &own));
        let lacking = lacking.iter();
        let theirs: Vec<Try> = lacking
            .map(|other| self.order(other, std::slice::from_ref(new)))
            .collect();
        own.into_iter().chain(theirs).collect()
    }

    fn order(&mut self, by: &ContainerId, whom: &[ContainerId]) -> Try {
        let mut peers = Vec::new();
        for id in whom {
            let Some(other) = self.0.get_mut(id) else {
                continue;
            };
            other.tried_by = other.tried_by.saturating_add(1);
            peers.push(wire::Peer {
                container: id.0.clone(),
                address: other.address.clone().unwrap_or_default(),
            });
        }
        if let Some(own) = self.0.get_mut(by) {
            own.asked.extend(whom.iter().cloned());
        }
        Try {
            by: by.clone(),
            peers,
        }
    }

    /// `None`: one of both is gone meanwhile, which is why.
    fn unreached(&mut self, by: &ContainerId, to: &ContainerId, why: String) -> Option<String> {
        let address = self.0.get(to)?.address.clone()?;
        let own = self.0.get_mut(by)?;
        let sentence = sentences::unreached(&own.host, &address, &why);
        own.unreached.insert(to.clone(), sentence.clone());
        Some(sentence)
    }

    /// It is there no longer.
    pub(super) fn lost(&mut self, container: &ContainerId) {
        self.0.remove(container);
        for other in self.0.values_mut() {
            other.unreached.remove(container);
        }
    }

    /// Who does not reach whom, and who cannot be reached, in sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let all = self.0.values().flat_map(|own| {
            let without =
                (!own.trouble.is_empty()).then(|| format!("{}: {}", own.host, own.trouble));
            own.unreached.values().cloned().chain(without)
        });
        all.collect()
    }

    /// The same of two of these containers, of which one is `container`.
    pub(super) fn between<'a>(
        &'a self,
        container: &'a ContainerId,
        others: &'a [ContainerId],
    ) -> impl Iterator<Item = &'a String> {
        let from_it = self.0.get(container).into_iter();
        let from_it = from_it.flat_map(|own| others.iter().filter_map(|to| own.unreached.get(to)));
        let to_it = others.iter().filter_map(|from| self.0.get(from));
        from_it.chain(to_it.filter_map(|other| other.unreached.get(container)))
    }
}

#[cfg(test)]
mod tests;
