//! Which seat gets how many processes of a spawn, as numbers, and what each is told of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;

use job::wire;

/// Ranks of a group that follow each other, run one program and are in one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RankSpan {
    /// Index of the seat.
    seat: usize,
    /// Index of the command.
    command: usize,
    ranks: u32,
}

/// Where processes may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpawnHost<'a> {
    /// As YARN names the node.
    pub(super) host: &'a str,
    /// As the node names itself; empty: that is not known.
    pub(super) own_name: &'a str,
    /// The rank that spawns runs here: for that one it is `localhost`.
    pub(super) asks: bool,
}

/// Spreads the processes of all commands: each goes where the fewest ranks are, of several such
/// places to the first, among the hosts that its command names if it names any. Processes of one
/// command are ordered by seat.
///
/// `load` are the ranks of each seat.
pub(super) fn spread(
    commands: &[wire::SpawnCommand],
    seats: &[SpawnHost<'_>],
    mut load: Vec<usize>,
) -> Result<Vec<RankSpan>, String> {
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
        let named = hosts.as_deref().map(NamedHosts::new);
        let is_usable =
            |seat: &SpawnHost<'_>| named.as_ref().is_none_or(|named| named.includes(seat));
        let usable = seats.iter().zip(&load).enumerate();
        let usable = usable.filter(|(_, (seat, _))| is_usable(seat));
        let mut freest: BinaryHeap<Reverse<(usize, usize)>> = usable
            .map(|(index, (_, load))| Reverse((*load, index)))
            .collect();
        if freest.is_empty() {
            let names: Vec<&str> = seats.iter().map(|seat| seat.host).collect();
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
        runs.extend(counts.into_iter().map(|(seat, ranks)| RankSpan {
            seat,
            command,
            ranks,
        }));
    }
    Ok(runs)
}

/// How a node is called there.
const LOCAL: [&str; 2] = ["localhost", "127.0.0.1"];

/// Hosts as a command names them: short or whole, with or without a number of processes. A short name
/// stands for every host that begins with it, a whole one for a host that is known by its short name.
struct NamedHosts {
    given: BTreeSet<String>,
    /// The first parts of all of them.
    short: BTreeSet<String>,
}

impl NamedHosts {
    fn new(hosts: &[&str]) -> Self {
        let plain = |host: &&str| host.split(':').next().unwrap_or_default().to_lowercase();
        let given: BTreeSet<String> = sort::set(hosts.iter().map(plain));
        let short = given.iter().map(|host| first_part(host).to_owned());
        Self {
            short: short.collect(),
            given,
        }
    }

    fn includes(&self, seat: &SpawnHost<'_>) -> bool {
        let is_here = seat.asks && LOCAL.iter().any(|local| self.given.contains(*local));
        is_here || self.names(seat.host) || !seat.own_name.is_empty() && self.names(seat.own_name)
    }

    fn names(&self, host: &str) -> bool {
        let host = host.to_lowercase();
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
pub(super) fn parts(
    commands: &[wire::SpawnCommand],
    runs: &[RankSpan],
    first: u32,
    parent: &str,
) -> (BTreeMap<usize, Vec<wire::Part>>, String) {
    let mut by_seat: BTreeMap<usize, Vec<wire::Part>> = BTreeMap::new();
    let used: BTreeSet<usize> = sort::set(runs.iter().map(|run| run.seat));
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
            environment: command.environment.clone(),
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

#[cfg(test)]
mod tests {
    use policy::lifecycle::Seat;
    use policy::{ContainerId, NodeId, Rank, Resources};

    use super::super::{Groups, SPAWNED_MAX};
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

    /// Rank 0 spawns.
    fn named(seats: &[Seat]) -> Vec<SpawnHost<'_>> {
        let hosts = seats.iter().map(|seat| SpawnHost {
            host: &seat.host,
            own_name: "",
            asks: seat.ranks.contains(&Rank(0)),
        });
        hosts.collect()
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
        let runs = spread(&commands, &named(&seats), vec![3, 1]).unwrap();
        let run = |seat, command, ranks| RankSpan {
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
    fn a_node_is_named_as_yarn_names_it_as_it_names_itself_and_as_localhost() {
        let hosts = [("10.0.0.1", "blade7"), ("10.0.0.2", "blade8.lan")];
        let hosts = hosts.map(|(host, own_name)| SpawnHost {
            host,
            own_name,
            asks: host == "10.0.0.2",
        });
        for (name, seat) in [
            ("10.0.0.1", 0),
            ("blade7", 0),
            ("Blade7.lan", 0),
            ("blade8", 1),
            ("localhost", 1),
            ("localhost:4", 1),
        ] {
            let runs = spread(&[command(1, &[("host", name)])], &hosts, vec![1, 1]).unwrap();
            let seats: Vec<usize> = runs.iter().map(|run| run.seat).collect();
            assert_eq!(seats, [seat], "{name}");
        }
    }

    #[test]
    fn many_processes_are_spread_over_many_nodes_at_once() {
        let seats: Vec<Seat> = (0..2_000)
            .map(|n| seat(&format!("n{n}.cluster.lan"), &[n]))
            .collect();
        let hosts: Vec<String> = (0..2_000).map(|n| format!("n{n}")).collect();
        let commands = [command(SPAWNED_MAX / 2, &[("host", &hosts.join(","))])];
        let began = std::time::Instant::now();
        let runs = spread(&commands, &named(&seats), vec![1; seats.len()]).unwrap();
        let took = began.elapsed();
        assert!(runs.iter().all(|run| run.ranks == SPAWNED_MAX / 2 / 2_000));
        assert!(took < std::time::Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn a_process_starts_where_the_one_that_spawned_it_did() {
        let seats = [seat("n1", &[0, 1, 2])];
        let started = |parent: &str, infos: &[(&str, &str)]| {
            let commands = [command(1, infos)];
            let runs = spread(&commands, &named(&seats), vec![3]).unwrap();
            let (by_seat, _) = parts(&commands, &runs, 3, parent);
            by_seat[&0][0].folder.clone()
        };
        assert_eq!(started("", &[]), "");
        assert_eq!(started("/home/a", &[]), "/home/a");
        assert_eq!(started("/home/a", &[("wdir", "sub")]), "/home/a/sub");
        assert_eq!(started("/home/a", &[("wdir", "/tmp")]), "/tmp");
        assert_eq!(started("", &[("wdir", "sub")]), "sub");

        let program = |processes, folder: Option<&str>| job::MpiProgram {
            processes,
            folder: folder.map(str::to_owned),
            ..job::MpiProgram::default()
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
        assert!(spread(&[command(1, &infos)], &named(&seats), vec![1]).is_ok());
    }

    #[test]
    fn what_cannot_be_has_a_sentence() {
        let seats = [seat("n1", &[0])];
        let why = |infos: &[(&str, &str)]| {
            spread(&[command(1, infos)], &named(&seats), vec![1]).unwrap_err()
        };
        assert_eq!(
            why(&[("host", "n7")]),
            "the job holds no container on n7; it holds some on n1"
        );
    }
}
