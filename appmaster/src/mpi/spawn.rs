//! Processes that the job's own ranks start while it runs, and the barriers of all of them.
//!
//! The life of a spawn: a rank asks → its processes are spread over the containers that the job holds
//! and numbered on from the last ([`spread`]) → each launcher concerned gets its part and says that
//! it runs, or why not → the rank is answered. If one launcher cannot, the others kill their parts
//! again and the rank is refused, so a group is there whole or not at all.
//!
//! All groups are one job: it ends when the last of their ranks has ended, and with the first that
//! fails or aborts, connected to the others or not.
//!
//! Of the info keys `soft`, `host` (`hosts`), `wdir` and `path` have an effect; the others are left
//! alone, as MPI wants it. What is spawned starts in the folder of the rank that spawns it.

mod soft;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;

use job::wire;
use job::wire::mpi_order::Order as ToLauncher;
use pmi::Exchange;
use policy::lifecycle::{Action, Event, Seat};
use policy::{ContainerId, Rank};

use crate::mpi::Mpi;

/// Most processes that a job may spawn while it lives: each has a row in its report.
const SPAWNED_MAX: u32 = 100_000;

/// The job's own ranks, or those of one spawn.
#[derive(Debug)]
pub(crate) struct Group {
    exchange: Exchange,
    /// Its launchers, in the order of the exchange.
    members: Vec<ContainerId>,
    /// Where its processes start, by the number of the first that starts there.
    folders: BTreeMap<u32, String>,
    /// While it is being started.
    pending: Option<Pending>,
}

/// A spawn that is not answered yet.
#[derive(Debug)]
struct Pending {
    /// Who waits, and in which container.
    rank: u32,
    asked_from: ContainerId,
    /// Launchers that have not said yet whether their part runs.
    silent: BTreeSet<ContainerId>,
    /// The first refusal.
    refusal: Option<String>,
}

/// All groups of a job.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    by_number: BTreeMap<u32, Group>,
    /// Groups spawned so far, those that failed included.
    spawned: u32,
    /// The number that the next process gets; 0 until the job's own ranks have begun.
    next: u32,
    /// The job's own ranks.
    own: u32,
}

impl Groups {
    /// The job's own ranks begin, to run `programs`.
    pub(crate) fn begin(&mut self, seats: &[Seat], programs: &[job::Program]) {
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
            members,
            folders: BTreeMap::new(),
            pending: None,
        }
    }
}

/// Ranks of a group that follow each other, run one program and are in one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Index of the seat.
    seat: usize,
    /// Index of the command.
    command: usize,
    ranks: u32,
}

/// Spreads the processes of all commands: each goes where the fewest ranks are, of several such
/// places to the first, among the hosts that its command names if it names any. Processes of one
/// command are ordered by seat.
///
/// `load` are the ranks of each seat.
fn spread(
    commands: &[wire::SpawnCommand],
    seats: &[Seat],
    mut load: Vec<usize>,
) -> Result<Vec<Run>, String> {
    let mut runs = Vec::new();
    for (command, wanted) in commands.iter().enumerate() {
        let info = |name: &str| {
            let mut infos = wanted.infos.iter();
            infos
                .find(|info| info.key == name)
                .map(|info| info.value.as_str())
        };
        let hosts: Option<Vec<&str>> = info("host")
            .or_else(|| info("hosts"))
            .map(|hosts| hosts.split(',').map(str::trim).collect());
        let named = hosts.as_deref().map(Named::new);
        let is_usable = |seat: &Seat| named.as_ref().is_none_or(|named| named.includes(seat));
        let usable = seats.iter().zip(&load).enumerate();
        let usable = usable.filter(|(_, (seat, _))| is_usable(seat));
        let mut freest: BinaryHeap<Reverse<(usize, usize)>> = usable
            .map(|(index, (_, load))| Reverse((*load, index)))
            .collect();
        if freest.is_empty() {
            let names: Vec<&str> = seats.iter().map(|seat| seat.host.as_str()).collect();
            return Err(format!(
                "the job holds no container on {}; it holds some on {}",
                hosts.unwrap_or_default().join(", "),
                names.join(", ")
            ));
        }
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for _ in 0..wanted.processes {
            if let Some(mut first) = freest.peek_mut() {
                let Reverse((ranks, seat)) = &mut *first;
                *ranks += 1;
                *counts.entry(*seat).or_default() += 1;
            }
        }
        for Reverse((ranks, seat)) in freest {
            if let Some(load) = load.get_mut(seat) {
                *load = ranks;
            }
        }
        runs.extend(counts.into_iter().map(|(seat, ranks)| Run {
            seat,
            command,
            ranks,
        }));
    }
    Ok(runs)
}

/// Hosts as a command names them: short or whole, with or without a number of processes. A short name
/// stands for every host that begins with it, a whole one for a host that is known by its short name.
struct Named {
    given: BTreeSet<String>,
    /// The first parts of all of them.
    short: BTreeSet<String>,
}

impl Named {
    fn new(hosts: &[&str]) -> Self {
        let plain = |host: &&str| host.split(':').next().unwrap_or_default().to_lowercase();
        let given: BTreeSet<String> = hosts.iter().map(plain).collect();
        let short = given.iter().map(|host| first_part(host).to_owned());
        Self {
            short: short.collect(),
            given,
        }
    }

    fn includes(&self, seat: &Seat) -> bool {
        let host = seat.host.to_lowercase();
        let short = first_part(&host);
        match short == host {
            true => self.short.contains(short),
            false => self.given.contains(&host) || self.given.contains(short),
        }
    }
}

fn first_part(host: &str) -> &str {
    host.split('.').next().unwrap_or_default()
}

/// What each seat gets, by index of the seat, and the process mapping. The rank that asks was started
/// in `parent`.
fn parts(
    commands: &[wire::SpawnCommand],
    runs: &[Run],
    first: u32,
    parent: &str,
) -> (BTreeMap<usize, Vec<wire::Part>>, String) {
    let mut by_seat: BTreeMap<usize, Vec<wire::Part>> = BTreeMap::new();
    let used: BTreeSet<usize> = runs.iter().map(|run| run.seat).collect();
    let mut nodes = Vec::new();
    let mut next = first;
    for run in runs {
        let Some(command) = commands.get(run.command) else {
            continue;
        };
        let info = |name: &str| {
            let mut infos = command.infos.iter();
            infos
                .find(|info| info.key == name)
                .map(|info| info.value.clone())
        };
        by_seat.entry(run.seat).or_default().push(wire::Part {
            ranks: (next..next + run.ranks).collect(),
            appnum: u32::try_from(run.command).unwrap_or(u32::MAX),
            program: command.program.clone(),
            args: command.args.clone(),
            folder: inside(parent, &info("wdir").unwrap_or_default()),
            path: info("path").unwrap_or_default(),
        });
        next += run.ranks;
        let node = used.range(..run.seat).count();
        nodes.push((u32::try_from(node).unwrap_or(u32::MAX), run.ranks));
    }
    (by_seat, pmi::mapping_of_runs(nodes))
}

/// A folder as it is seen from another; an empty name is that other.
fn inside(parent: &str, folder: &str) -> String {
    match (parent, folder) {
        (_, "") => parent.to_owned(),
        ("", _) => folder.to_owned(),
        _ => Path::new(parent).join(folder).display().to_string(),
    }
}

impl Mpi {
    /// A rank wants new processes.
    pub(crate) fn on_spawn(
        &mut self,
        container: ContainerId,
        request: wire::SpawnRequest,
    ) -> Vec<Action> {
        let rank = request.rank;
        match self.try_spawn(&container, request) {
            Ok(actions) => actions,
            Err(why) => {
                self.refuse_spawn(&container, rank, &why);
                Vec::new()
            }
        }
    }

    fn try_spawn(
        &mut self,
        container: &ContainerId,
        mut request: wire::SpawnRequest,
    ) -> Result<Vec<Action>, String> {
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
        let runs = spread(&request.commands, self.seats.all(), load)?;
        let (of, _) = self.groups.of(&self.firsts, request.rank);
        let parent = self.groups.folder_of(of, request.rank);
        let (by_seat, process_mapping) = parts(&request.commands, &runs, first, parent);
        self.groups.spawned += 1;
        self.groups.next += size;
        let number = self.groups.spawned;
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
                group: number,
                first,
                size,
                process_mapping: process_mapping.clone(),
                kvs_name: format!("kvs_{}_g{number}", self.name),
                preputs: request.preputs.clone(),
                parts,
            };
            orders.push((container, order));
        }
        let members: Vec<ContainerId> = seats.iter().map(|(id, _)| id.clone()).collect();
        let mut group = Group::new(members.clone());
        group.folders = folders;
        group.pending = Some(Pending {
            rank: request.rank,
            asked_from: container.clone(),
            silent: members.into_iter().collect(),
            refusal: None,
        });
        self.groups.by_number.insert(number, group);
        self.firsts.insert(first, number);
        tracing::info!("spawned group {number}: {size} processes from number {first}");
        let actions = self.step(Event::Spawned {
            first: Rank(first),
            seats,
        });
        for (container, order) in orders {
            self.order(&container, ToLauncher::Group(order));
        }
        Ok(actions)
    }

    /// A launcher says that its part of a spawned group runs, or why not.
    pub(crate) fn on_part(
        &mut self,
        container: &ContainerId,
        number: u32,
        refusal: Option<String>,
    ) -> Vec<Action> {
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
            let answer = wire::SpawnAnswer {
                rank: pending.rank,
                refusal: String::new(),
            };
            let order = ToLauncher::Spawned(answer);
            self.order(&pending.asked_from, order);
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
        self.refuse_spawn(&pending.asked_from, pending.rank, &why);
        self.step(Event::NotSpawned(number))
    }

    /// Whether a rank is of a group that could not be started everywhere.
    pub(crate) fn has_unspawned(&self, rank: Rank) -> bool {
        let (group, _) = self.groups.of(&self.firsts, rank.0);
        group > 0 && !self.groups.by_number.contains_key(&group)
    }

    fn refuse_spawn(&mut self, container: &ContainerId, rank: u32, why: &str) {
        let (group, own) = self.groups.of(&self.firsts, rank);
        let who = match group {
            0 => format!("rank {own}"),
            _ => format!("rank {own} of spawned group {group}"),
        };
        self.story
            .outbox
            .notice(format!("what {who} wants to spawn cannot be: {why}"));
        let answer = wire::SpawnAnswer {
            rank,
            // One word on the wire to the rank.
            refusal: why.to_owned(),
        };
        self.order(container, ToLauncher::Spawned(answer));
    }

    /// Every rank that a group has in one container is in the barrier.
    pub(crate) fn on_fence(&mut self, container: ContainerId, fence: wire::Fence) -> Vec<Action> {
        let Some(group) = self.groups.by_number.get_mut(&fence.group) else {
            return Vec::new();
        };
        let mut members = group.members.iter();
        let Some(index) = members.position(|member| *member == container) else {
            return Vec::new();
        };
        let puts = fence.puts.into_iter().map(|put| (put.key, put.value));
        match group.exchange.on_fence(index, puts.collect()) {
            Ok(None) => Vec::new(),
            Ok(Some(all)) => {
                let members = group.members.clone();
                for piece in wire::FenceDone::pieces(fence.group, all) {
                    for member in &members {
                        let order = ToLauncher::FenceDone(piece.clone());
                        self.order(member, order);
                    }
                }
                Vec::new()
            }
            Err(error) => self.step(Event::Misbehaved {
                container,
                what: format!("broke the exchange of the ranks' addresses: {error}"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::{NodeId, Resources};

    use super::*;

    fn seat(host: &str, ranks: &[u32]) -> Seat {
        Seat {
            container: ContainerId(format!("container of {host}")),
            node: NodeId(format!("{host}:1")),
            host: host.to_owned(),
            ranks: ranks.iter().copied().map(Rank).collect(),
            resources: Resources::default(),
        }
    }

    fn command(processes: u32, infos: &[(&str, &str)]) -> wire::SpawnCommand {
        let infos = infos.iter().map(|(key, value)| wire::KeyValue {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        });
        wire::SpawnCommand {
            processes,
            program: "child".to_owned(),
            infos: infos.collect(),
            ..wire::SpawnCommand::default()
        }
    }

    #[test]
    fn processes_go_where_the_fewest_ranks_are() {
        let seats = [seat("n1.lan", &[0, 1, 2]), seat("n2.lan", &[3])];
        let commands = [command(4, &[]), command(2, &[("host", "N1")])];
        let runs = spread(&commands, &seats, vec![3, 1]).unwrap();
        let run = |seat, command, ranks| Run {
            seat,
            command,
            ranks,
        };
        assert_eq!(runs, [run(0, 0, 1), run(1, 0, 3), run(0, 1, 2)]);
        let (by_seat, mapping) = parts(&commands, &runs, 4, "");
        assert_eq!(mapping, "(vector,(0,1,1),(1,1,3),(0,1,2))");
        let ranks = |seat: usize| -> Vec<Vec<u32>> {
            let parts = by_seat[&seat].iter();
            parts.map(|part| part.ranks.clone()).collect()
        };
        assert_eq!(ranks(0), [vec![4], vec![8, 9]]);
        assert_eq!(ranks(1), [vec![5, 6, 7]]);
        assert_eq!(by_seat[&0][1].appnum, 1);
    }

    #[test]
    fn many_processes_are_spread_over_many_nodes_at_once() {
        let seats: Vec<Seat> = (0..2_000)
            .map(|n| seat(&format!("n{n}.cluster.lan"), &[n]))
            .collect();
        let hosts: Vec<String> = (0..2_000).map(|n| format!("n{n}")).collect();
        let commands = [command(SPAWNED_MAX / 2, &[("host", &hosts.join(","))])];
        let began = std::time::Instant::now();
        let runs = spread(&commands, &seats, vec![1; seats.len()]).unwrap();
        let took = began.elapsed();
        assert!(runs.iter().all(|run| run.ranks == SPAWNED_MAX / 2 / 2_000));
        assert!(took < std::time::Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn a_process_starts_where_the_one_that_spawned_it_did() {
        let seats = [seat("n1", &[0, 1, 2])];
        let started = |parent: &str, infos: &[(&str, &str)]| {
            let commands = [command(1, infos)];
            let runs = spread(&commands, &seats, vec![3]).unwrap();
            let (by_seat, _) = parts(&commands, &runs, 3, parent);
            by_seat[&0][0].folder.clone()
        };
        assert_eq!(started("", &[]), "");
        assert_eq!(started("/home/a", &[]), "/home/a");
        assert_eq!(started("/home/a", &[("wdir", "sub")]), "/home/a/sub");
        assert_eq!(started("/home/a", &[("wdir", "/tmp")]), "/tmp");
        assert_eq!(started("", &[("wdir", "sub")]), "sub");

        let program = |processes, folder: Option<&str>| job::Program {
            processes,
            folder: folder.map(str::to_owned),
            ..job::Program::default()
        };
        let mut groups = Groups::default();
        groups.begin(&seats, &[program(1, Some("/first")), program(2, None)]);
        let folders = [0, 1, 2].map(|rank| groups.folder_of(0, rank));
        assert_eq!(folders, ["/first", "", ""]);
    }

    #[test]
    fn info_keys_without_a_meaning_are_left_alone() {
        let seats = [seat("n1", &[0])];
        let infos = [("hostfile", "/x"), ("bind_to", "core"), ("soft", "1:4")];
        assert!(spread(&[command(1, &infos)], &seats, vec![1]).is_ok());
    }

    #[test]
    fn what_cannot_be_has_a_sentence() {
        let seats = [seat("n1", &[0])];
        let why =
            |infos: &[(&str, &str)]| spread(&[command(1, infos)], &seats, vec![1]).unwrap_err();
        assert_eq!(
            why(&[("host", "n7")]),
            "the job holds no container on n7; it holds some on n1"
        );
    }
}
