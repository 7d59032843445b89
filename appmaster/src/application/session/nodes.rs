//! What launchers tell of their nodes, for the rooms and jobs that it concerns.

use job::exit::{Exit, diagnostics};
use job::wire;
use job::wire::launcher_order::Order;
use policy::ContainerId;
use policy::lending::FunctionLoad;
use policy::schedule::goes_by_speed;
use proto_hadoop::yarn::FinalApplicationStatus;

use super::Session;
use crate::mapreduce::MapReduceEvent;
use crate::nodes::{NodeEffect, NodeElements};
use crate::work::{JobWork, WorkEvent};

impl Session {
    /// A launcher has joined: its slots are offered, and it is to try others.
    pub(super) fn launcher_joined(&mut self, container: &ContainerId, node: &wire::NodeFacts) {
        let types = &self.edge.holding.cluster().limits().types;
        let host = self.edge.holding.host_of(container).unwrap_or_default();
        let granted = self.containers.granted_to(container).unwrap_or_default();
        let attributed = self.containers.attributed_to(container);
        let known = NodeElements::new(node, granted, types, attributed);
        let devices = self.nodes.joined(container, host.clone(), known);
        if let Some(node) = self.containers.node_of(container) {
            self.nodes.shares_cores(container, node);
        }
        self.cut_beside(container);
        let cores = self.nodes.core_classes(container);
        let wants = self.containers.joined(container, devices, &cores);
        self.want(wants);
        self.look_at_cores(container);
        let first = self.nodes.opens_port(container, host);
        self.carry_out_for_nodes(vec![first]);
    }

    /// A launcher has looked again.
    pub(super) fn devices_found(&mut self, container: &ContainerId, mut found: wire::NodeElements) {
        let loads = std::mem::take(&mut found.loads);
        let host = self.edge.holding.host_of(container).unwrap_or_default();
        if let Some(devices) = self.nodes.found(container, host, found) {
            let cores = self.nodes.core_classes(container);
            let cut = (self.containers).devices_found(container, &devices, &cores);
            self.with_slots(|slots, now| slots.devices_changed(now, container, devices, cut));
            self.cut_beside(container);
        }
        if !loads.is_empty() {
            let loads = loads.into_iter().map(|load| FunctionLoad {
                name: load.name,
                empty: load.empty,
                is_long: load.long,
            });
            let loads: Vec<FunctionLoad> = loads.collect();
            self.with_slots(|slots, now| slots.boards_seen(now, container, &loads));
        }
    }

    /// A launcher is gone: others on its node have its cores.
    pub(super) fn launcher_gone(&mut self, container: &ContainerId) {
        let beside = self.nodes.lost(container);
        self.cut_anew(beside);
    }

    /// The launchers on the node of a container share its cores out anew.
    fn cut_beside(&mut self, container: &ContainerId) {
        let beside = self.nodes.beside(container);
        self.cut_anew(beside);
    }

    fn cut_anew(&mut self, containers: Vec<ContainerId>) {
        if self.plan.core_slots.is_none() {
            return;
        }
        for container in containers {
            let devices = self.nodes.offered(&container);
            let cores = self.nodes.core_classes(&container);
            let cut = self.containers.slots(&container, &devices, &cores);
            self.with_slots(|slots, now| slots.devices_changed(now, &container, devices, cut));
        }
    }

    /// A session whose policy tells fast cores from slow ones ends where no node has both; with `--strict`, where a node
    /// that joins does not.
    fn look_at_cores(&mut self, joined: &ContainerId) {
        if self.plan.core_slots.is_none() {
            return;
        }
        let must = self.plan.is_strict.then_some(joined);
        let offers = self.slots.offers().map(|(offer, _)| offer);
        let without = self.nodes.without_both(offers, must);
        let are_all_there = goes_by_speed(&self.plan.policy) && self.containers.missing() == 0;
        let of_all = without.all.filter(|_| are_all_there);
        if let Some(why) = without.joined.or(of_all) {
            let words = diagnostics(&why, Exit::Impossible.code());
            self.stop(true, FinalApplicationStatus::Failed, words);
        }
    }

    /// Carries out what follows for launchers and for the clients of jobs.
    pub(super) fn carry_out_for_nodes(&mut self, effects: Vec<NodeEffect>) {
        for effect in effects {
            match effect {
                NodeEffect::Try { by, peers } => {
                    let order = Order::TryPeers(wire::TryPeers { peers });
                    self.edge.holding.tell(&by, order);
                }
                NodeEffect::Unreached { from, to, sentence } => {
                    tracing::warn!("{sentence}");
                    let there = self.slots.jobs_in(&to);
                    for job in self.slots.jobs_in(&from) {
                        if there.contains(&job) {
                            self.notice(job, sentence.clone());
                        }
                    }
                }
            }
        }
    }

    /// Tells a job that no node of the session can run it, where no other is to come; whether there was one.
    pub(super) fn without_node(&mut self) -> bool {
        // Another node may have it, or one whose libraries have not answered yet.
        if !self.nodes.may_compare() || !self.containers.is_complete() {
            return false;
        }
        let found = self.slots.without_node(&self.nodes, |job| {
            match self.jobs.get(job).map(|entry| entry.work()) {
                Some(JobWork::MapReduce(mapreduce)) => mapreduce.wants_nodes_now(),
                Some(JobWork::Mpi(_) | JobWork::Queued(_)) | None => false,
            }
        });
        match found {
            Some((job, lack)) => {
                let none = MapReduceEvent::NoNode(lack);
                self.tell(job, WorkEvent::MapReduce(none));
                true
            }
            None => {
                self.nodes.have_compared();
                false
            }
        }
    }
}
