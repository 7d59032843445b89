//! What each rank uses while it runs: memory and processor time, its children's included.
//!
//! One look reads the node's process table once, whatever the number of ranks, and leaves out what earlier
//! looks have found to be others' (`foreign_processes`). A process belongs to the rank it descends from, or, when
//! its parents have gone, to the rank whose process group it is in. Pages that ranks share are counted for
//! each of them, as YARN's own look does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use job::JobId;
use job::wire::RankUsage;
use nix::unistd::{SysconfVar, sysconf};

use crate::process;
use crate::processes::{self, ProcessStat};

/// Between two looks, at first and at most.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);
/// What the youngest rank has run is so many times the pause until it is looked at again.
const AGE_FACTOR: u32 = 5;
/// A look at a node with very many processes takes long; the next one waits this many times as long.
const PAUSE_FACTOR: u32 = 100;
const BYTES_PER_KIB: u64 = 1024;
const MS_PER_SECOND: u64 = 1000;

/// A process that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alive {
    pub(crate) id: process::Id,
    /// Since when.
    pub(crate) since: Instant,
}

/// One look at all ranks, by the pids that lead them.
#[derive(Debug)]
pub(crate) struct Look {
    /// Each with its job.
    pub(crate) usages: Vec<(JobId, RankUsage)>,
    /// What the launcher and all that descends from it have resident, KiB.
    pub(crate) container_kib: u64,
    /// When what is used is to be looked at again.
    pub(crate) next: Instant,
    /// How long this one took.
    pub(crate) took: Duration,
}

/// What the ranks that run use, by the node's `processes`, which were read from `began` on by process `own`.
pub(crate) fn look<'a>(
    ranks: impl Iterator<Item = (i32, &'a Alive)>,
    processes: &BTreeMap<i32, ProcessStat>,
    own: i32,
    began: Instant,
) -> Look {
    let ranks: Vec<(i32, &Alive)> = ranks.collect();
    let youngest = ranks.iter().map(|(_, running)| running.since).max();
    let age = youngest.map_or(Duration::ZERO, |since| {
        began.saturating_duration_since(since)
    });
    let usages = of(ranks.into_iter(), processes, began);
    let container_kib = resident_kib(own, processes);
    let took = began.elapsed();
    let pause = pause(age).max(pause_after(took));
    Look {
        usages,
        container_kib,
        next: began.checked_add(pause).unwrap_or(began),
        took,
    }
}

/// What a process and all that descends from it have resident.
fn resident_kib(own: i32, processes: &BTreeMap<i32, ProcessStat>) -> u64 {
    let unit = Units::of_this_kernel();
    with_descendants(own, processes)
        .map(|(_, process)| process.resident_pages.saturating_mul(unit.page_bytes) / BYTES_PER_KIB)
        .fold(0, u64::saturating_add)
}

/// The same, with pages that processes share counted once; `None`: the kernel does not tell.
pub(crate) fn proportional_kib(own: i32) -> Option<u64> {
    let all = processes::all();
    // One that has ended meanwhile has nothing.
    let each = with_descendants(own, &all).map(|(pid, _)| processes::proportional_kib(pid));
    let told: Vec<u64> = each.flatten().collect();
    (!told.is_empty()).then(|| told.into_iter().fold(0, u64::saturating_add))
}

/// A process and all that descends from it, by pid.
fn with_descendants(
    own: i32,
    processes: &BTreeMap<i32, ProcessStat>,
) -> impl Iterator<Item = (i32, &ProcessStat)> {
    processes
        .iter()
        .map(|(&pid, process)| (pid, process))
        .filter(move |&(pid, process)| {
            let descends = leader(pid, processes, |pid| pid == own).is_some();
            !process.is_zombie && (pid == own || descends)
        })
}

/// For how long there is no further look after one that took so long.
const fn pause_after(took: Duration) -> Duration {
    took.saturating_mul(PAUSE_FACTOR)
}

/// Until the next look, where the youngest rank is of this age.
fn pause(age: Duration) -> Duration {
    (age / AGE_FACTOR).clamp(INTERVAL, LONGEST)
}

fn of<'a>(
    ranks: impl Iterator<Item = (i32, &'a Alive)>,
    processes: &BTreeMap<i32, ProcessStat>,
    now: Instant,
) -> Vec<(JobId, RankUsage)> {
    let unit = Units::of_this_kernel();
    let mut usages: BTreeMap<i32, (JobId, RankUsage)> = ranks
        .map(|(pid, running)| {
            let at = now.saturating_duration_since(running.since).as_millis();
            let usage = RankUsage {
                rank: running.id.number,
                at_ms: u64::try_from(at).unwrap_or(u64::MAX),
                ..RankUsage::default()
            };
            (pid, (running.id.job, usage))
        })
        .collect();
    for (&pid, process) in processes.iter().filter(|(_, process)| !process.is_zombie) {
        let leader = leader(pid, processes, |pid| usages.contains_key(&pid));
        let Some((_, usage)) = leader.and_then(|leader| usages.get_mut(&leader)) else {
            continue;
        };
        let add = |to: &mut u64, what: u64| *to = to.saturating_add(what);
        add(
            &mut usage.resident_kib,
            process.resident_pages.saturating_mul(unit.page_bytes) / BYTES_PER_KIB,
        );
        add(
            &mut usage.virtual_kib,
            process.virtual_bytes / BYTES_PER_KIB,
        );
        add(
            &mut usage.cpu_ms,
            process.ticks.saturating_mul(MS_PER_SECOND) / unit.ticks_per_second,
        );
    }
    // One that has just ended uses nothing, which says nothing.
    usages
        .into_values()
        .filter(|(_, usage)| usage.resident_kib > 0)
        .collect()
}

/// The rank that a process belongs to, by the pid that leads it.
pub(crate) fn leader(
    pid: i32,
    processes: &BTreeMap<i32, ProcessStat>,
    is_rank: impl Fn(i32) -> bool,
) -> Option<i32> {
    let mut current = pid;
    // As many steps as there are processes: pids may have changed hands while they were read.
    for _ in 0..processes.len() {
        if is_rank(current) {
            return Some(current);
        }
        let Some(process) = processes.get(&current) else {
            break;
        };
        current = process.parent;
    }
    processes
        .get(&pid)
        .map(|process| process.group)
        .filter(|&group| is_rank(group))
}

struct Units {
    page_bytes: u64,
    ticks_per_second: u64,
}

impl Units {
    fn of_this_kernel() -> Self {
        let read = |variable, usual| {
            let value = sysconf(variable).ok().flatten();
            value
                .and_then(|value| u64::try_from(value).ok())
                .filter(|&value| value > 0)
                .unwrap_or(usual)
        };
        Self {
            page_bytes: read(SysconfVar::PAGE_SIZE, 4096),
            ticks_per_second: read(SysconfVar::CLK_TCK, 100),
        }
    }
}

/// What was sent last: what does not change is not sent again.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    usages: BTreeMap<u32, RankUsage>,
}

impl Sent {
    /// What of a look is news, time aside.
    pub(crate) fn news(&mut self, usages: Vec<RankUsage>) -> Vec<RankUsage> {
        let sent = &mut self.usages;
        let is_news = |usage: &RankUsage| {
            let old = sent.insert(usage.rank, *usage);
            old.is_none_or(|old| {
                RankUsage {
                    at_ms: usage.at_ms,
                    ..old
                } != *usage
            })
        };
        usages.into_iter().filter(is_news).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(parent: i32, group: i32, pages: u64) -> ProcessStat {
        ProcessStat {
            parent,
            group,
            resident_pages: pages,
            virtual_bytes: pages * 8192,
            ticks: pages,
            is_zombie: false,
        }
    }

    #[test]
    fn children_and_orphans_count_for_their_rank() {
        let unit = Units::of_this_kernel();
        let since = Instant::now();
        let job = JobId(2);
        let id = |number| process::Id { job, number };
        let ranks = [
            (10, Alive { id: id(4), since }),
            (20, Alive { id: id(5), since }),
        ];
        let mut processes: BTreeMap<i32, ProcessStat> = [
            (1, process(0, 1, 1000)),
            (10, process(1, 10, 1)),
            // A child, a grandchild in a group of its own, and an orphan of rank 4.
            (11, process(10, 10, 2)),
            (12, process(11, 12, 4)),
            (13, process(1, 10, 8)),
            (20, process(1, 20, 16)),
            (30, process(1, 30, 1000)),
        ]
        .into();
        processes.insert(
            14,
            ProcessStat {
                is_zombie: true,
                ..process(10, 10, 1000)
            },
        );
        let running = ranks.iter().map(|(pid, running)| (*pid, running));
        let usages = of(running, &processes, since + Duration::from_millis(70));
        let expected = |rank, pages: u64| {
            let usage = RankUsage {
                rank,
                at_ms: 70,
                resident_kib: pages * unit.page_bytes / 1024,
                virtual_kib: pages * 8,
                cpu_ms: pages * 1000 / unit.ticks_per_second,
            };
            (job, usage)
        };
        assert_eq!(usages, [expected(4, 15), expected(5, 16)]);
    }

    #[test]
    fn a_container_has_what_the_launcher_and_its_descendants_have() {
        let all = [
            (1, process(0, 1, 1000)),
            (5, process(1, 5, 1)),
            (10, process(5, 10, 2)),
            // It has begun a session of its own; the other belongs to nobody here.
            (11, process(10, 11, 4)),
            (30, process(1, 30, 1000)),
        ];
        let pages = Units::of_this_kernel().page_bytes / 1024;
        assert_eq!(resident_kib(5, &all.into()), 7 * pages);
    }

    #[test]
    fn ranks_that_run_for_long_are_looked_at_less_often() {
        let seconds = [(0, 1), (4, 1), (10, 2), (25, 5), (86400, 5)];
        for (age, until_next) in seconds {
            assert_eq!(pause(Duration::from_secs(age)).as_secs(), until_next);
        }
    }

    #[test]
    fn a_ring_of_parents_ends() {
        let processes: BTreeMap<i32, ProcessStat> =
            [(2, process(3, 2, 1)), (3, process(2, 3, 1))].into();
        assert_eq!(leader(2, &processes, |pid| pid == 9), None);
    }

    #[test]
    fn only_what_changes_is_sent() {
        let usage = |rank, at_ms, cpu_ms| RankUsage {
            rank,
            at_ms,
            cpu_ms,
            resident_kib: 100,
            virtual_kib: 200,
        };
        let mut sent = Sent::default();
        let first = vec![usage(0, 1000, 5), usage(1, 1000, 5)];
        assert_eq!(sent.news(first.clone()), first);
        let second = vec![usage(0, 2000, 5), usage(1, 2000, 6)];
        assert_eq!(sent.news(second), [usage(1, 2000, 6)]);
    }
}
