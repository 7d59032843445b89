//! Who of the job still runs, and what the end of one means for all.

use std::collections::{BTreeMap, BTreeSet};

use super::cause::Cause;
use super::messages::{PmiStage, RunEvent, RunPhase, Seat};
use super::who::Who;
use crate::{ContainerId, End, Rank};

/// The running job: its containers and which ranks are still there.
#[derive(Debug)]
pub(super) struct Ranks {
    seats: Seats,
    /// Ranks that have neither ended nor been lost.
    running: BTreeSet<Rank>,
    total: usize,
    /// Where each rank runs.
    hosts: BTreeMap<Rank, String>,
    /// How many had ended when it was last shown.
    shown: usize,
    /// The job's own ranks, and after them those that were spawned.
    groups: Vec<Group>,
    /// The first rank that ended with code 0 between `MPI_Init` and `MPI_Finalize`, and its host.
    left_early: Option<(Who, String)>,
    /// Containers all of whose ranks that still run wait in a barrier.
    waiting: BTreeSet<ContainerId>,
}

/// Ranks that have one `MPI_COMM_WORLD`.
#[derive(Debug)]
struct Group {
    /// Number of its rank 0. Those of the next group follow.
    first: Rank,
    /// Some rank is, or was, in `MPI_Init`, or others wait for it there.
    pmi_seen: bool,
    /// The first rank that returned 0 without ever calling `MPI_Init`.
    silent: Option<Rank>,
}

impl Ranks {
    pub(super) fn new(seats: Vec<Seat>) -> Self {
        let of = |seat: &Seat| -> Vec<(Rank, String)> {
            let ranks = seat.ranks.iter();
            ranks.map(|rank| (*rank, seat.host.clone())).collect()
        };
        let hosts: BTreeMap<Rank, String> = sort::map(seats.iter().flat_map(of));
        Self {
            running: hosts.keys().copied().collect(),
            total: hosts.len(),
            hosts,
            seats: Seats::new(seats),
            shown: 0,
            groups: vec![Group {
                first: Rank(0),
                pmi_seen: false,
                silent: None,
            }],
            left_early: None,
            waiting: BTreeSet::new(),
        }
    }

    pub(super) fn seats(&self) -> &[Seat] {
        &self.seats.all
    }

    pub(super) fn all_ended(&self) -> bool {
        self.running.is_empty()
    }

    /// How many still run.
    pub(super) fn left(&self) -> usize {
        self.running.len()
    }

    /// Those that do, and their hosts.
    pub(super) fn still_run(&self) -> Vec<(Who, String)> {
        let running = self.running.iter();
        running
            .filter_map(|rank| Some((self.who(*rank), self.hosts.get(rank)?.clone())))
            .collect()
    }

    fn ended_so_far(&self) -> usize {
        self.total.saturating_sub(self.running.len())
    }

    pub(super) fn phase(&self) -> RunPhase {
        RunPhase::Running {
            ended: self.ended_so_far(),
            ranks: self.total,
        }
    }

    /// The phase, when enough ranks have ended since the last time: a hundredth of them.
    pub(super) fn progress(&mut self) -> Option<RunPhase> {
        let ended = self.ended_so_far();
        if ended.saturating_sub(self.shown) < self.total.div_ceil(100) {
            return None;
        }
        self.shown = ended;
        Some(self.phase())
    }

    /// What a rank is called.
    fn who(&self, number: Rank) -> Who {
        let group = self.group_of(number);
        let spawned = self.groups.get(group).filter(|_| group > 0).map(|of| {
            let group = u32::try_from(group).unwrap_or(u32::MAX);
            (group, number.0.saturating_sub(of.first.0))
        });
        Who { number, spawned }
    }

    /// Index of a rank's group.
    fn group_of(&self, number: Rank) -> usize {
        let later = |group: &Group| group.first <= number;
        self.groups.partition_point(later).saturating_sub(1)
    }

    fn spawned(&mut self, first: Rank, seats: Vec<(ContainerId, Vec<Rank>)>) {
        for (container, ranks) in seats {
            let Some(seat) = self.seats.of_mut(&container) else {
                continue;
            };
            self.total = self.total.saturating_add(ranks.len());
            for rank in ranks {
                self.running.insert(rank);
                self.hosts.insert(rank, seat.host.clone());
                seat.ranks.push(rank);
            }
        }
        self.groups.push(Group {
            first,
            // Whoever spawned them waits for them.
            pmi_seen: true,
            silent: None,
        });
    }

    fn not_spawned(&mut self, group: u32) {
        let index = usize::try_from(group).unwrap_or(usize::MAX);
        if group == 0 {
            return;
        }
        let all: Vec<Rank> = self.hosts.keys().copied().collect();
        let gone: BTreeSet<Rank> = all
            .into_iter()
            .filter(|&rank| self.group_of(rank) == index)
            .collect();
        self.total = self.total.saturating_sub(gone.len());
        self.running.retain(|rank| !gone.contains(rank));
        // One of them may have ended, and have been shown.
        self.shown = self.shown.min(self.ended_so_far());
        self.hosts.retain(|rank, _| !gone.contains(rank));
        for seat in &mut self.seats.all {
            seat.ranks.retain(|rank| !gone.contains(rank));
        }
    }

    /// The ranks of `container` are gone with it.
    pub(super) fn lose(&mut self, container: &ContainerId) {
        if let Some(seat) = self.seats.of(container) {
            for rank in &seat.ranks {
                self.running.remove(rank);
            }
        }
    }

    pub(super) fn lose_all(&mut self) {
        self.running.clear();
    }

    /// Takes an event in; the cause it is of the job's end, if it is one.
    pub(super) fn hear(&mut self, event: RunEvent) -> Option<Cause> {
        match event {
            RunEvent::RankEnded { rank, end, stage } => self.ended(rank, end, stage),
            RunEvent::Aborted { rank, code } => {
                let host = self.hosts.get(&rank)?.clone();
                let rank = self.who(rank);
                Some(Cause::Aborted { rank, host, code })
            }
            RunEvent::Broke { rank, what } => {
                let host = self.hosts.get(&rank)?.clone();
                let rank = self.who(rank);
                Some(Cause::Broke { rank, host, what })
            }
            RunEvent::PmiSeen(group) => {
                let index = usize::try_from(group).unwrap_or(usize::MAX);
                self.groups.get_mut(index)?.pmi_seen = true;
                self.never_initialized(index)
            }
            RunEvent::Spawned { first, seats } => {
                self.spawned(first, seats);
                None
            }
            RunEvent::NotSpawned(group) => {
                self.not_spawned(group);
                None
            }
            RunEvent::Refused {
                container,
                sentence,
                code,
            } => {
                self.lose(&container);
                Some(Cause::Refused { sentence, code })
            }
            RunEvent::Misbehaved { container, what } => {
                let host = self.seats.host_of(&container)?;
                Some(Cause::Misbehaved { host, what })
            }
            RunEvent::LinkLost(container) => {
                let host = self.seats.host_of(&container)?;
                let ran = self.still_runs(&container);
                self.lose(&container);
                ran.then_some(Cause::LinkLost { container, host })
            }
            RunEvent::ContainerEnded {
                container,
                status,
                diagnostics,
            } => {
                let host = self.seats.host_of(&container)?;
                // Its launcher may be there all the same: whoever knows loses its ranks.
                self.still_runs(&container)
                    .then_some(Cause::ContainerEnded {
                        container,
                        host,
                        status,
                        diagnostics,
                    })
            }
            RunEvent::Waits(container) => {
                self.waiting.insert(container);
                None
            }
            RunEvent::BarrierOver => {
                self.waiting.clear();
                None
            }
            RunEvent::StartFailed { .. }
            | RunEvent::Joined(_)
            | RunEvent::InputUsed
            | RunEvent::Localizing(_)
            | RunEvent::Tick => None,
        }
    }

    fn ended(&mut self, rank: Rank, end: End, stage: PmiStage) -> Option<Cause> {
        if !self.running.remove(&rank) {
            return None;
        }
        let host = self.hosts.get(&rank)?.clone();
        let who = self.who(rank);
        if !end.is_success() {
            return Some(Cause::RankFailed {
                rank: who,
                host,
                end,
            });
        }
        match stage {
            PmiStage::Finalized => None,
            PmiStage::Initialized => {
                self.left_early.get_or_insert((who, host));
                None
            }
            PmiStage::Silent => {
                let group = self.group_of(rank);
                self.groups.get_mut(group)?.silent.get_or_insert(rank);
                self.never_initialized(group)
            }
        }
    }

    /// The first rank that ended with code 0 between `MPI_Init` and `MPI_Finalize`, and its host.
    pub(super) fn left_early(&self) -> Option<(Who, String)> {
        self.left_early.clone()
    }

    /// All that still run wait in a barrier into which one that has left will never come: the one in `MPI_Finalize`,
    /// for that in `MPI_Init` was over before. Where ranks have spawned others, that cannot be told.
    pub(super) fn wait_for_one_that_left(&self) -> bool {
        let running = self.seats.all.iter().map(|seat| &seat.container);
        let mut running = running.filter(|container| self.still_runs(container));
        self.left_early.is_some()
            && self.groups.len() == 1
            && running.all(|container| self.waiting.contains(container))
    }

    fn never_initialized(&self, group: usize) -> Option<Cause> {
        let group = self.groups.get(group)?;
        let rank = group.silent.filter(|_| group.pmi_seen)?;
        let host = self.hosts.get(&rank)?.clone();
        let rank = self.who(rank);
        Some(Cause::NeverInitialized { rank, host })
    }

    /// Where a rank runs, or ran.
    pub(super) fn container_of(&self, rank: Rank) -> Option<&ContainerId> {
        let seat = self
            .seats
            .all
            .iter()
            .find(|seat| seat.ranks.contains(&rank));
        seat.map(|seat| &seat.container)
    }

    pub(super) fn host_of(&self, container: &ContainerId) -> Option<String> {
        self.seats.host_of(container)
    }

    /// Whether some rank of `container` has neither ended nor been lost.
    pub(super) fn still_runs(&self, container: &ContainerId) -> bool {
        let seat = self.seats.of(container);
        seat.is_some_and(|seat| seat.ranks.iter().any(|rank| self.running.contains(rank)))
    }
}

/// The seats of a job, in order of their ranks, to be found by their containers.
#[derive(Debug, Default)]
pub(super) struct Seats {
    pub all: Vec<Seat>,
    places: BTreeMap<ContainerId, usize>,
}

impl Seats {
    pub(super) fn new(all: Vec<Seat>) -> Self {
        let places = all.iter().enumerate();
        let places = places.map(|(place, seat)| (seat.container.clone(), place));
        Self {
            places: places.collect(),
            all,
        }
    }

    /// That of `container`, if it is one of ours.
    pub(super) fn of(&self, container: &ContainerId) -> Option<&Seat> {
        self.all.get(*self.places.get(container)?)
    }

    fn of_mut(&mut self, container: &ContainerId) -> Option<&mut Seat> {
        self.all.get_mut(*self.places.get(container)?)
    }

    /// The host of `container`, if it is one of ours.
    pub(super) fn host_of(&self, container: &ContainerId) -> Option<String> {
        self.of(container).map(|seat| seat.host.clone())
    }
}
