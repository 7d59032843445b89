//! Carries out what the machine answers.

use std::collections::{BTreeMap, VecDeque};

use holding::Asking;
use job::Universe;
use job::exit::Exit;
use job::wire;
use job::wire::mpi_order::Order as ToLauncher;
use policy::lifecycle::{LifecycleAction, LifecycleEvent, LifecyclePhase, Seat, Unused, Verdict};
use policy::{ContainerId, Rank};

use crate::mpi::seats::RunningSeats;
use crate::mpi::{Client, Mpi};
use crate::mpi::{pmix, standoff};
use crate::work::Do;

impl Mpi {
    /// Carries actions out in order; the verdict, if it is among them.
    pub(crate) fn carry_out(&mut self, actions: Vec<LifecycleAction>) -> Option<Verdict> {
        let mut todo = VecDeque::from(actions);
        while let Some(action) = todo.pop_front() {
            match action {
                LifecycleAction::TakeSnapshot => self.todo.push(Do::TakeSnapshot),
                LifecycleAction::Ask {
                    round,
                    placement,
                    held,
                    kept,
                } => {
                    if !placement.shares.is_empty() && self.timing.asked_us == 0 {
                        self.timing.asked_us = self.wall_us();
                    }
                    self.todo.push(Do::Ask(Asking {
                        round,
                        placement,
                        held,
                        kept,
                    }));
                }
                LifecycleAction::Release { containers, why } => {
                    let why = sentences::unused(why);
                    tracing::info!("giving back {} containers: {why}", containers.len());
                    for container in &containers {
                        self.links.remove(container);
                        self.grants.remove(container);
                    }
                    self.todo.push(Do::Release(containers));
                }
                LifecycleAction::Repeat { run, cause, kept } => {
                    self.comparing = None;
                    self.repeat(run, &cause, &kept);
                }
                LifecycleAction::Start(seats) => {
                    self.timing.granted_us = self.wall_us();
                    let seats = seats.into_iter();
                    self.todo
                        .extend(seats.map(|seat| Do::Start(seat.container)));
                }
                LifecycleAction::Begin(seats) => {
                    self.timing.joined_us = self.wall_us();
                    self.say_degraded(&seats);
                    todo.extend(self.begin_when_compared(seats));
                }
                LifecycleAction::Stop { grace } => {
                    todo.extend(self.end_comparing());
                    self.checkpoints.pause();
                    self.todo.push(Do::Hurry);
                    let grace_ms = u32::try_from(grace.0).unwrap_or(u32::MAX);
                    self.order_all(&ToLauncher::Stop(wire::Stop { grace_ms }));
                }
                LifecycleAction::Show(phase) => {
                    self.standoff.hear(self.now, &phase);
                    self.todo.push(Do::Progress(standoff::progress(&phase)));
                    self.show(phase);
                }
                LifecycleAction::Silent {
                    hosts,
                    within,
                    is_bound,
                } => {
                    let sentence = sentences::unanswered(&hosts, within, is_bound);
                    tracing::warn!("{sentence}");
                    self.story.outbox.notice(sentence);
                }
                LifecycleAction::LeftEarly { rank, host, within } => {
                    let sentence = sentences::left_early(rank, &host, within);
                    tracing::info!("{sentence}");
                    self.story.outbox.notice(sentence);
                }
                LifecycleAction::EndedForOne {
                    rank,
                    host,
                    after,
                    others,
                } => {
                    let sentence = sentences::ended_for_one(rank, &host, after, &others);
                    tracing::info!("{sentence}");
                    self.story.outbox.notice(sentence);
                }
                LifecycleAction::Probe(containers) => {
                    self.todo.extend(containers.into_iter().map(Do::Probe));
                }
                LifecycleAction::Finish(verdict) => return Some(verdict),
            }
        }
        None
    }

    /// Hands the ranks out.
    pub(crate) fn begin_ranks(&mut self, seats: Vec<Seat>) -> Vec<LifecycleAction> {
        let (description, run) = (&self.description, self.job.run_number());
        self.groups.begin(&seats, &self.description.programs);
        let mut nodes: Vec<(Rank, u32)> = seats
            .iter()
            .zip(0..)
            .flat_map(|(seat, node)| seat.ranks.iter().map(move |rank| (*rank, node)))
            .collect();
        nodes.sort_unstable();
        let nodes: Vec<u32> = nodes.into_iter().map(|(_, node)| node).collect();
        let mapping = pmi::mapping_of_nodes(&nodes);
        let first = seats
            .iter()
            .find(|seat| seat.ranks.first() == Some(&Rank(0)));
        let meeting_port = first
            .and_then(|seat| self.links.get(&seat.container))
            .map_or(0, |link| link.free_port);
        let template = wire::Share {
            size: description.processes(),
            ranks: Vec::new(),
            programs: description.programs.iter().map(Into::into).collect(),
            process_mapping: mapping,
            kvs_name: match run {
                1 => format!("kvs_{}", self.name),
                later => format!("kvs_{}_run_{later}", self.name),
            },
            input: description.input,
            yielding: wire::Yielding::from(description.yielding).into(),
            meeting_host: first.map(|seat| seat.host.clone()).unwrap_or_default(),
            meeting_port,
            binding: Some(description.binding.into()),
            gpus_per_process: description.gpus_per_process,
            gpus_are_counted: description.gpus_are_counted(),
            memory_mib: description.demand.unit.memory.0,
            universe_size: self.universe_size(&seats),
            terminal: description.terminal.as_ref().map(Into::into),
            host: String::new(),
            node: 0,
            run,
            ..wire::Share::default()
        };
        let wants_pmix = |program: &job::MpiProgram| program.pmix_library.is_some();
        let template = wire::Share {
            nodes: match description.programs.iter().any(wants_pmix) {
                true => pmix::nodes(&seats),
                false => Vec::new(),
            },
            ..template
        };
        let mut on_host: BTreeMap<&str, u32> = BTreeMap::new();
        for (seat, node) in seats.iter().zip(0..) {
            let before = on_host.entry(&seat.host).or_default();
            let cores = self.cores.get(&seat.container);
            let mut share = wire::Share {
                ranks: seat.ranks.iter().map(|rank| rank.0).collect(),
                host: seat.host.clone(),
                node,
                bound_before: *before,
                cpus: cores.into_iter().flatten().copied().collect(),
                ..template.clone()
            };
            *before = before.saturating_add(u32::try_from(seat.ranks.len()).unwrap_or(u32::MAX));
            if let Err(sentence) = self.checkpoints.add_to(&mut share) {
                return self.step(LifecycleEvent::Refused {
                    container: seat.container.clone(),
                    sentence,
                    code: Exit::Staging.code(),
                });
            }
            self.order(&seat.container, ToLauncher::Share(share));
        }
        self.seats = RunningSeats::new(seats);
        self.checkpoints.begin(self.now);
        Vec::new()
    }

    /// A launcher that is of no use is to leave, with whatever runs there.
    pub(crate) fn dismiss(&mut self, container: &ContainerId) {
        self.links.remove(container);
        self.todo.push(Do::Dismiss(container.clone()));
    }

    /// What the ranks find as MPI_UNIVERSE_SIZE; 0: unknown.
    fn universe_size(&self, seats: &[Seat]) -> u32 {
        match self.description.universe {
            Universe::Unknown => 0,
            Universe::Processes(count) => count.get(),
            Universe::Cores => (seats.iter())
                .filter_map(|seat| self.links.get(&seat.container))
                .map(|link| link.cores)
                .fold(0, u32::saturating_add),
        }
    }

    pub(crate) fn order_all(&mut self, order: &ToLauncher) {
        let all = self.links.keys().map(|to| Do::Tell {
            to: to.clone(),
            order: Box::new(order.clone()),
        });
        self.todo.extend(all);
    }

    /// To the launcher in one container, if it is there.
    pub(crate) fn order(&mut self, container: &ContainerId, order: ToLauncher) {
        if self.links.contains_key(container) {
            self.todo.push(Do::Tell {
                to: container.clone(),
                order: Box::new(order),
            });
        }
    }

    fn show(&mut self, phase: LifecyclePhase) {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (kind, done, wanted, note) = match phase {
            LifecyclePhase::WaitingForRoom(why) => {
                let note = sentences::no_room(&why, &self.limits.types);
                (wire::phase::Kind::WaitingForRoom, 0, 0, note)
            }
            LifecyclePhase::LetGo(let_go) => {
                let note = sentences::let_go(&let_go);
                (wire::phase::Kind::WaitingForRoom, 0, 0, note)
            }
            LifecyclePhase::WaitingForContainers { granted, wanted } => (
                wire::phase::Kind::WaitingForContainers,
                granted,
                wanted,
                String::new(),
            ),
            LifecyclePhase::WaitingForNodes {
                granted,
                wanted,
                silent,
            } => (
                wire::phase::Kind::WaitingForContainers,
                granted,
                wanted,
                sentences::silent(&silent),
            ),
            LifecyclePhase::StartingContainers { joined, wanted } => (
                wire::phase::Kind::StartingContainers,
                joined,
                wanted,
                String::new(),
            ),
            LifecyclePhase::Running { ended, ranks } => {
                (wire::phase::Kind::Running, ended, ranks, String::new())
            }
            LifecyclePhase::Ending => (wire::phase::Kind::Ending, 0, 0, String::new()),
        };
        let phase = wire::Phase {
            kind: kind.into(),
            done: count(done),
            wanted: count(wanted),
            note,
            held: String::new(),
        };
        self.phase = phase;
        self.show_waiting();
    }

    /// The phase, with who holds what the job waits for, as far as that is known.
    pub(crate) fn show_waiting(&mut self) {
        let held = &self.story.watch.held;
        let waits = matches!(
            self.phase.kind(),
            wire::phase::Kind::WaitingForRoom | wire::phase::Kind::WaitingForContainers
        );
        self.phase.held = match waits {
            true => held.clone(),
            false => String::new(),
        };
        self.show_phase();
    }

    /// The newest phase, for the client that is there. Progress only: one that does not keep up
    /// misses some.
    pub(crate) fn show_phase(&mut self) {
        if self.client == Client::Attached {
            self.todo.push(Do::Show(self.phase.clone()));
        }
    }

    /// No client has come in time; it may be unable to reach this node. The job goes on, and its
    /// output goes to this AM's log.
    pub(crate) fn go_on_alone(&mut self) {
        self.client = Client::Absent;
        // Nobody will give input: its reader sees the end of it.
        self.todo.push(Do::EndInput);
        self.todo.push(Do::LogOutput);
    }
}

/// What several steps in a row want, as if one had said it: what goes back for one reason goes back
/// at once, and of the counts of containers only the newest is shown.
pub(crate) fn merged(actions: Vec<LifecycleAction>) -> Vec<LifecycleAction> {
    let is_count = |action: &LifecycleAction| {
        matches!(
            action,
            LifecycleAction::Show(LifecyclePhase::WaitingForContainers { .. })
        )
    };
    let mut merged: Vec<LifecycleAction> = Vec::new();
    for action in actions {
        if let LifecycleAction::Release { containers, why } = action {
            let earlier = merged
                .iter_mut()
                .find_map(|earlier| released_for(earlier, why));
            match earlier {
                Some(all) => all.extend(containers),
                None => merged.push(LifecycleAction::Release { containers, why }),
            }
            continue;
        }
        if is_count(&action) {
            merged.retain(|earlier| !is_count(earlier));
        }
        merged.push(action);
    }
    merged
}

/// The containers that `action` gives back for this reason.
fn released_for(action: &mut LifecycleAction, reason: Unused) -> Option<&mut Vec<ContainerId>> {
    if let LifecycleAction::Release { containers, why } = action
        && *why == reason
    {
        return Some(containers);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surplus_of_one_answer_goes_back_at_once() {
        let id = |number: u32| ContainerId(format!("c{number}"));
        let back = |numbers: &[u32]| LifecycleAction::Release {
            containers: numbers.iter().map(|number| id(*number)).collect(),
            why: Unused::NotWanted,
        };
        let count = |granted| {
            LifecycleAction::Show(LifecyclePhase::WaitingForContainers { granted, wanted: 2 })
        };
        let starting = LifecycleAction::Show(LifecyclePhase::StartingContainers {
            joined: 0,
            wanted: 2,
        });
        let all = vec![
            count(1),
            back(&[2]),
            count(2),
            LifecycleAction::Start(Vec::new()),
            starting.clone(),
            back(&[4]),
            back(&[5]),
        ];
        assert_eq!(
            merged(all),
            [
                back(&[2, 4, 5]),
                count(2),
                LifecycleAction::Start(Vec::new()),
                starting
            ]
        );
    }
}
