//! The ranks of this container, from their start to the report of their end.
//!
//! They are forked ([`mod@fork`]), attended to ([`attend`]), and what is known of each is kept here.

mod attend;
mod fork;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use job::exit::End;
use job::wire::launcher_event::Event;
use job::wire::{OutOfMemory, PmiStage, RankEnded, WindowSize};
use pmi::{NodeServer, Stage};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use attend::Attendants;
pub(crate) use fork::{Own, fork};

use crate::nursery::Ended;
use crate::out_of_memory::Kills;
use crate::terminal;
use crate::yielding;

/// After a rank's end its last PMI lines are waited for, so that an abort is told before the end;
/// not longer, because a process it left behind may hold the socket open.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);

/// What is known of one rank.
struct Rank {
    replies: mpsc::Sender<String>,
    /// Tells the output tasks that it is gone.
    gone: CancellationToken,
    pmi_closed: bool,
    ended: Option<(Ended, Instant)>,
    /// It ended when it was to.
    stopped: bool,
    reported: bool,
    aborted: bool,
    /// Where it notes how long it waited.
    waits: Option<PathBuf>,
}

/// All ranks of the share.
pub(crate) struct Ranks {
    /// Before the first of them ran.
    kills: Kills,
    /// Number of their group's rank 0.
    first: u32,
    ranks: BTreeMap<u32, Rank>,
    /// That of rank 0.
    terminal: Option<OwnedFd>,
    /// Streams of output that they have together.
    streams: u32,
    /// Tells them whether the machine is crowded, as long as this is here.
    _crowd: Option<JoinSet<()>>,
}

impl Ranks {
    /// The terminal that rank 0 may have here has another size.
    pub(crate) fn resize(&self, size: WindowSize) {
        if let Some(terminal) = &self.terminal {
            terminal::resize(terminal, size);
        }
    }

    /// Queues an answer. False: the rank does not read its answers.
    pub(crate) fn reply(&self, rank: u32, line: String) -> bool {
        match self.ranks.get(&rank) {
            Some(state) => !matches!(
                state.replies.try_send(line),
                Err(mpsc::error::TrySendError::Full(_))
            ),
            None => true,
        }
    }

    /// Notes that a rank asked to end the job. False: it did so before.
    pub(crate) fn abort(&mut self, rank: u32) -> bool {
        self.ranks
            .get_mut(&rank)
            .is_some_and(|state| !std::mem::replace(&mut state.aborted, true))
    }

    /// Nothing more will be heard of a rank.
    pub(crate) fn closed(&mut self, rank: u32) {
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.pmi_closed = true;
        }
    }

    /// Notes who was reaped, and whether that was after the order to stop.
    pub(crate) fn ended(&mut self, ended: &[Ended], stopped: bool) {
        for &end in ended {
            if let Some(state) = self.ranks.get_mut(&end.rank) {
                state.gone.cancel();
                state.stopped = stopped;
                state.ended = Some((end, Instant::now() + LAST_WORDS_MAX));
            }
        }
    }

    /// All are gone, and it was told.
    pub(crate) fn all_reported(&self) -> bool {
        self.ranks.values().all(|state| state.reported)
    }

    /// How many still run.
    pub(crate) fn alive(&self) -> usize {
        let alive = self.ranks.values().filter(|state| state.ended.is_none());
        alive.count()
    }

    /// Streams of output that they have together, each of which ends.
    pub(crate) const fn streams(&self) -> u32 {
        self.streams
    }

    /// Their numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.ranks.keys().copied()
    }

    pub(crate) fn has(&self, rank: u32) -> bool {
        self.ranks.contains_key(&rank)
    }

    /// All are gone and reaped.
    pub(crate) fn all_ended(&self) -> bool {
        self.ranks.values().all(|state| state.ended.is_some())
    }

    /// When the next end is to be reported even if its last words are missing.
    pub(crate) fn next_report(&self) -> Option<Instant> {
        self.ranks
            .values()
            .filter(|state| !state.reported)
            .filter_map(|state| state.ended.as_ref().map(|(_, at)| *at))
            .min()
    }

    /// The reports that are due.
    pub(crate) fn reports(&mut self, node: &NodeServer) -> Vec<Event> {
        let now = Instant::now();
        let mut reports = Vec::new();
        for (&rank, state) in &mut self.ranks {
            let Some((ended, at)) = state.ended else {
                continue;
            };
            if state.reported || !(state.pmi_closed || now >= at) {
                continue;
            }
            state.reported = true;
            let stage = match node.stage(rank.saturating_sub(self.first)) {
                Stage::Silent => PmiStage::Silent,
                Stage::Initialized => PmiStage::Initialized,
                Stage::Finalized => PmiStage::Finalized,
            };
            let out_of_memory = match ended.end {
                End::Signal(9) => Kills::so_far().since(self.kills),
                _ => OutOfMemory::No,
            };
            reports.push(Event::Ended(RankEnded {
                rank,
                how: Some(ended.end.into()),
                pmi: stage.into(),
                max_rss_kib: ended.max_rss_kib,
                cpu_us: ended.cpu_us,
                out_of_memory: out_of_memory.into(),
                stopped: state.stopped,
                waiting_share: state
                    .waits
                    .as_deref()
                    .and_then(|file| yielding::waiting_share(file, ended.life)),
            }));
        }
        reports
    }
}
