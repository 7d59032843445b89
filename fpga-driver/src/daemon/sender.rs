//! The thread that brings packets to a card.

use super::lease::Lease;
use super::lines::{Flight, Lines, QueuedPacket};
use super::queue::{BoardQueue, WAKE};
use crate::board::{BoardError, READY, Register, addresses};
use crate::function::PacketShape;
use crate::packet::{Field, HEADER_LENGTH, Header};
use crate::status::Status;
use crate::work::{TooMuchWork, Work};
use rustix::event::{Timespec, epoll};
use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// Doorbells that are looked at in one go.
const AT_ONCE: usize = 64;
/// How long the sender sleeps at a time while a card is busy; interrupts wake it sooner.
const POLL: Duration = Duration::from_micros(200);
/// Buffers that are kept for the next packets.
const SPARE: usize = 3;

/// What the sender keeps for itself.
#[derive(Debug, Default)]
struct Sender {
    /// Leases whose rings may hold something, each once, in the order of their turns.
    rung: VecDeque<u64>,
    /// Private memory that was used before: it is mapped and warm.
    spare: Vec<Arc<Vec<u8>>>,
}

/// Serves a board until it is closed or off.
pub(super) fn run(queue: &BoardQueue) {
    let mut sender = Sender::default();
    while queue.is_serving() {
        let idle = queue.lines().waiting.is_empty() && sender.rung.is_empty();
        sender.listen(queue, idle);
        sender.take(queue);
        let next = queue.lines().next();
        if let Some(job) = next
            && let Err(gone) = sender.bring(queue, job)
        {
            queue.turn_off(&mut queue.lines(), &gone.to_string());
        }
    }
}

impl Sender {
    /// Notes whose doorbells were rung.
    fn listen(&mut self, queue: &BoardQueue, wait: bool) {
        let mut events = Vec::with_capacity(AT_ONCE);
        let at_once = Timespec::default();
        let timeout = if wait { None } else { Some(&at_once) };
        // A signal is no news: the loop comes back.
        epoll::wait(
            &queue.watch,
            rustix::buffer::spare_capacity(&mut events),
            timeout,
        )
        .ok();
        for event in events {
            let lease = event.data.u64();
            if lease != WAKE && !self.rung.contains(&lease) {
                self.rung.push_back(lease);
            }
        }
    }

    /// Takes what the rings hold, one packet of each in turn.
    fn take(&mut self, queue: &BoardQueue) {
        let mut lines = queue.lines();
        while let Some(id) = self.rung.pop_front() {
            let Some(lease) = lines.leases.get(&id).cloned() else {
                continue;
            };
            match lease.take() {
                Ok(None) => {}
                Ok(Some(taken)) => {
                    self.rung.push_back(id);
                    let job = QueuedPacket {
                        owner: id,
                        lease: Arc::downgrade(&lease),
                        taken,
                        data: None,
                        sent: false,
                        tries: 0,
                    };
                    lines.waiting.push(id, job);
                }
                Err(broken) => queue.expel(&lease, &broken),
            }
        }
        lines.note();
    }

    /// Brings one packet to the card, waiting until it is ready.
    fn bring(&mut self, queue: &BoardQueue, mut job: QueuedPacket) -> Result<(), BoardError> {
        let (header, shape) = match job.taken.header {
            Ok(right) => right,
            Err(field) => {
                queue.answer(&job, Status::Bad(field), 0, 0);
                return Ok(());
            }
        };
        if let Err(much) = Work::of(&shape, 0).allowed() {
            queue.answer(&job, too_much(much), 0, 0);
            return Ok(());
        }
        let data = match job.data.take() {
            Some(data) => data,
            None => {
                let Some(lease) = job.lease.upgrade().filter(|it| !it.is_over()) else {
                    return Ok(());
                };
                let data = self.copy(&lease, job.taken.number, &shape);
                if crc32c::crc32c(&data) != header.data_crc {
                    self.keep(data);
                    queue.answer(&job, Status::Bad(Field::DataCrc), 0, 0);
                    return Ok(());
                }
                data
            }
        };
        let back = match wait_until_ready(queue, &job)? {
            PacketTurn::Now(lines, slot) => place(queue, lines, slot, job, header, &shape, &data)?,
            PacketTurn::Later => Some(job),
            PacketTurn::Never => {
                // Closed, or off: the job goes with the others.
                queue.answer(&job, Status::Lost, 0, 0);
                return Ok(());
            }
        };
        if let Some(mut job) = back {
            job.data = Some(Arc::clone(&data));
            queue.lines().line_up(job);
        }
        self.keep(data);
        Ok(())
    }

    /// A private copy of a packet's data.
    fn copy(&mut self, lease: &Lease, number: u64, shape: &PacketShape) -> Arc<Vec<u8>> {
        let reusable = self
            .spare
            .iter()
            .position(|spare| Arc::strong_count(spare) == 1);
        let mut data = match reusable {
            Some(at) => self.spare.swap_remove(at),
            None => Arc::default(),
        };
        let bytes = Arc::make_mut(&mut data);
        bytes.resize(shape.data, 0);
        lease.copy_data(number, bytes);
        data
    }

    fn keep(&mut self, data: Arc<Vec<u8>>) {
        if self.spare.len() < SPARE {
            self.spare.push(data);
        }
    }
}

/// What becomes of a packet that waits for the card.
enum PacketTurn<'a> {
    /// The card takes it, into this slot.
    Now(MutexGuard<'a, Lines>, usize),
    /// The card was reset: those that it lost come first.
    Later,
    /// The board is closed, or off.
    Never,
}

/// Polls STATE until the card takes this packet.
fn wait_until_ready<'a>(
    queue: &'a BoardQueue,
    job: &QueuedPacket,
) -> Result<PacketTurn<'a>, BoardError> {
    // Since the card was first seen to be busy: a thread that is run late has not waited for it.
    let mut busy_since = None;
    loop {
        let mut lines = queue.lines();
        if lines.closing || lines.is_off() {
            return Ok(PacketTurn::Never);
        }
        if lines.recovering {
            drop(lines);
            std::thread::park_timeout(POLL);
            continue;
        }
        if job.tries == 0 && lines.waiting.has_lost() {
            return Ok(PacketTurn::Later);
        }
        // Where no slot is free the receiver knows how long the card may be silent.
        if let Some(slot) = lines.slot_for(job) {
            if queue.board.read(Register::State)? == READY {
                return Ok(PacketTurn::Now(lines, slot));
            }
            let since = *busy_since.get_or_insert_with(Instant::now);
            let still_since = lines.progress.map_or(since, |at| at.max(since));
            if still_since.elapsed() > queue.patience && !lines.stuck {
                lines.stuck = true;
                lines.receiver_sleeps = false;
                queue.board.wake();
            }
        }
        drop(lines);
        std::thread::park_timeout(POLL);
    }
}

/// Places a packet and rings the card; gives it back where the card was reset meanwhile.
fn place(
    queue: &BoardQueue,
    mut lines: MutexGuard<'_, Lines>,
    slot: usize,
    mut job: QueuedPacket,
    header: Header,
    shape: &PacketShape,
    data: &Arc<Vec<u8>>,
) -> Result<Option<QueuedPacket>, BoardError> {
    let Some(lease) = job.lease.upgrade().filter(|it| !it.is_over()) else {
        return Ok(None);
    };
    let generation = lines.generation;
    let mut model = 0;
    if header.model != 0 {
        let table = lines.table(lease.id, header.model, shape);
        let refused = match table {
            None => Some(Status::NoModel),
            Some(table) => {
                model = table.name;
                lines.work_of(&job).allowed().err().map(too_much)
            }
        };
        if let Some(refused) = refused {
            drop(lines);
            queue.answer(&job, refused, 0, 0);
            return Ok(None);
        }
    }
    let number = lines.number();
    let steps = lines.work_of(&job).steps();
    drop(lines);

    let at = addresses(slot);
    let on_card = Header {
        sequence: number.into(),
        data_address: at.data,
        result_address: at.result,
        result_capacity: shape.result as u64,
        model,
        ..header
    };
    queue.board.place(slot, &on_card.encode(), data)?;

    let mut lines = queue.lines();
    if lines.generation != generation || lines.is_off() {
        return Ok(Some(job));
    }
    job.data = Some(Arc::clone(data));
    job.tries += 1;
    lines.in_flight.push_back(Flight {
        job,
        arrived: false,
        shape: *shape,
        steps,
        slot,
        number,
    });
    lines.note();
    if std::mem::take(&mut lines.receiver_sleeps) {
        queue.board.wake();
    }
    let [low, high] = halves(at.header);
    queue.board.write(Register::HeaderAddress, low)?;
    queue.board.write(Register::HeaderAddressHigh, high)?;
    let length = u32::try_from(HEADER_LENGTH).unwrap_or(0);
    queue.board.write(Register::HeaderLength, length)?;
    queue.board.write(Register::Doorbell, 1)?;
    // From now on the card owes something, however late this thread was run; the receiver cannot look
    // before the lock is free.
    if lines.in_flight.len() == 1 {
        lines.progress = Some(Instant::now());
    }
    Ok(None)
}

fn too_much(much: TooMuchWork) -> Status {
    Status::TooMuchWork(much.millions())
}

fn halves(address: u64) -> [u32; 2] {
    let bytes = address.to_le_bytes();
    [0, 4].map(|start| u32::from_le_bytes(std::array::from_fn(|i| bytes[start + i])))
}
