//! What the two threads of a board share: packets on their way, and what the card has.

use super::board_times::BoardTimes;
use super::lease::{Lease, TakenPacket};
use super::recovery::TRIES;
use super::rounds::Rounds;
use crate::board::SLOTS;
use crate::function::{PacketShape, TABLES_PER_LEASE};
use crate::packet::HEADER_LENGTH;
use crate::work::Work;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// A packet on its way.
#[derive(Debug)]
pub(super) struct QueuedPacket {
    /// Number of its lease.
    pub(super) owner: u64,
    pub(super) lease: Weak<Lease>,
    pub(super) taken: TakenPacket,
    /// The copy of its data, once it was made and found right.
    pub(super) data: Option<Arc<Vec<u8>>>,
    /// Its input block was given back.
    pub(super) sent: bool,
    pub(super) tries: u32,
}

/// A packet on the card.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) job: QueuedPacket,
    pub(super) shape: PacketShape,
    pub(super) steps: u64,
    pub(super) slot: usize,
    /// What the card calls it: a number of this try alone.
    pub(super) number: u32,
    /// *Sent* came.
    pub(super) arrived: bool,
}

/// A table that a lease has loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadedTable {
    pub(super) owner: u64,
    model: u64,
    /// The card's name of it.
    pub(super) name: u64,
    pub(super) classes: usize,
}

/// What the queue's two threads share.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) waiting: Rounds<QueuedPacket>,
    pub(super) in_flight: VecDeque<Flight>,
    pub(super) leases: BTreeMap<u64, Arc<Lease>>,
    /// The tables that leases have loaded, oldest first.
    pub(super) tables: Vec<LoadedTable>,
    next_table: u64,
    next_number: u32,
    /// Counts resets.
    pub(super) generation: u64,
    /// The card is being reset: nothing is placed on it.
    pub(super) recovering: bool,
    /// Leases that lost a packet for good since the card last answered one.
    pub(super) lost_by: BTreeSet<u64>,
    /// When the card last did something, or was first given something to do.
    pub(super) progress: Option<Instant>,
    /// The receiver waits without end; whoever sends wakes it.
    pub(super) receiver_sleeps: bool,
    /// The sender found STATE busy for too long.
    pub(super) stuck: bool,
    pub(super) times: BoardTimes,
    pub(super) packets: u64,
    pub(super) resets: u64,
    pub(super) last_reset: Option<String>,
    pub(super) off: Option<String>,
    pub(super) closing: bool,
}

impl Lines {
    /// A slot of the card for this packet.
    ///
    /// A packet that the card lost once flies alone: what befalls another cannot cost it its last try.
    /// And the card holds no more work at a time than one packet may ask for.
    pub(super) fn slot_for(&self, job: &QueuedPacket) -> Option<usize> {
        let alone = job.tries > 0 || self.in_flight.iter().any(|it| it.job.tries >= TRIES);
        if alone && !self.in_flight.is_empty() {
            return None;
        }
        let on_card: u64 = self.in_flight.iter().map(|it| it.steps).sum();
        if !self.work_of(job).fits_beside(on_card) {
            return None;
        }
        (0..SLOTS).find(|slot| self.in_flight.iter().all(|it| it.slot != *slot))
    }

    /// The packet whose turn it is.
    pub(super) fn next(&mut self) -> Option<QueuedPacket> {
        let tables = &self.tables;
        self.waiting.next(|job| board_time(tables, job))
    }

    /// What a packet asks for, with the classes of the table that it names.
    pub(super) fn work_of(&self, job: &QueuedPacket) -> Work {
        work(&self.tables, job)
    }

    /// Lines up a packet that did not fly because the card was reset: behind those that it lost.
    pub(super) fn line_up(&mut self, job: QueuedPacket) {
        if job.tries > 0 {
            self.waiting.lost_after(job.owner, job);
        } else if self.leases.contains_key(&job.owner) {
            self.waiting.give_back(job.owner, job);
        }
    }

    pub(super) fn is_off(&self) -> bool {
        self.off.is_some()
    }

    /// A number for one try of one packet.
    pub(super) fn number(&mut self) -> u32 {
        self.next_number = self.next_number.wrapping_add(1);
        self.next_number
    }

    /// Brings the board's times up, where packets have come or gone.
    pub(super) fn note(&mut self) {
        let (waiting, on_card) = (!self.waiting.is_empty(), !self.in_flight.is_empty());
        self.times.note(Instant::now(), waiting, on_card);
    }

    /// Counts an answer of the card.
    pub(super) fn count(&mut self) {
        self.packets += 1;
        self.lost_by.clear();
    }

    /// A lease's table; a new one where the packet loads it.
    ///
    /// Cards name tables by numbers that are never used twice, so that one lease can neither use nor
    /// replace what another has loaded.
    pub(super) fn table(
        &mut self,
        owner: u64,
        model: u64,
        shape: &PacketShape,
    ) -> Option<LoadedTable> {
        let known = self
            .tables
            .iter()
            .position(|it| (it.owner, it.model) == (owner, model));
        if !shape.load {
            return known.map(|at| self.tables[at]);
        }
        if let Some(at) = known {
            self.tables.remove(at);
        } else if self.tables.iter().filter(|it| it.owner == owner).count() >= TABLES_PER_LEASE
            && let Some(oldest) = self.tables.iter().position(|it| it.owner == owner)
        {
            self.tables.remove(oldest);
        }
        self.next_table += 1;
        let table = LoadedTable {
            owner,
            model,
            name: self.next_table,
            classes: shape.k,
        };
        self.tables.push(table);
        Some(table)
    }
}

fn work(tables: &[LoadedTable], job: &QueuedPacket) -> Work {
    let Ok((_, shape)) = &job.taken.header else {
        return Work::Bytes;
    };
    let table = tables
        .iter()
        .find(|it| (it.owner, it.model) == (job.owner, shape.model));
    Work::of(shape, table.map_or(0, |it| it.classes))
}

/// What a packet's turn costs its lease: its steps, and no less than a step for each byte that goes to the
/// card or comes back.  A packet that asks for too much work never gets there.
fn board_time(tables: &[LoadedTable], job: &QueuedPacket) -> u64 {
    let bytes = job
        .taken
        .header
        .as_ref()
        .map_or(0, |(_, shape)| shape.data.saturating_add(shape.result));
    let bytes = u64::try_from(HEADER_LENGTH.saturating_add(bytes)).unwrap_or(u64::MAX);
    let work = work(tables, job);
    match work.allowed() {
        Ok(()) => work.steps().max(bytes),
        Err(_) => bytes,
    }
}
