//! Which processors a rank may run on.
//!
//! The processors of the container's own mask are grouped into units (hardware threads, cores, sockets,
//! NUMA nodes) by what the kernel tells of them; ranks take units in turn, and when there are none
//! left, from the first again. Ranks that are spawned go on where the fewest run: a unit is free again
//! when its rank has ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use job::element::core_list;
use job::wire::{BindUnit, Binding};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::cores;

/// Where the kernel tells of processors and NUMA nodes.
const SYSTEM: &str = "/sys/devices/system";

/// A processor, which is a hardware thread, and what it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Processor {
    number: usize,
    core: u64,
    socket: u64,
    numa: u64,
}

impl Processor {
    /// What it shares with the other processors of the same unit.
    fn key(self, unit: BindUnit) -> (u64, u64) {
        let number = u64::try_from(self.number).unwrap_or(u64::MAX);
        match unit {
            BindUnit::Hwthread => (number, 0),
            BindUnit::Core => (self.socket, self.core),
            BindUnit::Socket => (self.socket, 0),
            BindUnit::Numa => (self.numa, 0),
            BindUnit::None => (0, 0),
        }
    }
}

/// The sets of processors of this container, and how many processes are bound to each.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    sets: Vec<CpuSet>,
    /// One for each set.
    users: Arc<Mutex<Vec<usize>>>,
}

/// A set that a process is bound to until this is dropped.
#[derive(Debug)]
pub(crate) struct Bound {
    set: CpuSet,
    /// Place of the set.
    place: usize,
    users: Arc<Mutex<Vec<usize>>>,
}

/// Its holders cannot panic between two changes.
fn lock(users: &Mutex<Vec<usize>>) -> MutexGuard<'_, Vec<usize>> {
    users.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sets {
    /// All free but for what so many ranks have that other containers of this host bind before; none when ranks are
    /// not bound, or nothing is known of the processors. With `cpus` they are of these processors alone, which no other
    /// container binds to.
    pub(crate) fn new(binding: &Binding, cpus: &[u32], before: u32) -> Self {
        match cpus.is_empty() {
            true => Self::of(sets(binding, &|_| true)).behind(before),
            false => Self::of(sets_among(binding, cpus)),
        }
    }

    /// As long as this lives so many are bound elsewhere, in turn.
    fn behind(self, before: u32) -> Self {
        let mut users = lock(&self.users);
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let count = users.len().max(1);
        for (place, users) in users.iter_mut().enumerate() {
            let more = usize::from(place < before % count);
            *users = (before / count).saturating_add(more);
        }
        drop(users);
        self
    }

    fn of(sets: Vec<CpuSet>) -> Self {
        let users = Arc::new(Mutex::new(vec![0; sets.len()]));
        Self { sets, users }
    }

    /// The set for one more rank: the first of those that the fewest ranks have.
    pub(crate) fn bind(&self) -> Option<Bound> {
        let mut users = lock(&self.users);
        let (place, count) = users
            .iter_mut()
            .enumerate()
            .min_by_key(|(_, users)| **users)?;
        let set = *self.sets.get(place)?;
        *count = count.saturating_add(1);
        Some(Bound {
            set,
            place,
            users: Arc::clone(&self.users),
        })
    }
}

impl Bound {
    pub(crate) const fn set(&self) -> &CpuSet {
        &self.set
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(users) = lock(&self.users).get_mut(self.place) {
            *users = users.saturating_sub(1);
        }
    }
}

/// The sets among these processors; of ranks that are bound to nothing narrower, all of these.
fn sets_among(binding: &Binding, cpus: &[u32]) -> Vec<CpuSet> {
    let is_among = |number: usize| u32::try_from(number).is_ok_and(|number| cpus.contains(&number));
    let sets = sets(binding, &is_among);
    match sets.is_empty() {
        true => cores::set_of(cpus).into_iter().collect(),
        false => sets,
    }
}

/// The sets that the ranks of this container take in turn, of the processors that are meant.
fn sets(binding: &Binding, is_meant: &dyn Fn(usize) -> bool) -> Vec<CpuSet> {
    if binding.to() == BindUnit::None {
        return Vec::new();
    }
    let mut processors = processors(Path::new(SYSTEM));
    processors.retain(|processor| is_meant(processor.number));
    let sets = groups(&processors, binding).into_iter().map(|numbers| {
        let mut set = CpuSet::new();
        for number in numbers {
            // The number came from such a set.
            let _set = set.set(number).is_ok();
        }
        set
    });
    sets.collect()
}

/// Where a rank runs, in words: the numbers of the processors of its set, or of all.
pub(crate) fn told(set: Option<&CpuSet>) -> String {
    let list = |set: &CpuSet| core_list(&cores::numbers(set).into_iter().collect::<Vec<_>>());
    match set {
        Some(set) => format!("bound to processors {}", list(set)),
        None => match sched_getaffinity(Pid::from_raw(0)) {
            Ok(mask) => format!("not bound, processors {}", list(&mask)),
            Err(_) => "not bound".to_owned(),
        },
    }
}

/// The numbers of the processors of each set.
fn groups(processors: &[Processor], binding: &Binding) -> Vec<Vec<usize>> {
    let units = split(processors, binding.to());
    let map = match binding.map() {
        BindUnit::None => binding.to(),
        map => map,
    };
    // One unit of each larger one, in turn.
    let mut within: Vec<Vec<Vec<Processor>>> = Vec::new();
    let mut places: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for unit in units {
        let Some(first) = unit.first() else { continue };
        let place = *places.entry(first.key(map)).or_insert(within.len());
        match within.get_mut(place) {
            Some(there) => there.push(unit),
            None => within.push(vec![unit]),
        }
    }
    let count = usize::try_from(binding.count.max(1)).unwrap_or(usize::MAX);
    // Units of one set are neighbours.
    let sets: Vec<Vec<Vec<usize>>> = within
        .into_iter()
        .map(|units| {
            let sets = units.chunks(count);
            sets.map(|units| units.iter().flatten().map(|p| p.number).collect())
                .collect()
        })
        .collect();
    let most = sets.iter().map(Vec::len).max().unwrap_or(0);
    (0..most)
        .flat_map(|turn| sets.iter().filter_map(move |of| of.get(turn)))
        .cloned()
        .collect()
}

/// The processors of each unit, in the order of the first processor of each.
fn split(processors: &[Processor], unit: BindUnit) -> Vec<Vec<Processor>> {
    let mut found: Vec<Vec<Processor>> = Vec::new();
    let mut places = BTreeMap::new();
    for processor in processors {
        let place = *places.entry(processor.key(unit)).or_insert(found.len());
        match found.get_mut(place) {
            Some(there) => there.push(*processor),
            None => found.push(vec![*processor]),
        }
    }
    found
}

/// Those of this process's mask, ascending. What the kernel does not tell is taken for one: a machine
/// with one socket, one NUMA node, cores without threads.
fn processors(system: &Path) -> Vec<Processor> {
    let Ok(mask) = sched_getaffinity(Pid::from_raw(0)) else {
        return Vec::new();
    };
    let numa = numa_nodes(&system.join("node"));
    let read = |number: usize, what: &str| -> Option<u64> {
        let path = system.join(format!("cpu/cpu{number}/topology/{what}"));
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    (0..CpuSet::count())
        .filter(|&number| mask.is_set(number).unwrap_or(false))
        .map(|number| Processor {
            number,
            core: read(number, "core_id")
                .unwrap_or_else(|| u64::try_from(number).unwrap_or(u64::MAX)),
            socket: read(number, "physical_package_id").unwrap_or(0),
            numa: numa.get(&number).copied().unwrap_or(0),
        })
        .collect()
}

/// The NUMA node of each processor, from the lists in `nodeN/cpulist`: "0-3,8".
fn numa_nodes(folder: &Path) -> BTreeMap<usize, u64> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node"));
        let Some(number) = number.and_then(|number| number.parse().ok()) else {
            continue;
        };
        let list = std::fs::read_to_string(entry.path().join("cpulist")).unwrap_or_default();
        for range in list.trim().split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
                continue;
            };
            found.extend((first..=last.min(CpuSet::count())).map(|cpu| (cpu, number)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets, each a NUMA node, with two cores of two threads; as Linux numbers them.
    fn machine() -> Vec<Processor> {
        let processor = |number: usize| {
            let place = u64::try_from(number % 4).unwrap();
            Processor {
                number,
                core: place % 2,
                socket: place / 2,
                numa: place / 2,
            }
        };
        (0..8).map(processor).collect()
    }

    fn bound(to: BindUnit, count: u32, map: BindUnit) -> Vec<Vec<usize>> {
        let binding = Binding {
            to: to.into(),
            count,
            map: map.into(),
            report: false,
        };
        groups(&machine(), &binding)
    }

    /// A session's slots on a class of cores: ranks are bound to these, and with `-bind-to` to one unit of them each.
    #[test]
    fn ranks_are_bound_among_the_cores_of_their_slots() {
        let here: Vec<u32> = cores::mask().into_iter().collect();
        let one = here.first().copied().into_iter().collect::<Vec<u32>>();
        let cores_of = |binding: &Binding, cpus: &[u32]| {
            let bound = Sets::new(binding, cpus, 1).bind().unwrap();
            cores::numbers(bound.set())
                .into_iter()
                .collect::<Vec<u32>>()
        };
        let to = |unit: BindUnit| Binding {
            to: unit.into(),
            count: 1,
            map: BindUnit::None.into(),
            report: false,
        };
        assert_eq!(cores_of(&to(BindUnit::None), &here), here);
        assert_eq!(cores_of(&to(BindUnit::None), &one), one);
        assert_eq!(cores_of(&to(BindUnit::Hwthread), &one), one);
        // Cores that the launcher has lost since bind nothing.
        assert!(Sets::new(&to(BindUnit::None), &[4095], 0).bind().is_none());
        assert!(Sets::new(&to(BindUnit::None), &[], 0).bind().is_none());
    }

    #[test]
    fn ranks_take_units_in_turn() {
        use BindUnit::{Core, Hwthread, None, Numa, Socket};
        assert_eq!(bound(Core, 1, None), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(bound(Core, 1, Socket), [[0, 4], [2, 6], [1, 5], [3, 7]]);
        assert_eq!(bound(Core, 2, Socket), [[0, 4, 1, 5], [2, 6, 3, 7]]);
        assert_eq!(bound(Socket, 1, None), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        assert_eq!(bound(Numa, 1, None), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        let threads: Vec<usize> = bound(Hwthread, 1, Core).into_iter().flatten().collect();
        assert_eq!(threads, [0, 1, 2, 3, 4, 5, 6, 7]);
        let threads: Vec<usize> = bound(Hwthread, 1, Socket).into_iter().flatten().collect();
        assert_eq!(threads, [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn who_comes_later_takes_what_the_fewest_have() {
        let set = |number: usize| {
            let mut set = CpuSet::new();
            set.set(number).unwrap();
            set
        };
        let sets = Sets::of((0..3).map(set).collect());
        let number = |bound: &Bound| (0..3).find(|&number| bound.set().is_set(number).unwrap());
        // Two of the job's own; two spawned ones go on from there, and then from the first again.
        let mut bound: Vec<Bound> = (0..4).map(|_| sets.bind().unwrap()).collect();
        let numbers: Vec<_> = bound.iter().map(number).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(0)]);
        drop(bound.remove(1));
        let (one, other) = (sets.bind().unwrap(), sets.bind().unwrap());
        assert_eq!((number(&one), number(&other)), (Some(1), Some(1)));
        assert!(Sets::default().bind().is_none());
    }

    #[test]
    fn what_another_container_of_the_host_has_bound_is_passed_over() {
        let set = |number: usize| {
            let mut set = CpuSet::new();
            set.set(number).unwrap();
            set
        };
        let number = |bound: &Bound| (0..3).find(|&number| bound.set().is_set(number).unwrap());
        for (before, first) in [(0, 0), (2, 2), (3, 0), (4, 1)] {
            let sets = Sets::of((0..3).map(set).collect()).behind(before);
            assert_eq!(number(&sets.bind().unwrap()), Some(first), "{before}");
        }
        assert!(Sets::default().behind(4).bind().is_none());
    }

    #[test]
    fn processors_are_told_as_the_kernel_does() {
        let mut set = CpuSet::new();
        set.set(0).unwrap();
        set.set(4).unwrap();
        assert_eq!(told(Some(&set)), "bound to processors 0,4");
        assert!(told(None).starts_with("not bound, processors "));
    }

    #[test]
    fn this_machine_has_processors_and_lists_are_read() {
        let here = processors(Path::new(SYSTEM));
        assert!(!here.is_empty());
        let folder = tempfile::tempdir().unwrap();
        for (name, list) in [("node0", "0-1,4\n"), ("node1", "2\n"), ("nodes", "x")] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("cpulist"), list).unwrap();
        }
        let found: Vec<(usize, u64)> = numa_nodes(folder.path()).into_iter().collect();
        assert_eq!(found, [(0, 0), (1, 0), (2, 1), (4, 0)]);
        assert_eq!(processors(Path::new("/no/such")).len(), here.len());
        assert!(sets(&Binding::default(), &|_| true).is_empty());
    }
}
