//! The driver's half of a lease: what it takes from the input ring and puts into the output ring.
//!
//! Everything in the shared memory may be changed by its holder at any time.  What the driver has to
//! know for itself it keeps here: which blocks are its own, and the headers as it read them.  Each word
//! and each byte that decides something is read once, into private memory, and judged there.

use crate::function::{self, Function, PacketShape};
use crate::packet::{Field, HEADER_LENGTH, Header};
use crate::ring::layout::Control;
use crate::ring::{
    Geometry, InputBlockState, MemoryError, OutputBlockState, PacketVerdict, SharedMemory,
};
use crate::status::Status;
use crate::wire::LeaseRow;
use rustix::event::EventfdFlags;
use rustix::pipe::PipeFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Who holds a lease.
#[derive(Debug, Clone)]
pub struct Holder {
    /// What it calls itself.
    pub name: String,
    /// Process, as the kernel says.
    pub pid: i32,
    /// User, as the kernel says.
    pub uid: u32,
}

/// A virtual device in somebody's hands.
#[derive(Debug)]
pub struct Lease {
    /// Number of the lease, never used again.
    pub id: u64,
    /// What the virtual device computes.
    pub function: Function,
    holder: Holder,
    geometry: Geometry,
    memory: SharedMemory,
    /// The client rings it.  It is watched by edges and never read: who holds it can make it blocking.
    doorbell: OwnedFd,
    /// What wakes the client: a pipe's end to write to, which the client never gets.  An eventfd has one
    /// end, and one set of flags for all who hold it: a client that cleared `O_NONBLOCK` and filled the
    /// counter would make this side wait for ever.  The flags of this end are this process's alone.
    bell: OwnedFd,
    bell_of_client: OwnedFd,
    ended: AtomicBool,
    mirror: Mutex<Mirror>,
    since: Instant,
    packets: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

/// What of the rings is the driver's now.
#[derive(Debug)]
struct Mirror {
    /// Packets taken so far.
    taken: u64,
    /// The header of each input block that is being sent.
    sending: Vec<Option<[u8; HEADER_LENGTH]>>,
    /// The output blocks that are reserved.
    reserved: Vec<bool>,
}

/// A packet that was taken from a ring.
#[derive(Debug)]
pub struct TakenPacket {
    /// Number in its lease.
    pub number: u64,
    /// The header and what it asks for, or the field that is wrong.
    pub header: Result<(Header, PacketShape), Field>,
}

/// Why a lease must end: its holder broke the rules of the rings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the holder of lease {lease} broke the rules of its rings: {what}")]
pub struct Broken {
    lease: u64,
    what: String,
}

impl Lease {
    /// A lease with new rings.
    ///
    /// # Errors
    ///
    /// No descriptors or no memory are left.
    pub fn new(
        id: u64,
        function: Function,
        holder: Holder,
        geometry: Geometry,
    ) -> Result<Self, MemoryError> {
        let none = |source| MemoryError::None {
            length: geometry.length(),
            source,
        };
        let memory = SharedMemory::create(geometry.length())?;
        Control(&memory).describe(geometry);
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let doorbell = rustix::event::eventfd(0, flags).map_err(none)?;
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (bell_of_client, bell) = rustix::pipe::pipe_with(flags).map_err(none)?;
        Ok(Self {
            id,
            function,
            holder,
            geometry,
            memory,
            doorbell,
            bell,
            bell_of_client,
            ended: AtomicBool::new(false),
            mirror: Mutex::new(Mirror {
                taken: 0,
                sending: vec![None; geometry.blocks],
                reserved: vec![false; geometry.blocks],
            }),
            since: Instant::now(),
            packets: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
        })
    }

    /// What is sent to the client: memory, doorbell, and the end to be woken by.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        [
            self.memory.file(),
            self.doorbell.as_fd(),
            self.bell_of_client.as_fd(),
        ]
    }

    /// What the client rings.
    pub fn doorbell(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }

    /// Sizes of the rings.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The row of the map.
    pub fn row(&self) -> LeaseRow {
        let taken = self.mirror().taken;
        let packets = self.packets.load(Ordering::Relaxed);
        LeaseRow {
            lease: self.id,
            pid: self.holder.pid,
            uid: self.holder.uid,
            holder: self.holder.name.clone(),
            packets,
            bytes_in: self.bytes_in.load(Ordering::Relaxed),
            bytes_out: self.bytes_out.load(Ordering::Relaxed),
            age_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            queued: taken.saturating_sub(packets),
        }
    }

    /// Whether the lease is over.
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Ends it: nothing is taken from or put into its rings any more.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.control().end();
        self.ring();
    }

    /// Takes the next packet, if there is one and a block for its result is free.
    ///
    /// # Errors
    ///
    /// A state that only a broken client writes.
    pub fn take(&self) -> Result<Option<TakenPacket>, Broken> {
        let mut mirror = self.mirror();
        let control = self.control();
        let number = mirror.taken;
        let index = self.geometry.index(number);
        if self.is_over() || mirror.sending[index].is_some() {
            return Ok(None);
        }
        let state = control.input(index);
        if state == InputBlockState::Free as u32 || state == InputBlockState::Filling as u32 {
            return Ok(None);
        }
        if !control.move_input(index, InputBlockState::Queued, InputBlockState::Sending) {
            return Err(self.broken(format!("input block {index} has state {state}")));
        }
        if !self.reserve(&mirror, index)? {
            // Whoever frees the block rings, and the packet is found again.
            if !control.move_input(index, InputBlockState::Sending, InputBlockState::Queued) {
                return Err(self.broken(format!("input block {index} was changed")));
            }
            return Ok(None);
        }
        let bytes = control.header(index);
        mirror.sending[index] = Some(bytes);
        mirror.reserved[index] = true;
        mirror.taken += 1;
        Ok(Some(TakenPacket {
            number,
            header: self.judge(&bytes, number, index),
        }))
    }

    fn reserve(&self, mirror: &Mirror, index: usize) -> Result<bool, Broken> {
        let control = self.control();
        let reserve = || {
            !mirror.reserved[index]
                && control.move_output(index, OutputBlockState::Free, OutputBlockState::Reserved)
        };
        if reserve() {
            if control.starved() {
                control.set_starved(false);
            }
            return Ok(true);
        }
        control.set_starved(true);
        // It may have been freed before it was known that somebody waits.
        if reserve() {
            control.set_starved(false);
            return Ok(true);
        }
        let state = control.output(index);
        let known = [
            OutputBlockState::Free,
            OutputBlockState::Ready,
            OutputBlockState::Reading,
        ]
        .into_iter()
        .any(|known| known as u32 == state);
        if known || mirror.reserved[index] {
            Ok(false)
        } else {
            Err(self.broken(format!("output block {index} has state {state}")))
        }
    }

    fn judge(
        &self,
        bytes: &[u8; HEADER_LENGTH],
        number: u64,
        index: usize,
    ) -> Result<(Header, PacketShape), Field> {
        let header = Header::decode(bytes)?;
        let wrong = [
            (header.function == self.function.number(), Field::Function),
            (header.sequence == number, Field::Sequence),
            (
                header.data_address == self.geometry.input(index) as u64,
                Field::DataAddress,
            ),
            (
                header.data_length <= self.geometry.block as u64,
                Field::DataLength,
            ),
            (
                header.result_address == self.geometry.output(index) as u64,
                Field::ResultAddress,
            ),
            (
                header.result_capacity <= self.geometry.block as u64,
                Field::ResultCapacity,
            ),
        ]
        .into_iter()
        .find(|(right, _)| !right);
        match wrong {
            Some((_, field)) => Err(field),
            None => Ok((header, function::shape(&header)?)),
        }
    }

    /// Copies a packet's data, once.
    pub fn copy_data(&self, number: u64, into: &mut [u8]) {
        let index = self.geometry.index(number);
        self.memory.read(self.geometry.input(index), into);
        self.bytes_in
            .fetch_add(into.len() as u64, Ordering::Relaxed);
    }

    /// *Send done*: the input block is the client's again.
    ///
    /// # Errors
    ///
    /// The header or the block's state was changed meanwhile.
    pub fn sent(&self, number: u64) -> Result<(), Broken> {
        let index = self.geometry.index(number);
        let mut mirror = self.mirror();
        let Some(header) = mirror.sending[index].take() else {
            return Ok(());
        };
        if self.is_over() {
            return Ok(());
        }
        let control = self.control();
        if control.header(index) != header {
            return Err(self.broken(format!(
                "the header of packet {number} was changed while it was sent"
            )));
        }
        if !control.move_input(index, InputBlockState::Sending, InputBlockState::Free) {
            return Err(self.broken(format!("input block {index} was changed while it was sent")));
        }
        drop(mirror);
        self.ring();
        Ok(())
    }

    /// Copies a result, or the next part of one, to the packet's output block.
    pub fn write_result(&self, number: u64, at: usize, bytes: &[u8]) {
        let start = self.geometry.output(self.geometry.index(number));
        if !self.is_over() && at + bytes.len() <= self.geometry.block {
            self.memory.write(start + at, bytes);
        }
    }

    /// *Result ready*: the output block is the client's.
    ///
    /// # Errors
    ///
    /// The block's state was changed meanwhile.
    pub fn publish(
        &self,
        number: u64,
        status: Status,
        length: usize,
        crc: u32,
    ) -> Result<(), Broken> {
        if self.is_over() {
            return Ok(());
        }
        let index = self.geometry.index(number);
        let control = self.control();
        control.set_verdict(
            index,
            &PacketVerdict {
                length: length as u64,
                sequence: number,
                status,
                crc,
            },
        );
        self.packets.fetch_add(1, Ordering::Relaxed);
        self.bytes_out.fetch_add(length as u64, Ordering::Relaxed);
        {
            // Both in one: whoever takes the next packet of this block sees it reserved and this side's,
            // or ready and the client's, and nothing between.
            let mut mirror = self.mirror();
            mirror.reserved[index] = false;
            if !control.move_output(index, OutputBlockState::Reserved, OutputBlockState::Ready) {
                return Err(self.broken(format!(
                    "output block {index} was changed while it was reserved"
                )));
            }
        }
        self.ring();
        Ok(())
    }

    /// Wakes the client.  Where the pipe is full it is awake already.
    fn ring(&self) {
        rustix::io::write(&self.bell, &[1]).ok();
    }

    fn broken(&self, what: String) -> Broken {
        Broken {
            lease: self.id,
            what,
        }
    }

    fn control(&self) -> Control<'_> {
        Control(&self.memory)
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that fills an input block again while the result of the packet before is published.
    #[test]
    fn a_block_that_is_being_published_is_nobodys_fault() {
        let geometry = Geometry {
            blocks: 1,
            block: 4096,
        };
        let holder = Holder {
            name: "test".to_owned(),
            pid: 1,
            uid: 0,
        };
        let lease = Lease::new(1, Function::Echo, holder, geometry).unwrap();
        let control = Control(&lease.memory);
        let queue = || {
            assert!(control.move_input(0, InputBlockState::Free, InputBlockState::Filling));
            assert!(control.move_input(0, InputBlockState::Filling, InputBlockState::Queued));
        };
        queue();
        assert!(lease.take().unwrap().is_some());
        for number in 0..500 {
            lease.sent(number).unwrap();
            queue();
            std::thread::scope(|scope| {
                let publishes = scope.spawn(|| lease.publish(number, Status::Done, 0, 0));
                while control.output(0) != OutputBlockState::Ready as u32 {
                    assert!(lease.take().unwrap().is_none());
                }
                publishes.join().unwrap().unwrap();
            });
            assert!(control.move_output(0, OutputBlockState::Ready, OutputBlockState::Free));
            assert!(lease.take().unwrap().is_some());
        }
    }
}
