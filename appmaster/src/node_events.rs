//! What launchers tell of their nodes, for the rooms and jobs that it concerns.

use std::collections::BTreeMap;

use job::JobId;
use job::wire;
use job::wire::launcher_order::Order;
use policy::ContainerId;
use policy::lending::Lack;
use tonic::Status;

use crate::mapreduce::MapReduceEvent;
use crate::nodes::{NodeEffect, NodeElements};
use crate::session::Session;
use crate::sharing::Sharing;
use crate::work::{JobWork, WorkEvent};

impl Sharing {
    /// What a job's tasks need and no node has, each of which says why.
    pub(crate) fn lack(&self, number: u32) -> Option<Lack> {
        let why_not = |container: &ContainerId, needs: &[_]| self.nodes.why_not(container, needs);
        self.lending.lack(number, &why_not)
    }
}

impl Session {
    /// A launcher has joined a session: what is offered of its node.
    pub(crate) fn node_joined(
        &mut self,
        container: &ContainerId,
        node: &wire::NodeFacts,
    ) -> BTreeMap<String, u64> {
        let types = self.holding.cluster().limits().types.clone();
        let host = self.holding.host_of(container).unwrap_or_default();
        let Some(sharing) = &mut self.sharing else {
            return BTreeMap::new();
        };
        let granted = sharing.pool.granted_to(container).unwrap_or_default();
        let attributed = sharing.pool.attributed_to(container);
        let known = NodeElements::new(node, granted, &types, attributed);
        sharing.nodes.joined(container, host, known)
    }

    /// A launcher has looked again.
    pub(crate) fn elements_found(&mut self, container: &ContainerId, found: wire::NodeElements) {
        let now = self.now();
        let host = self.holding.host_of(container).unwrap_or_default();
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        if let Some(offered) = sharing.nodes.found(container, host, found) {
            sharing.pool.found(container, !offered.is_empty());
            let slots = sharing.pool.slots(container, &offered);
            self.lending(|lending| lending.elements(now, container, offered, slots));
        }
    }

    /// A launcher has joined: it is to open its port.
    pub(crate) fn peer_joined(&mut self, container: &ContainerId) {
        let host = self.holding.host_of(container).unwrap_or_default();
        if let Some(sharing) = &mut self.sharing {
            let first = sharing.nodes.opens_port(container, host);
            self.carry_out_for_nodes(first);
        }
    }

    /// A launcher has tried others.
    pub(crate) fn peers_tried(&mut self, by: &ContainerId, answer: wire::PeersTried) {
        if let Some(sharing) = &mut self.sharing {
            let effects = sharing.nodes.has_tried(by, answer);
            effects
                .into_iter()
                .for_each(|effect| self.carry_out_for_nodes(effect));
        }
    }

    fn carry_out_for_nodes(&mut self, effect: NodeEffect) {
        match effect {
            NodeEffect::Try { by, peers } => {
                let order = Order::TryPeers(wire::TryPeers { peers });
                self.holding.tell(&by, order);
            }
            NodeEffect::Unreached { from, to, sentence } => {
                tracing::warn!("{sentence}");
                let there = self.jobs_in(&to);
                for job in self.jobs_in(&from) {
                    if there.contains(&job) {
                        self.tell_client(job, sentence.clone());
                    }
                }
            }
        }
    }

    /// A job begins in this container: its client hears what is between that and its others.
    pub(crate) fn tell_unreached(&mut self, job: JobId, container: &ContainerId) {
        let Some(sharing) = &self.sharing else {
            return;
        };
        let loan = self.jobs.get(&job).and_then(|entry| entry.loan.as_ref());
        let others: Vec<ContainerId> = loan
            .map(|loan| loan.in_use().cloned().collect())
            .unwrap_or_default();
        for sentence in sharing.nodes.between(container, &others) {
            self.tell_client(job, sentence);
        }
    }

    fn tell_client(&mut self, job: JobId, sentence: String) {
        let entry = self.jobs.get_mut(&job);
        if let Some(outbox) = entry.and_then(|entry| entry.work.outbox()) {
            outbox.notice(sentence);
        }
    }

    /// What the nodes of a session have, in the order of its containers.
    pub(crate) fn nodes(&self) -> Result<wire::SessionNodes, Status> {
        let Some(sharing) = &self.sharing else {
            return Err(Status::failed_precondition(
                "this application was started for one job and is no session",
            ));
        };
        let offers = sharing.lending.offers().map(|(offer, _)| offer);
        Ok(sharing.nodes.table(offers))
    }

    /// Nodes, or what jobs need of them, have changed.
    pub(crate) fn look_for_elements(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.nodes.change();
        }
    }

    /// A job that no node can ever run is told so; whether there was one. Jobs wait while nodes may come, and end
    /// where none does.
    pub(crate) fn without_element(&mut self) -> bool {
        let found = self.job_without_element();
        match found {
            Some((job, sentence)) => {
                self.tell(job, WorkEvent::OfTasks(MapReduceEvent::NoNode(sentence)))
            }
            None => return false,
        }
        true
    }

    fn job_without_element(&mut self) -> Option<(JobId, String)> {
        let sharing = self.sharing.as_mut()?;
        // Another node may have it, or one whose libraries have not answered yet.
        if !sharing.nodes.may_compare() || !sharing.pool.is_complete() {
            return None;
        }
        let found = sharing.wishes.iter().find_map(|(number, job)| {
            let JobWork::MapReduce(mapreduce) = &self.jobs.get(job)?.work else {
                return None;
            };
            let lack = sharing.lack(*number)?;
            let sentence = sentences::lack(&lack);
            mapreduce.wants_nodes_now().then_some((*job, sentence))
        });
        if found.is_none() {
            sharing.nodes.have_compared();
        }
        found
    }
}
