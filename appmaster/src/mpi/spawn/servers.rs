//! What the PMIx servers of a job's containers are told of its groups, and tell each other.

use job::exit::Exit;
use job::wire;
use job::wire::mpi_order::Order as ToLauncher;
use policy::lifecycle::{LifecycleAction, LifecycleEvent};
use policy::{ContainerId, Rank};

use crate::mpi::Mpi;
use crate::mpi::pmix::{self, FenceError};

impl Mpi {
    /// The job's ranks find PMIx servers.
    pub(super) fn speaks_pmix(&self) -> bool {
        let mut programs = self.description.programs.iter();
        programs.any(|program| program.pmix_library.is_some())
    }

    /// Adds to the orders of a spawn what the PMIx servers are to know of the group, those of all containers: any rank may
    /// meet those of the group.
    pub(super) fn tell_servers(
        &self,
        processes: &[u32],
        template: &wire::Group,
        orders: &mut Vec<(ContainerId, wire::Group)>,
    ) {
        let first = template.first;
        let numbers = first..first.saturating_add(template.size);
        let all = pmix::nodes(self.seats.all()).into_iter();
        let of_group = |node: wire::PmixNode| wire::PmixNode {
            ranks: (node.ranks.into_iter())
                .filter(|rank| numbers.contains(rank))
                .map(|rank| rank.saturating_sub(first))
                .collect(),
            ..node
        };
        let nodes = all.map(of_group);
        let nodes: Vec<wire::PmixNode> = nodes.filter(|node| !node.ranks.is_empty()).collect();
        for seat in self.seats.all() {
            let is_there = self.links.contains_key(&seat.container);
            if is_there && !orders.iter().any(|(id, _)| *id == seat.container) {
                orders.push((seat.container.clone(), template.clone()));
            }
        }
        for (_, order) in orders {
            let own = order.parts.first().and_then(|part| part.ranks.first());
            let own = own.map(|rank| rank.saturating_sub(first));
            let mut holders = nodes.iter();
            let node = own.and_then(|own| holders.position(|node| node.ranks.contains(&own)));
            order.node = node.map_or(u32::MAX, |node| u32::try_from(node).unwrap_or(u32::MAX));
            order.nodes = nodes.clone();
            order.processes = processes.to_vec();
        }
    }

    /// A rank has ended: with the last of a spawned group the servers forget it.
    pub(in crate::mpi) fn group_shrinks(&mut self, rank: Rank) {
        let (number, _) = self.groups.of(&self.firsts, rank.0);
        let group = self.groups.by_number.get_mut(&number);
        let Some(group) = group.filter(|group| group.left > 0) else {
            return;
        };
        group.left = group.left.saturating_sub(1);
        if group.left == 0 && self.speaks_pmix() {
            self.order_all(&ToLauncher::EndGroup(wire::EndGroup { group: number }));
        }
    }

    /// What the PMIx server of one container tells the others.
    pub(super) fn on_servers_fence(
        &mut self,
        container: ContainerId,
        number: u32,
        told: wire::PmixFence,
    ) -> Vec<LifecycleAction> {
        let is_across = number == wire::Fence::ACROSS;
        let is_whole = told.ranks.is_empty();
        // Ranks of several groups are numbers already.
        let first = if is_across { 0 } else { self.first_of(number) };
        let seats = &self.seats;
        let runs = |member: &&ContainerId| {
            let mut ranks = told.ranks.iter();
            is_whole || ranks.any(|&rank| seats.runs(member, Rank(first.saturating_add(rank))))
        };
        let (fences, members): (_, Vec<ContainerId>) = match is_across {
            true => {
                let all = seats.all().iter().map(|seat| &seat.container);
                (&mut self.groups.across, all.filter(runs).cloned().collect())
            }
            false => match self.groups.by_number.get_mut(&number) {
                Some(group) => {
                    let members = group.members.iter().filter(runs).cloned();
                    (&mut group.fences, members.collect())
                }
                None => return Vec::new(),
            },
        };
        let is_own = is_whole && number == 0;
        match fences.on(&container, &told.ranks, told.data, &members) {
            Ok(None) if is_own => self.step(LifecycleEvent::Waits(container)),
            Ok(None) => Vec::new(),
            Ok(Some(all)) => {
                for piece in wire::FenceDone::of_servers(number, &told.ranks, &all) {
                    for member in &members {
                        self.order(member, ToLauncher::FenceDone(piece.clone()));
                    }
                }
                match is_own {
                    true => self.step(LifecycleEvent::BarrierOver),
                    false => Vec::new(),
                }
            }
            Err(FenceError::TooLarge(error)) => self.step(LifecycleEvent::Refused {
                container,
                sentence: error.to_string(),
                code: Exit::Lost.code(),
            }),
            Err(FenceError::Confused(error)) => self.step(LifecycleEvent::Misbehaved {
                container,
                what: format!("broke the exchange of the ranks' addresses: {error}"),
            }),
        }
    }

    /// A rank wants what a rank of another container has told its PMIx server.
    pub(crate) fn on_modex(&mut self, container: &ContainerId, request: wire::ModexRequest) {
        let wanted = Rank(self.first_of(request.group).saturating_add(request.rank));
        let mut seats = self.seats.all().iter();
        let seat = seats.find(|seat| seat.ranks.binary_search(&wanted).is_ok());
        let holder = seat.map(|seat| seat.container.clone());
        match holder.filter(|holder| self.links.contains_key(holder)) {
            Some(holder) => {
                let order = wire::ModexRequest {
                    from: container.0.clone(),
                    ..request
                };
                self.order(&holder, ToLauncher::Modex(order));
            }
            None => {
                let answer = wire::ModexAnswer {
                    number: request.number,
                    group: request.group,
                    failed: true,
                    ..wire::ModexAnswer::default()
                };
                self.order(container, ToLauncher::Modexed(answer));
            }
        }
    }

    /// What was wanted, on its way back.
    pub(crate) fn on_modexed(&mut self, answer: wire::ModexAnswer) {
        let asker = ContainerId(answer.from.clone());
        self.order(&asker, ToLauncher::Modexed(answer));
    }
}
