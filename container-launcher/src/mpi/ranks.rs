//! The ranks of this container, from their start to the report of their end.
//!
//! They are forked ([`mod@fork`]) and attended to ([`attend`]). A rank is a process and a peer of the process
//! manager, and each of the two is kept by itself.

mod attend;
mod fork;
mod yields;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use job::wire::mpi_event::Event;
use job::wire::{self, PmixText, RankEnded, Stream, WindowSize};
use pmi::PmiStage;
use prost::bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub(super) use attend::Attendants;
pub(super) use fork::fork;

use super::peer::RankSocket;
use super::yielding;
use crate::process::Processes;
use crate::terminal;

/// All ranks of the share, by their numbers in the job.
pub(crate) struct Ranks {
    pub(crate) processes: Processes,
    peers: BTreeMap<u32, RankSocket>,
    /// What others say on the streams of ranks that a server beside this process serves.
    said: BTreeMap<(u32, Stream), mpsc::Sender<Bytes>>,
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
        self.peers.get(&rank).is_none_or(|peer| peer.reply(line))
    }

    /// Says something on a rank's own streams, which a terminal has as one. False: not all of it, as its streams are
    /// over or are behind.
    pub(crate) fn say(&self, rank: u32, texts: Vec<PmixText>) -> bool {
        let mut all = true;
        for text in texts {
            let own = self.said.get(&(rank, text.stream()));
            let stream = own.or_else(|| self.said.get(&(rank, Stream::Stdout)));
            all &= stream.is_some_and(|stream| stream.try_send(text.text.into()).is_ok());
        }
        all
    }

    /// Notes that a rank asked to end the job. False: it did so before.
    pub(crate) fn abort(&mut self, rank: u32) -> bool {
        self.peers.get_mut(&rank).is_some_and(RankSocket::abort)
    }

    /// Nothing more will be heard of a rank.
    pub(crate) fn closed(&mut self, rank: u32) {
        if let Some(peer) = self.peers.get_mut(&rank) {
            peer.close();
        }
    }

    /// Streams of output that they have together, each of which ends.
    pub(crate) const fn streams(&self) -> u32 {
        self.streams
    }

    /// The reports that are due; `stage` says how far the process of a number got.
    pub(crate) fn reports(&mut self, stage: impl Fn(u32) -> PmiStage) -> Vec<Event> {
        let peers = &self.peers;
        let is_closed = |rank: u32| peers.get(&rank).is_none_or(RankSocket::is_closed);
        let due = self.processes.reports(is_closed).into_iter();
        let told = due.map(|due| {
            let stage = match stage(due.number) {
                PmiStage::Silent => wire::PmiStage::Silent,
                PmiStage::Initialized => wire::PmiStage::Initialized,
                PmiStage::Finalized => wire::PmiStage::Finalized,
            };
            let ended = due.ended;
            Event::Ended(RankEnded {
                rank: due.number,
                how: Some(ended.end.into()),
                pmi: stage.into(),
                max_rss_kib: ended.max_rss_kib,
                cpu_us: ended.cpu_us,
                out_of_memory: due.out_of_memory.into(),
                stopped: due.stopped,
                waiting_share: peers
                    .get(&due.number)
                    .and_then(RankSocket::waits)
                    .and_then(|file| yielding::waiting_share(file, ended.life)),
            })
        });
        told.collect()
    }
}
