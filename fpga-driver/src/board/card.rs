//! A card whose functions an [`Engine`] computes: registers, DMA, queue, interrupts and their faults.
//!
//! The thread that rings the doorbell pulls the packet, the thread that waits for interrupts computes
//! it: a modelled card has no threads of its own, and costs nothing while it has nothing to do.

use super::fault::{Fault, FaultOrder};
use super::{
    Addresses, BUSY, Board, BoardError, ID, READY, RESET, RESULT, Register, SENT, VERSION,
    addresses, error, slot_of,
};
use crate::function::{self, Function, PacketShape};
use crate::packet::{HEADER_LENGTH, Header};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Packets that a card holds: one on the link, one in its memory, one whose result is presented.
const DEPTH: usize = 3;
/// Tables that a card keeps; the one longest unused makes room for another.
const TABLES: usize = 32;

/// What a card computes with.
pub trait Engine: Send + std::fmt::Debug {
    /// Bits of the functions ([`Function::bit`]).
    fn functions(&self) -> u32;

    /// Computes one packet; `table` is the loaded table of the model that it names.
    ///
    /// # Errors
    ///
    /// A code of [`error`].
    fn run(
        &mut self,
        shape: &PacketShape,
        data: &[u8],
        table: Option<&CardTable>,
    ) -> Result<EngineAnswer, u32>;
}

/// What an engine says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineAnswer {
    /// The result.
    pub result: Vec<u8>,
    /// Cycles that it took.
    pub cycles: u64,
}

/// A table that the card keeps.
#[derive(Debug, Clone)]
pub struct CardTable {
    /// What the packet said that loaded it.
    pub shape: PacketShape,
    /// That packet's data.
    pub data: Arc<Vec<u8>>,
}

/// How long things take on a modelled card; zeros cost no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardTiming {
    /// Rate of the link in each direction, MB/s; 0: as fast as memory.
    pub link_mb_s: u64,
    /// Clock of the core; 0: as fast as this machine.
    pub clock_mhz: u64,
    /// What every packet costs besides, ns.
    pub ns: u64,
    /// How late a late interrupt is, ms.
    pub late_ms: u64,
}

impl CardTiming {
    fn link(&self, bytes: usize) -> Duration {
        (bytes as u64 * 1000)
            .checked_div(self.link_mb_s)
            .map_or(Duration::ZERO, Duration::from_nanos)
    }

    fn core(&self, cycles: u64) -> Duration {
        (cycles.saturating_mul(1000))
            .checked_div(self.clock_mhz)
            .map_or(Duration::ZERO, Duration::from_nanos)
    }
}

/// A modelled card.
#[derive(Debug)]
pub struct Card {
    timing: CardTiming,
    orders: Vec<FaultOrder>,
    functions: u32,
    engine: Mutex<Box<dyn Engine>>,
    state: Mutex<CardState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct CardState {
    irq: u32,
    result_length: u32,
    result_crc: u32,
    result_sequence: u32,
    error: u32,
    cycles: u32,
    model: u64,
    header_address: u64,
    header_length: u32,
    placed: [Option<PlacedSlot>; super::SLOTS],
    /// Doorbells since the card was made.
    rung: u64,
    /// Counts resets, so that what was computed meanwhile is dropped.
    generation: u64,
    stuck: bool,
    woken: bool,
    received: VecDeque<Received>,
    computing: bool,
    computed: Option<Computed>,
    presented: Option<Arc<Vec<u8>>>,
    /// When *sent* is to be raised, and for which packet.
    sent: VecDeque<(Instant, u64)>,
    /// Interrupts that were held back.
    late: Vec<Instant>,
    tables: Vec<(u64, CardTable)>,
    link_free: Option<Instant>,
    core_free: Option<Instant>,
}

/// What a driver made reachable in a slot.
#[derive(Debug, Clone)]
struct PlacedSlot {
    header: [u8; HEADER_LENGTH],
    data: Arc<Vec<u8>>,
}

#[derive(Debug)]
struct Received {
    number: u64,
    arrived: Instant,
    header: Result<(Header, PacketShape), u32>,
    data: Arc<Vec<u8>>,
}

#[derive(Debug)]
struct Computed {
    number: u64,
    sequence: u32,
    /// Of the true result: what a card writes wrong it has computed right.
    crc: u32,
    at: Instant,
    error: u32,
    cycles: u64,
    result: Arc<Vec<u8>>,
}

impl Card {
    /// A card with this engine.
    pub fn new(engine: Box<dyn Engine>, timing: CardTiming, orders: Vec<FaultOrder>) -> Self {
        Self {
            timing,
            orders,
            functions: engine.functions(),
            engine: Mutex::new(engine),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, CardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ordered(&self, fault: Fault, packet: u64) -> bool {
        self.orders
            .iter()
            .any(|order| order.fault == fault && order.befalls(packet))
    }

    /// The first stage: pulls header and data.
    fn doorbell(&self) {
        let mut state = self.state();
        if state.stuck || state.held() >= DEPTH {
            return;
        }
        let number = state.rung;
        state.rung += 1;
        if self.ordered(Fault::Stuck, number) {
            state.stuck = true;
        }
        if self.ordered(Fault::Reset, number) {
            state.reset();
            return;
        }
        let header = slot_of(state.header_address)
            .filter(|_| usize::try_from(state.header_length).is_ok_and(|it| it == HEADER_LENGTH))
            .and_then(|slot| Some((slot, state.placed[slot].clone()?)));
        let Some((slot, PlacedSlot { header, mut data })) = header else {
            // A card that is sent to where nothing is reads nothing, and says nothing.
            return;
        };
        if self.ordered(Fault::FlipData, number) && !data.is_empty() {
            let mut flipped = data.to_vec();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 0x10;
            data = Arc::new(flipped);
        }
        let now = Instant::now();
        let start = state.link_free.map_or(now, |free| free.max(now));
        let arrived = start
            + self.timing.link(HEADER_LENGTH + data.len())
            + Duration::from_nanos(self.timing.ns);
        state.link_free = Some(arrived);
        state.sent.push_back((arrived, number));
        state.received.push_back(Received {
            number,
            arrived,
            header: understand(&header, addresses(slot), &data),
            data,
        });
        self.changed.notify_all();
    }

    /// The second stage: computes what has arrived, outside the lock.
    fn compute<'a>(&'a self, mut state: MutexGuard<'a, CardState>) -> MutexGuard<'a, CardState> {
        let Some(packet) = state.received.pop_front() else {
            return state;
        };
        state.computing = true;
        let generation = state.generation;
        let table = match &packet.header {
            Ok((header, shape)) if !shape.load => state.table(header.model),
            _ => None,
        };
        drop(state);

        let answer = self.answer(&packet, table.as_ref());

        let mut state = self.state();
        if state.generation != generation {
            return state;
        }
        state.computing = false;
        let (error, cycles, mut result) = match answer {
            Ok((result, cycles)) => (error::NONE, cycles, result),
            Err(error) => (error, 0, Arc::default()),
        };
        if let Ok((header, shape)) = &packet.header
            && error == error::NONE
            && shape.load
        {
            let table = CardTable {
                shape: *shape,
                data: Arc::clone(&packet.data),
            };
            state.keep(header.model, table);
        }
        let crc = crc32c::crc32c(&result);
        if self.ordered(Fault::FlipResult, packet.number) && !result.is_empty() {
            let mut flipped = result.to_vec();
            flipped[0] ^= 1;
            result = Arc::new(flipped);
        }
        let start = state
            .core_free
            .map_or(packet.arrived, |free| free.max(packet.arrived));
        let done = start + self.timing.core(cycles);
        state.core_free = Some(done);
        state.computed = Some(Computed {
            number: packet.number,
            sequence: packet
                .header
                .map_or(0, |(header, _)| halves(header.sequence)[0]),
            crc,
            at: done + self.timing.link(result.len()),
            error,
            cycles,
            result,
        });
        state
    }

    fn answer(
        &self,
        packet: &Received,
        table: Option<&CardTable>,
    ) -> Result<(Arc<Vec<u8>>, u64), u32> {
        let (header, shape) = packet.header?;
        if crc32c::crc32c(&packet.data) != header.data_crc {
            return Err(error::DATA_CRC);
        }
        if self.functions & shape.function.bit() == 0 {
            return Err(error::HEADER);
        }
        if shape.load {
            return Ok((Arc::default(), packet.data.len() as u64 / 4));
        }
        if shape.function == Function::Echo {
            // On a card the same memory would be written out.
            return Ok((Arc::clone(&packet.data), 0));
        }
        if shape.function == Function::BayesMap && table.is_none() {
            return Err(error::NO_MODEL);
        }
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = engine.run(&shape, &packet.data, table)?;
        Ok((Arc::new(answer.result), answer.cycles))
    }

    /// Raises the interrupt of this packet's event, if it comes at all; true where it comes now.
    fn raise(&self, state: &mut CardState, bit: u32, packet: u64, now: Instant) -> bool {
        state.irq |= bit;
        let (late, lost) = if bit == SENT {
            (Fault::LateSent, Fault::LostSent)
        } else {
            (Fault::LateResult, Fault::LostResult)
        };
        if self.ordered(late, packet) {
            state
                .late
                .push(now + Duration::from_millis(self.timing.late_ms));
            return false;
        }
        !self.ordered(lost, packet)
    }

    fn present(&self, state: &mut CardState, now: Instant) -> bool {
        let Some(computed) = state.computed.take() else {
            return false;
        };
        let mut length = u32::try_from(computed.result.len()).unwrap_or(u32::MAX);
        if self.ordered(Fault::WrongLength, computed.number) {
            length = length.wrapping_sub(1);
        }
        state.result_length = length;
        state.result_crc = computed.crc;
        state.result_sequence = computed.sequence;
        state.error = computed.error;
        state.cycles = u32::try_from(computed.cycles).unwrap_or(u32::MAX);
        state.presented = Some(computed.result);
        self.raise(state, RESULT, computed.number, now)
    }
}

/// Reads a header as a card does; the error is a code of [`error`].
fn understand(
    header: &[u8; HEADER_LENGTH],
    at: Addresses,
    data: &[u8],
) -> Result<(Header, PacketShape), u32> {
    let header = Header::decode(header).map_err(|_field| error::HEADER)?;
    let shape = function::shape(&header).map_err(|_field| error::HEADER)?;
    if header.data_address != at.data
        || header.result_address != at.result
        || shape.data != data.len()
    {
        return Err(error::HEADER);
    }
    Ok((header, shape))
}

impl CardState {
    fn held(&self) -> usize {
        self.received.len() + usize::from(self.computing) + usize::from(self.computed.is_some())
    }

    fn reset(&mut self) {
        let late = std::mem::take(&mut self.late);
        *self = Self {
            rung: self.rung,
            generation: self.generation + 1,
            late,
            // Whoever waits on this side was woken, whatever the card forgot.
            woken: self.woken,
            ..Self::default()
        };
    }

    fn table(&mut self, model: u64) -> Option<CardTable> {
        let at = self.tables.iter().position(|(name, _)| *name == model)?;
        let entry = self.tables.remove(at);
        let table = entry.1.clone();
        self.tables.push(entry);
        self.model = model;
        Some(table)
    }

    fn keep(&mut self, model: u64, table: CardTable) {
        self.tables.retain(|(name, _)| *name != model);
        if self.tables.len() == TABLES {
            self.tables.remove(0);
        }
        self.tables.push((model, table));
        self.model = model;
    }

    /// When something happens by itself next.
    fn next(&self) -> Option<Instant> {
        let sent = self.sent.front().filter(|_| self.irq & SENT == 0);
        let computed = self.computed.as_ref().filter(|_| self.irq & RESULT == 0);
        let received = self.received.front().filter(|_| self.computed.is_none());
        [
            sent.map(|(at, _)| *at),
            computed.map(|it| it.at),
            received.map(|it| it.arrived),
            self.late.iter().min().copied(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Board for Card {
    fn read(&self, register: Register) -> Result<u32, BoardError> {
        let state = self.state();
        let [low, high] = halves(state.model);
        Ok(match register {
            Register::Id => ID,
            Register::Version => VERSION,
            Register::Functions => self.functions,
            Register::State if state.stuck || state.held() >= DEPTH => BUSY,
            Register::State => READY,
            Register::Irq => state.irq,
            Register::ResultLength => state.result_length,
            Register::Error => state.error,
            Register::Model => low,
            Register::ModelHigh => high,
            Register::Cycles => state.cycles,
            Register::ResultCrc => state.result_crc,
            Register::ResultSequence => state.result_sequence,
            Register::HeaderLength => state.header_length,
            Register::HeaderAddress => halves(state.header_address)[0],
            Register::HeaderAddressHigh => halves(state.header_address)[1],
            Register::Command | Register::Doorbell | Register::Acknowledge => 0,
        })
    }

    fn write(&self, register: Register, value: u32) -> Result<(), BoardError> {
        match register {
            Register::HeaderAddress => {
                let mut state = self.state();
                state.header_address = join(value, halves(state.header_address)[1]);
            }
            Register::HeaderAddressHigh => {
                let mut state = self.state();
                state.header_address = join(halves(state.header_address)[0], value);
            }
            Register::HeaderLength => self.state().header_length = value,
            Register::Doorbell => self.doorbell(),
            Register::Command if value == RESET => self.state().reset(),
            Register::Acknowledge => {
                let mut state = self.state();
                state.irq &= !value;
                if value & RESULT != 0 {
                    state.presented = None;
                }
                self.changed.notify_all();
            }
            _ => {}
        }
        Ok(())
    }

    fn wait(&self, until: Option<Instant>) -> Result<bool, BoardError> {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            if std::mem::take(&mut state.woken) {
                return Ok(false);
            }
            if let Some(&(at, packet)) = state.sent.front()
                && state.irq & SENT == 0
                && at <= now
            {
                state.sent.pop_front();
                if self.raise(&mut state, SENT, packet, now) {
                    return Ok(true);
                }
                continue;
            }
            if state.irq & RESULT == 0 && state.computed.as_ref().is_some_and(|it| it.at <= now) {
                if self.present(&mut state, now) {
                    return Ok(true);
                }
                continue;
            }
            if let Some(due) = state.late.iter().position(|&at| at <= now) {
                state.late.swap_remove(due);
                return Ok(true);
            }
            if state.computed.is_none()
                && !state.computing
                && state.received.front().is_some_and(|it| it.arrived <= now)
            {
                state = self.compute(state);
                continue;
            }
            let next = match (state.next(), until) {
                (Some(next), Some(until)) => Some(next.min(until)),
                (next, until) => next.or(until),
            };
            state = match next {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(next) if next <= now => return Ok(false),
                Some(next) => {
                    self.changed
                        .wait_timeout(state, next - now)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    fn wake(&self) {
        self.state().woken = true;
        self.changed.notify_all();
    }

    fn place(
        &self,
        slot: usize,
        header: &[u8; HEADER_LENGTH],
        data: &Arc<Vec<u8>>,
    ) -> Result<(), BoardError> {
        if let Some(place) = self.state().placed.get_mut(slot) {
            *place = Some(PlacedSlot {
                header: *header,
                data: Arc::clone(data),
            });
        }
        Ok(())
    }

    fn collect(
        &self,
        slot: usize,
        length: usize,
        into: &mut dyn FnMut(&[u8]),
    ) -> Result<(), BoardError> {
        let presented = {
            let mut state = self.state();
            if let Some(place) = state.placed.get_mut(slot) {
                *place = None;
            }
            state.presented.take()
        };
        if let Some(bytes) = presented.as_deref().and_then(|result| result.get(..length)) {
            into(bytes);
        }
        Ok(())
    }
}

fn halves(value: u64) -> [u32; 2] {
    let bytes = value.to_le_bytes();
    [0, 4].map(|start| u32::from_le_bytes(std::array::from_fn(|i| bytes[start + i])))
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
