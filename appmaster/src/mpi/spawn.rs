//! Processes that the job's own ranks start while it runs, and the barriers of all of them.
//!
//! The life of a spawn: a rank asks → its processes are spread over the containers that the job holds
//! and numbered on from the last ([`spread`](mod@spread)) → each launcher concerned gets its part and says that
//! it runs, or why not → the rank is answered. If one launcher cannot, the others kill their parts
//! again and the rank is refused, so a group is there whole or not at all.
//!
//! All groups are one job: it ends when the last of their ranks has ended, and with the first that
//! fails or aborts, connected to the others or not.
//!
//! Of the info keys `soft`, `host` (`hosts`), `wdir` and `path` have an effect; the others are left
//! alone, as MPI wants it. What is spawned starts in the folder of the rank that spawns it.

mod servers;
mod soft;
mod spread;

use std::collections::{BTreeMap, BTreeSet};

use job::wire;
use job::wire::mpi_order::Order as ToLauncher;
use pmi::Exchange;
use policy::lifecycle::{LifecycleAction, LifecycleEvent, Seat};
use policy::{ContainerId, Rank};

use self::spread::{SpawnHost, parts, spread};
use crate::mpi::Mpi;
use crate::mpi::pmix::Fences;

/// Most processes that a job may spawn while it lives: each has a row in its report.
const SPAWNED_MAX: u32 = 100_000;

/// The job's own ranks, or those of one spawn.
#[derive(Debug)]
pub(crate) struct Group {
    exchange: Exchange,
    /// The same of ranks that speak PMIx.
    fences: Fences,
    /// Its launchers, in the order of the exchange.
    members: Vec<ContainerId>,
    /// Where its processes start, by the number of the first that starts there.
    folders: BTreeMap<u32, String>,
    /// While it is being started.
    pending: Option<Pending>,
    /// Ranks of a spawned group that have not ended.
    left: u32,
}

/// A spawn that is not answered yet.
#[derive(Debug)]
struct Pending {
    asker: Asker,
    /// Launchers that have not said yet whether their part runs.
    silent: BTreeSet<ContainerId>,
    /// The first refusal.
    refusal: Option<String>,
}

/// Who waits for a spawn.
#[derive(Clone, Debug)]
struct Asker {
    container: ContainerId,
    rank: u32,
    /// By which its launcher knows the spawn.
    call: u64,
}

/// All groups of a job.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    by_number: BTreeMap<u32, Group>,
    /// The fences of ranks of several groups, which speak PMIx.
    across: Fences,
    /// Groups spawned so far, those that failed included.
    spawned: u32,
    /// The number that the next process gets; 0 until the job's own ranks have begun.
    next: u32,
    /// The job's own ranks.
    own: u32,
}

impl Groups {
    /// The job's own ranks begin, to run `programs`.
    pub(crate) fn begin(&mut self, seats: &[Seat], programs: &[job::MpiProgram]) {
        let ranks: usize = seats.iter().map(|seat| seat.ranks.len()).sum();
        self.own = u32::try_from(ranks).unwrap_or(u32::MAX);
        self.next = self.own;
        let members = seats.iter().map(|seat| seat.container.clone());
        let mut group = Group::new(members.collect());
        let mut first = 0_u32;
        for program in programs {
            let folder = program.folder.clone().unwrap_or_default();
            group.folders.insert(first, folder);
            first = first.saturating_add(program.processes);
        }
        self.by_number.insert(0, group);
    }

    /// Where the rank of this number, which is of `group`, was started; empty: in the container's own
    /// folder.
    fn folder_of(&self, group: u32, number: u32) -> &str {
        let group = self.by_number.get(&group);
        let begun = group.and_then(|group| group.folders.range(..=number).next_back());
        begun.map_or("", |(_, folder)| folder)
    }

    /// The group of the rank of this number, and its rank there, by where groups begin.
    pub(crate) fn of(&self, firsts: &BTreeMap<u32, u32>, number: u32) -> (u32, u32) {
        match firsts.range(..=number).next_back() {
            Some((first, group)) => (*group, number - first),
            None => (0, number),
        }
    }
}

impl Group {
    fn new(members: Vec<ContainerId>) -> Self {
        Self {
            exchange: Exchange::new(members.len()),
            fences: Fences::default(),
            members,
            folders: BTreeMap::new(),
            pending: None,
            left: 0,
        }
    }
}

impl Mpi {
    /// A rank wants new processes.
    pub(crate) fn on_spawn(
        &mut self,
        container: ContainerId,
        request: wire::SpawnRequest,
    ) -> Vec<LifecycleAction> {
        let asker = Asker {
            container,
            rank: request.rank,
            call: request.call,
        };
        match self.try_spawn(&asker, request) {
            Ok(actions) => actions,
            Err(why) => {
                self.refuse_spawn(&asker, &why);
                Vec::new()
            }
        }
    }

    fn try_spawn(
        &mut self,
        asker: &Asker,
        mut request: wire::SpawnRequest,
    ) -> Result<Vec<LifecycleAction>, String> {
        for command in &mut request.commands {
            let soft = command.infos.iter().find(|info| info.key == "soft");
            if let Some(soft) = soft {
                command.processes = soft::most(&soft.value, command.processes)?;
            }
        }
        let wanted = request.commands.iter().map(|command| command.processes);
        let size = wanted.fold(0_u32, u32::saturating_add);
        let first = self.groups.next;
        let so_far = first.saturating_sub(self.groups.own);
        if size == 0 {
            return Err("no processes are wanted".into());
        }
        if so_far.saturating_add(size) > SPAWNED_MAX {
            return Err(format!(
                "a job may spawn {SPAWNED_MAX} processes in its life, and this one has spawned \
                 {so_far}"
            ));
        }
        let alive = |seat: &Seat| {
            let ranks = seat.ranks.iter();
            ranks
                .filter(|rank| !self.reports.contains_key(rank))
                .count()
        };
        let load = self.seats.all().iter().map(alive).collect();
        let hosts = self.seats.all().iter().map(|seat| SpawnHost {
            host: &seat.host,
            own_name: (self.links.get(&seat.container)).map_or("", |link| &link.hostname),
            asks: seat.ranks.binary_search(&Rank(request.rank)).is_ok(),
        });
        let hosts: Vec<SpawnHost<'_>> = hosts.collect();
        let runs = spread(&request.commands, &hosts, load)?;
        let (of, parent_rank) = self.groups.of(&self.firsts, request.rank);
        let parent = self.groups.folder_of(of, request.rank);
        let (by_seat, process_mapping) = parts(&request.commands, &runs, first, parent);
        self.groups.spawned += 1;
        self.groups.next += size;
        let number = self.groups.spawned;
        let template = wire::Group {
            group: number,
            first,
            size,
            process_mapping,
            kvs_name: self.name_of_group(number),
            preputs: std::mem::take(&mut request.preputs),
            parent_kvs_name: match of {
                0 => String::new(),
                _ => self.name_of_group(of),
            },
            parent_rank,
            ..wire::Group::default()
        };
        let mut seats = Vec::new();
        let mut orders = Vec::new();
        let mut folders = BTreeMap::new();
        for (index, parts) in by_seat {
            let Some(seat) = self.seats.all().get(index) else {
                continue;
            };
            let container = seat.container.clone();
            for part in &parts {
                if let Some(number) = part.ranks.first() {
                    folders.insert(*number, part.folder.clone());
                }
            }
            let numbers = parts.iter().flat_map(|part| part.ranks.iter());
            let ranks: Vec<Rank> = numbers.map(|number| Rank(*number)).collect();
            self.seats.add(index, &ranks);
            seats.push((container.clone(), ranks));
            let order = wire::Group {
                parts,
                ..template.clone()
            };
            orders.push((container, order));
        }
        let members: Vec<ContainerId> = seats.iter().map(|(id, _)| id.clone()).collect();
        if self.speaks_pmix() {
            let processes = request.commands.iter().map(|command| command.processes);
            let processes: Vec<u32> = processes.collect();
            self.tell_servers(&processes, &template, &mut orders);
        }
        let mut group = Group::new(members);
        group.folders = folders;
        group.left = size;
        group.pending = Some(Pending {
            asker: asker.clone(),
            silent: orders.iter().map(|(id, _)| id.clone()).collect(),
            refusal: None,
        });
        self.groups.by_number.insert(number, group);
        self.firsts.insert(first, number);
        tracing::info!("spawned group {number}: {size} processes from number {first}");
        let actions = self.step(LifecycleEvent::Spawned {
            first: Rank(first),
            seats,
        });
        for (container, order) in orders {
            self.order(&container, ToLauncher::Group(order));
        }
        Ok(actions)
    }

    fn name_of_group(&self, number: u32) -> String {
        format!("kvs_{}_g{number}", self.name)
    }

    /// A launcher says that its part of a spawned group runs, or why not.
    pub(crate) fn on_part(
        &mut self,
        container: &ContainerId,
        number: u32,
        refusal: Option<String>,
    ) -> Vec<LifecycleAction> {
        let Some(group) = self.groups.by_number.get_mut(&number) else {
            return Vec::new();
        };
        let Some(pending) = &mut group.pending else {
            return Vec::new();
        };
        pending.silent.remove(container);
        if let Some(why) = refusal {
            pending.refusal.get_or_insert(why);
        }
        if !pending.silent.is_empty() {
            return Vec::new();
        }
        let Some(pending) = group.pending.take() else {
            return Vec::new();
        };
        let Some(why) = pending.refusal else {
            let Asker {
                container,
                rank,
                call,
            } = pending.asker;
            let answer = wire::SpawnAnswer {
                rank,
                refusal: String::new(),
                call,
                kvs_name: self.name_of_group(number),
            };
            self.order(&container, ToLauncher::Spawned(answer));
            return Vec::new();
        };
        let members = std::mem::take(&mut group.members);
        self.groups.by_number.remove(&number);
        for member in members {
            let end = wire::EndGroup { group: number };
            self.order(&member, ToLauncher::EndGroup(end));
        }
        let of = |rank: Rank| self.groups.of(&self.firsts, rank.0).0;
        self.seats.remove(|rank| of(rank) == number);
        self.refuse_spawn(&pending.asker, &why);
        self.step(LifecycleEvent::NotSpawned(number))
    }

    /// Whether a rank is of a group that could not be started everywhere.
    pub(crate) fn has_unspawned(&self, rank: Rank) -> bool {
        let (group, _) = self.groups.of(&self.firsts, rank.0);
        group > 0 && !self.groups.by_number.contains_key(&group)
    }

    fn refuse_spawn(&mut self, asker: &Asker, why: &str) {
        self.remark_spawn(asker.rank, why);
        let answer = wire::SpawnAnswer {
            rank: asker.rank,
            // One word on the wire to the rank.
            refusal: why.to_owned(),
            call: asker.call,
            kvs_name: String::new(),
        };
        self.order(&asker.container, ToLauncher::Spawned(answer));
    }

    /// Tells the user of a spawn that cannot be.
    fn remark_spawn(&mut self, rank: u32, why: &str) {
        let (group, own) = self.groups.of(&self.firsts, rank);
        let who = match group {
            0 => format!("rank {own}"),
            _ => format!("rank {own} of spawned group {group}"),
        };
        self.story
            .outbox
            .notice(format!("what {who} wants to spawn cannot be: {why}"));
    }

    /// Every rank that a group has in one container is in the barrier.
    pub(crate) fn on_fence(
        &mut self,
        container: ContainerId,
        fence: wire::Fence,
    ) -> Vec<LifecycleAction> {
        if let Some(told) = fence.pmix {
            return self.on_servers_fence(container, fence.group, told);
        }
        let Some(group) = self.groups.by_number.get_mut(&fence.group) else {
            return Vec::new();
        };
        let mut members = group.members.iter();
        let Some(index) = members.position(|member| *member == container) else {
            return Vec::new();
        };
        let puts = fence.puts.into_iter().map(|put| (put.key, put.value));
        match group.exchange.on_fence(index, puts.collect()) {
            Ok(None) if fence.group == 0 => self.step(LifecycleEvent::Waits(container)),
            Ok(None) => Vec::new(),
            Ok(Some(all)) => {
                let members = group.members.clone();
                for piece in wire::FenceDone::pieces(fence.group, all) {
                    for member in &members {
                        let order = ToLauncher::FenceDone(piece.clone());
                        self.order(member, order);
                    }
                }
                match fence.group {
                    0 => self.step(LifecycleEvent::BarrierOver),
                    _ => Vec::new(),
                }
            }
            Err(error) => self.step(LifecycleEvent::Misbehaved {
                container,
                what: format!("broke the exchange of the ranks' addresses: {error}"),
            }),
        }
    }

    /// The number of a group's rank 0.
    fn first_of(&self, number: u32) -> u32 {
        let mut firsts = self.firsts.iter();
        firsts
            .find(|(_, group)| **group == number)
            .map_or(0, |(first, _)| *first)
    }
}
