//! What comes of the ranks' calls: pure, as the launcher's loop does the rest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{
    Fence, FenceDone, ModexAnswer, ModexRequest, PmixAnswer, PmixCall, PmixFence, PmixJob, PmixLog,
    PmixModexed, Refusal, pmix_call,
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
    /// The ranks of this container.
    here: BTreeSet<u32>,
    /// The job has no others.
    alone: bool,
    stages: BTreeMap<u32, PmiStage>,
    /// Fences that wait for other containers, by their ranks.
    fences: BTreeMap<Vec<u32>, OpenFence>,
    /// Calls of ranks here that wait for what a rank elsewhere has told.
    asked: BTreeSet<u64>,
    /// Who waits for what a rank here has told.
    asking: BTreeMap<u64, ModexRequest>,
    last: u64,
    /// What texts were of that ranks here have said to the user.
    topics: BTreeSet<String>,
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
    pub(super) effects: Vec<Effect>,
    /// What the server is told.
    pub(super) answer: Option<PmixAnswer>,
    /// What the ApplicationMaster is told.
    pub(super) event: Option<Event>,
    /// What a rank says to the user, by the call that is answered when it is said.
    pub(super) logged: Option<(u64, PmixLog)>,
    /// Whose look-up is to be tried again after a pause.
    pub(super) again: Option<u32>,
    /// Who wants processes to be started.
    pub(super) spawn: Option<u32>,
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
        let here = usize::try_from(job.here).ok();
        let here = here.and_then(|here| job.nodes.get(here));
        Self {
            here: here.map_or_else(BTreeSet::new, |node| node.ranks.iter().copied().collect()),
            alone: job.nodes.len() <= 1,
            ..Self::default()
        }
    }

    pub(super) fn stage(&self, rank: u32) -> PmiStage {
        self.stages.get(&rank).copied().unwrap_or_default()
    }

    /// What is to be done about a call.
    pub(super) fn on(&mut self, call: PmixCall) -> Outcome {
        let number = call.number;
        match call.call {
            Some(pmix_call::Call::Connected(rank)) => {
                Outcome::effects(number, self.reach(rank, PmiStage::Initialized))
            }
            Some(pmix_call::Call::Finalized(rank)) => {
                Outcome::effects(number, self.reach(rank, PmiStage::Finalized))
            }
            Some(pmix_call::Call::Abort(abort)) => {
                let abort = Effect::Abort {
                    rank: abort.rank,
                    exit_code: abort.status,
                    message: abort.message,
                };
                Outcome::effects(number, vec![abort])
            }
            Some(pmix_call::Call::Fence(fence)) => self.fence(number, fence),
            Some(pmix_call::Call::Modex(rank)) => {
                self.asked.insert(number);
                Outcome::event(Event::Modex(ModexRequest {
                    number,
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
            Some(pmix_call::Call::Names(names)) => self.names.ask(number, names),
            Some(pmix_call::Call::Spawn(rank)) => Outcome {
                spawn: Some(rank),
                ..Outcome::answer(done(number, Bytes::new()))
            },
            None => Outcome::answer(failed(number)),
        }
    }

    /// The job's name service has answered a rank.
    pub(super) fn name_answered(&mut self, rank: u32, outcome: Result<&str, &str>) -> Outcome {
        self.names.answered(rank, outcome)
    }

    /// The pause before a look-up is tried again is over.
    pub(super) fn ask_again(&self, rank: u32) -> Outcome {
        self.names.again(rank)
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
    fn fence(&mut self, number: u64, mut fence: PmixFence) -> Outcome {
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
        let are_here = || fence.ranks.iter().all(|rank| self.here.contains(rank));
        if self.alone || !fence.ranks.is_empty() && are_here() {
            return Outcome::answer(done(number, fence.data));
        }
        if let Some(open) = self.fences.get_mut(&fence.ranks) {
            open.later.push_back((number, fence.data));
            return Outcome::default();
        }
        let open = OpenFence {
            call: number,
            data: Vec::new(),
            later: VecDeque::new(),
        };
        self.fences.insert(fence.ranks.clone(), open);
        Outcome::event(told(fence))
    }

    /// A piece of what all containers have told in a fence.
    pub(super) fn fence_done(&mut self, piece: FenceDone) -> Outcome {
        let Some(mut open) = self.fences.remove(&piece.ranks) else {
            return Outcome::default();
        };
        open.data.extend_from_slice(&piece.puts);
        if piece.more {
            self.fences.insert(piece.ranks, open);
            return Outcome::default();
        }
        let answer = done(open.call, open.data.into());
        let next = open.later.pop_front().map(|(call, data)| {
            let ranks = piece.ranks;
            let next = OpenFence {
                call,
                data: Vec::new(),
                later: open.later,
            };
            self.fences.insert(ranks.clone(), next);
            told(PmixFence { ranks, data })
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
    fn reach(&mut self, rank: u32, stage: PmiStage) -> Vec<Effect> {
        let now = self.stages.entry(rank).or_default();
        if *now >= stage {
            return Vec::new();
        }
        *now = stage;
        vec![Effect::Stage { rank, stage }]
    }
}

fn told(fence: PmixFence) -> Event {
    Event::Fence(Fence {
        pmix: Some(fence),
        ..Fence::default()
    })
}

#[cfg(test)]
mod tests;
