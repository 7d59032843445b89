//! Packets to one device and answers from it, on two threads.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Weak};
use std::time::Duration;

use fpga_client::Function;
use fpga_client::client::{
    AcceleratorError, AcceleratorReader, AcceleratorWriter, DeserializePacket, SerializePacket,
};

use super::exchange::GROUP;
use super::leases::Device;
use super::table::{LOADED, LOADS, RELOADED, Table, is_forgotten};
use super::unanswered;
use crate::error::{Error, Result};
use crate::handle::Handle;

/// What goes to one device and comes from it.
#[derive(Debug)]
pub struct Traffic<P, A> {
    sending: Sending<P>,
    receiving: Receiving<P, A>,
}

/// A packet that is to be sent.
#[derive(Debug)]
pub struct Ordered<P> {
    packet: Arc<P>,
    /// Its number among the packets of its device.
    number: u64,
    /// How often the device had not the table that it names, and at which load of the table the last time.
    forgotten: Option<(u32, u64)>,
}

impl<P> Ordered<P> {
    pub(super) fn new(number: u64, packet: &Arc<P>) -> Self {
        Self {
            packet: Arc::clone(packet),
            number,
            forgotten: None,
        }
    }
}

impl<P> Deref for Ordered<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.packet
    }
}

/// What was written into the ring.
#[derive(Debug)]
enum Written<P> {
    /// The table; not for the first time.
    Table { is_again: bool },
    /// A packet, after so many loads of the table.
    Packet(Ordered<P>, u64),
}

type Told<P> = Result<(u64, Written<P>)>;

/// The half that sends.
#[derive(Debug)]
pub struct Sending<P> {
    function: Function,
    writer: AcceleratorWriter,
    table: Option<Table>,
    /// Times that the table was sent.
    loads: u64,
    packets: Receiver<Ordered<P>>,
    sent: SyncSender<Told<P>>,
    handle: Handle,
}

/// The half that receives.
#[derive(Debug)]
pub struct Receiving<P, A> {
    function: Function,
    reader: AcceleratorReader,
    sent: Receiver<Told<P>>,
    /// For packets that are to be sent once more.
    again: Weak<SyncSender<Ordered<P>>>,
    has_table: bool,
    /// Answers that came before that of a packet that was sent again.
    early: BTreeMap<u64, A>,
    /// The number of the packet whose answer is next.
    next: u64,
    answers: SyncSender<Result<A>>,
    timeout: Duration,
    handle: Handle,
}

/// The packets of a device, what takes those that go once more, and what takes answers.
type Channels<P, A> = (
    Receiver<Ordered<P>>,
    Weak<SyncSender<Ordered<P>>>,
    SyncSender<Result<A>>,
);

impl<P, A> Traffic<P, A> {
    pub(super) fn new(
        function: Function,
        (device, table): (Device, Option<Table>),
        (packets, again, answers): Channels<P, A>,
        (window, timeout): (usize, Duration),
        handle: Handle,
    ) -> Self {
        let (tell, told) = std::sync::mpsc::sync_channel(window);
        Self {
            receiving: Receiving {
                function,
                reader: device.reader,
                sent: told,
                again,
                has_table: table.is_some(),
                early: BTreeMap::new(),
                next: 0,
                answers,
                timeout,
                handle: handle.clone(),
            },
            sending: Sending {
                function,
                writer: device.writer,
                table,
                loads: 0,
                packets,
                sent: tell,
                handle,
            },
        }
    }

    /// The two halves, for a thread each.
    #[must_use]
    pub fn split(self) -> (Sending<P>, Receiving<P, A>) {
        (self.sending, self.receiving)
    }
}

impl<P, A> Traffic<P, A>
where
    P: SerializePacket + Send + Sync + 'static,
    A: DeserializePacket + Send + 'static,
{
    /// Sends on a thread of its own and receives on this one, until all packets are answered.
    ///
    /// # Errors
    /// A packet has no answer.
    pub fn run(self) -> Result<()> {
        let (mut sending, mut receiving) = self.split();
        let thread = std::thread::Builder::new().name("send".to_owned());
        // It is not joined: one that waits for a board that is stuck ends with the lease.
        thread.spawn(move || {
            while let Some(packet) = sending.take() {
                if !sending.write(packet) {
                    break;
                }
            }
        })?;
        while let Some(answer) = receiving.read()? {
            if !receiving.answer(answer) {
                break;
            }
        }
        Ok(())
    }
}

impl<P: SerializePacket> Sending<P> {
    /// The next packet; `None`: there will be no more.
    pub fn take(&mut self) -> Option<Ordered<P>> {
        self.packets.recv().ok()
    }

    /// Writes a packet into the ring, and tells the half that receives; it fails there. Before the first packet, and before
    /// one that is sent again because the device has forgotten its table, the table goes. `false`: no other need be written.
    pub fn write(&mut self, packet: Ordered<P>) -> bool {
        let is_due = match packet.forgotten {
            None => self.loads == 0,
            Some((_, load)) => load == self.loads,
        };
        if let Some(table) = self.table.as_ref().filter(|_| is_due) {
            let written = self.writer.write(table);
            let is_again = self.loads > 0;
            self.loads += 1;
            if !self.tell(written, Written::Table { is_again }) {
                return false;
            }
        }
        let written = self.writer.write(&*packet);
        self.tell(written, Written::Packet(packet, self.loads))
    }

    fn tell(&self, written: Result<u64, AcceleratorError>, what: Written<P>) -> bool {
        let is_written = written.is_ok();
        let told = written
            .map(|sequence| (sequence, what))
            .map_err(|error| unanswered(self.function, &error));
        self.sent.send(told).is_ok() && is_written
    }

    /// Counters and status.
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl<P, A: DeserializePacket> Receiving<P, A> {
    /// The result of the next packet; `None`: there will be no more.
    ///
    /// # Errors
    /// A packet was not written, was answered with a failure, or not within `acc.timeout`; or the lease is over.
    pub fn read(&mut self) -> Result<Option<A>> {
        loop {
            if let Some(answer) = self.early.remove(&self.next) {
                self.next += 1;
                return Ok(Some(answer));
            }
            let Ok(sent) = self.sent.recv() else {
                return Ok(None);
            };
            let (sequence, written) = sent?;
            match written {
                Written::Table { is_again } => {
                    self.answer_to::<Vec<u8>>(sequence)?
                        .map_err(|error| unanswered(self.function, &error))?;
                    self.handle.add_one(GROUP, LOADED);
                    if is_again {
                        self.handle.add_one(GROUP, RELOADED);
                    }
                }
                Written::Packet(packet, load) => match self.answer_to(sequence)? {
                    Ok(answer) => {
                        self.early.insert(packet.number, answer);
                    }
                    Err(error) => {
                        let tries = packet.forgotten.map_or(0, |(tries, _)| tries);
                        if !self.has_table || tries == LOADS || !is_forgotten(&error) {
                            return Err(unanswered(self.function, &error));
                        }
                        let Some(again) = self.again.upgrade() else {
                            return Ok(None);
                        };
                        let packet = Ordered {
                            forgotten: Some((tries + 1, load)),
                            ..packet
                        };
                        // It has room for all packets that are under way.
                        drop(again.send(packet));
                    }
                },
            }
        }
    }

    /// The answer to the packet of this number in the ring.
    fn answer_to<R: DeserializePacket>(
        &mut self,
        sent: u64,
    ) -> Result<Result<R, AcceleratorError>> {
        let (answered, answer) = match self.reader.read(self.timeout) {
            Ok((answered, answer)) => (answered, Ok(answer)),
            Err(error) => match error {
                AcceleratorError::Packet { sequence, .. } => (sequence, Err(error)),
                other => return Err(unanswered(self.function, &other)),
            },
        };
        match answered == sent {
            true => Ok(answer),
            false => Err(Error::new(format!(
                "acc/{}: the answer to packet {answered} where that to packet {sent} is next",
                self.function
            ))),
        }
    }

    /// Hands an answer to the attempt. `false`: it is over.
    pub fn answer(&mut self, answer: A) -> bool {
        self.answers.send(Ok(answer)).is_ok()
    }

    /// Counters and status.
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }
}
