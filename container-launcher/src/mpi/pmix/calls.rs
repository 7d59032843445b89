//! What comes of the ranks' calls: pure, as the launcher's loop does the rest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{
    Fence, FenceDone, ModexAnswer, ModexRequest, PmixAnswer, PmixCall, PmixFence, PmixJob, PmixLog,
    PmixModexed, PmixSpawn, Refusal, pmix_call,
};
use pmi::{Effect, PmiStage};
use prost::bytes::Bytes;

use super::FENCE_MAX;
use super::names::Names;

const MIB: usize = 1 << 20;
/// A program that has so many has its texts shown as often as they come.
const TOPICS_MAX: usize = 256;

/// What is known of the ranks that a server serves, and of what they wait for.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Numbers in the job of the ranks of this container.
    here: BTreeSet<u32>,
    /// The job has no other containers.
    alone: bool,
    groups: BTreeMap<u32, Group>,
    /// Fences that wait for other containers, by their group and ranks.
    fences: BTreeMap<(u32, Vec<u32>), OpenFence>,
    /// Calls of ranks here that wait for what a rank elsewhere has told.
    asked: BTreeSet<u64>,
    /// Who waits for what a rank here has told.
    asking: BTreeMap<u64, ModexRequest>,
    last: u64,
    /// What texts were of that ranks here have said to the user.
    topics: BTreeSet<String>,
}

/// The job's own ranks, or those of a spawn.
#[derive(Debug, Default)]
struct Group {
    /// Number in the job of its rank 0.
    first: u32,
    stages: BTreeMap<u32, PmiStage>,
    names: Names,
}

/// A fence that the ApplicationMaster has been told of.
#[derive(Debug)]
struct OpenFence {
    call: u64,
    /// What has come of the answer.
    data: Vec<u8>,
    /// The next ones of the same ranks.
    later: VecDeque<(u64, Bytes)>,
}

/// What is to be done.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Whose ranks the effects, what is said, and what is to be tried again name.
    pub(super) group: u32,
    pub(super) effects: Vec<Effect>,
    /// What the server is told.
    pub(super) answer: Option<PmixAnswer>,
    /// What the ApplicationMaster is told.
    pub(super) event: Option<Event>,
    /// What a rank says to the user, by the call that is answered when it is said.
    pub(super) logged: Option<(u64, PmixLog)>,
    /// Whose look-up is to be tried again after a pause.
    pub(super) again: Option<u32>,
    /// Who wants processes to be started, by the call that is answered when they run.
    pub(super) spawn: Option<(u64, PmixSpawn)>,
}

impl Outcome {
    fn effects(call: u64, effects: Vec<Effect>) -> Self {
        Self {
            effects,
            ..Self::answer(done(call, Bytes::new()))
        }
    }

    pub(super) fn answer(answer: PmixAnswer) -> Self {
        Self {
            answer: Some(answer),
            ..Self::default()
        }
    }

    fn event(event: Event) -> Self {
        Self {
            event: Some(event),
            ..Self::default()
        }
    }
}

pub(super) fn done(call: u64, data: Bytes) -> PmixAnswer {
    PmixAnswer {
        call,
        data,
        ..PmixAnswer::default()
    }
}

pub(super) fn failed(call: u64) -> PmixAnswer {
    PmixAnswer {
        call,
        failed: true,
        ..PmixAnswer::default()
    }
}

impl Calls {
    /// Of the ranks that `job` has here.
    pub(super) fn of(job: &PmixJob) -> Self {
        let mut own = Self {
            alone: job.nodes.len() <= 1,
            ..Self::default()
        };
        own.add(job);
        own
    }

    /// Another group, of which ranks may be here.
    pub(super) fn add(&mut self, job: &PmixJob) {
        let here = usize::try_from(job.here).ok();
        let here = here.and_then(|here| job.nodes.get(here));
        let ranks = here.map_or(&[][..], |node| &node.ranks);
        let numbers = ranks.iter().map(|rank| job.first.saturating_add(*rank));
        self.here.extend(numbers);
        let group = Group {
            first: job.first,
            ..Group::default()
        };
        self.groups.insert(job.group, group);
    }

    /// Nobody asks for a group any more.
    pub(super) fn remove(&mut self, group: u32) {
        self.groups.remove(&group);
    }

    pub(super) fn stage(&self, group: u32, rank: u32) -> PmiStage {
        let stages = self.groups.get(&group).map(|group| &group.stages);
        let stage = stages.and_then(|stages| stages.get(&rank));
        stage.copied().unwrap_or_default()
    }

    /// What is to be done about a call.
    pub(super) fn on(&mut self, call: PmixCall) -> Outcome {
        let group = call.group;
        Outcome {
            group,
            ..self.of_group(group, call)
        }
    }

    fn of_group(&mut self, group: u32, call: PmixCall) -> Outcome {
        let number = call.number;
        match call.call {
            Some(pmix_call::Call::Connected(rank)) => {
                Outcome::effects(number, self.reach(group, rank, PmiStage::Initialized))
            }
            Some(pmix_call::Call::Finalized(rank)) => {
                Outcome::effects(number, self.reach(group, rank, PmiStage::Finalized))
            }
            Some(pmix_call::Call::Abort(abort)) => {
                let abort = Effect::Abort {
                    rank: abort.rank,
                    exit_code: abort.status,
                    message: abort.message,
                };
                Outcome::effects(number, vec![abort])
            }
            Some(pmix_call::Call::Fence(fence)) => self.fence(number, group, fence),
            Some(pmix_call::Call::Modex(rank)) => {
                self.asked.insert(number);
                Outcome::event(Event::Modex(ModexRequest {
                    number,
                    group,
                    rank,
                    ..ModexRequest::default()
                }))
            }
            Some(pmix_call::Call::Log(log)) if self.is_known(&log.topic) => {
                Outcome::answer(done(number, Bytes::new()))
            }
            Some(pmix_call::Call::Log(log)) => Outcome {
                logged: Some((number, log)),
                ..Outcome::default()
            },
            Some(pmix_call::Call::Names(names)) => match self.groups.get_mut(&group) {
                Some(group) => group.names.ask(number, names),
                None => Outcome::answer(failed(number)),
            },
            Some(pmix_call::Call::Spawn(spawn)) => Outcome {
                spawn: Some((number, spawn)),
                ..Outcome::default()
            },
            None => Outcome::answer(failed(number)),
        }
    }

    /// The job's name service has answered a rank.
    pub(super) fn name_answered(
        &mut self,
        group: u32,
        rank: u32,
        outcome: Result<&str, &str>,
    ) -> Outcome {
        let of = self.groups.get_mut(&group);
        let outcome = of.map(|of| of.names.answered(rank, outcome));
        Outcome {
            group,
            ..outcome.unwrap_or_default()
        }
    }

    /// The pause before a look-up is tried again is over.
    pub(super) fn ask_again(&self, group: u32, rank: u32) -> Outcome {
        let of = self.groups.get(&group);
        Outcome {
            group,
            ..of.map(|of| of.names.again(rank)).unwrap_or_default()
        }
    }

    /// What a rank wanted to be started runs as the group of this name; none: it does not.
    pub(super) fn spawned(call: u64, name: Option<String>) -> Outcome {
        Outcome::answer(match name {
            Some(name_space) => PmixAnswer {
                name_space,
                ..done(call, Bytes::new())
            },
            None => failed(call),
        })
    }

    /// Whether a text of this topic has been shown; notes that one is.
    fn is_known(&mut self, topic: &str) -> bool {
        if topic.is_empty() || self.topics.contains(topic) {
            return !topic.is_empty();
        }
        if self.topics.len() < TOPICS_MAX {
            self.topics.insert(topic.to_owned());
        }
        false
    }

    /// Whether what a rank said to the user is on its way.
    pub(super) fn said(call: u64, is_said: bool) -> Outcome {
        Outcome::answer(match is_said {
            true => done(call, Bytes::new()),
            false => failed(call),
        })
    }

    /// All of a fence's ranks that are here are in it.
    fn fence(&mut self, number: u64, group: u32, mut fence: PmixFence) -> Outcome {
        // It is known by its ranks, in whatever order a program names them.
        fence.ranks.sort_unstable();
        let of =
            |open: &OpenFence| -> usize { open.later.iter().map(|(_, data)| data.len()).sum() };
        let held: usize = self.fences.values().map(of).sum();
        let held = held.saturating_add(fence.data.len());
        if held > FENCE_MAX {
            let mib = held.div_ceil(MIB);
            let most = FENCE_MAX / MIB;
            return Outcome::event(Event::Refusal(Refusal {
                sentence: format!("MPI_Init: {mib} MiB of addresses; the limit is {most} MiB"),
                exit_code: i32::from(Exit::Lost.code()),
                group: 0,
            }));
        }
        // Ranks of several groups are numbers already.
        let first = self.groups.get(&group).map_or(0, |group| group.first);
        let is_here = |rank: &u32| self.here.contains(&first.saturating_add(*rank));
        if self.alone || !fence.ranks.is_empty() && fence.ranks.iter().all(is_here) {
            return Outcome::answer(done(number, fence.data));
        }
        let name = (group, fence.ranks.clone());
        if let Some(open) = self.fences.get_mut(&name) {
            open.later.push_back((number, fence.data));
            return Outcome::default();
        }
        let open = OpenFence {
            call: number,
            data: Vec::new(),
            later: VecDeque::new(),
        };
        self.fences.insert(name, open);
        Outcome::event(told(group, fence))
    }

    /// A piece of what all containers have told in a fence.
    pub(super) fn fence_done(&mut self, piece: FenceDone) -> Outcome {
        let (group, name) = (piece.group, (piece.group, piece.ranks));
        let Some(mut open) = self.fences.remove(&name) else {
            return Outcome::default();
        };
        open.data.extend_from_slice(&piece.puts);
        if piece.more {
            self.fences.insert(name, open);
            return Outcome::default();
        }
        let answer = done(open.call, open.data.into());
        let next = open.later.pop_front().map(|(call, data)| {
            let next = OpenFence {
                call,
                data: Vec::new(),
                later: open.later,
            };
            let ranks = name.1.clone();
            self.fences.insert(name, next);
            told(group, PmixFence { ranks, data })
        });
        Outcome {
            answer: Some(answer),
            event: next,
            ..Outcome::default()
        }
    }

    /// What a rank of another container has told; none: it has not come in time.
    pub(super) fn modexed(&mut self, call: u64, told: Option<ModexAnswer>) -> Outcome {
        if !self.asked.remove(&call) {
            return Outcome::default();
        }
        Outcome::answer(match told {
            Some(told) if !told.failed => done(call, told.data),
            Some(_) | None => failed(call),
        })
    }

    /// Another container wants what a rank here has told: the number by which the server is asked.
    pub(super) fn asking(&mut self, request: ModexRequest) -> u64 {
        self.last = self.last.saturating_add(1);
        self.asking.insert(self.last, request);
        self.last
    }

    /// What the server says of it; whom it is for.
    pub(super) fn found(&mut self, told: PmixModexed) -> Option<Event> {
        let request = self.asking.remove(&told.number)?;
        Some(Event::Modexed(ModexAnswer {
            number: request.number,
            group: request.group,
            from: request.from,
            failed: told.failed,
            data: told.data,
        }))
    }

    /// A rank goes forward alone: what it has left it does not come back to.
    fn reach(&mut self, group: u32, rank: u32, stage: PmiStage) -> Vec<Effect> {
        let group = self.groups.entry(group).or_default();
        let now = group.stages.entry(rank).or_default();
        if *now >= stage {
            return Vec::new();
        }
        *now = stage;
        vec![Effect::Stage { rank, stage }]
    }
}

fn told(group: u32, fence: PmixFence) -> Event {
    Event::Fence(Fence {
        group,
        pmix: Some(fence),
        ..Fence::default()
    })
}

#[cfg(test)]
mod tests;
