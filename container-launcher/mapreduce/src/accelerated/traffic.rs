//! Packets to one device and answers from it, on two threads.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use fpga_client::Function;
use fpga_client::client::{
    AcceleratorReader, AcceleratorWriter, DeserializePacket, SerializePacket,
};

use super::leases::Device;
use super::unanswered;
use crate::error::{Error, Result};
use crate::handle::Handle;

/// What goes to one device and comes from it.
#[derive(Debug)]
pub struct Traffic<P, A> {
    sending: Sending<P>,
    receiving: Receiving<A>,
}

/// The half that sends.
#[derive(Debug)]
pub struct Sending<P> {
    function: Function,
    writer: AcceleratorWriter,
    packets: Receiver<Arc<P>>,
    sent: SyncSender<Result<u64>>,
    handle: Handle,
}

/// The half that receives.
#[derive(Debug)]
pub struct Receiving<A> {
    function: Function,
    reader: AcceleratorReader,
    sent: Receiver<Result<u64>>,
    answers: SyncSender<Result<A>>,
    timeout: Duration,
    handle: Handle,
}

impl<P, A> Traffic<P, A> {
    pub(super) fn new(
        function: Function,
        device: Device,
        (packets, answers): (Receiver<Arc<P>>, SyncSender<Result<A>>),
        (window, timeout): (usize, Duration),
        handle: Handle,
    ) -> Self {
        let (tell, told) = std::sync::mpsc::sync_channel(window);
        Self {
            sending: Sending {
                function,
                writer: device.writer,
                packets,
                sent: tell,
                handle: handle.clone(),
            },
            receiving: Receiving {
                function,
                reader: device.reader,
                sent: told,
                answers,
                timeout,
                handle,
            },
        }
    }

    /// The two halves, for a thread each.
    #[must_use]
    pub fn split(self) -> (Sending<P>, Receiving<A>) {
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
                if !sending.write(&packet) {
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
    pub fn take(&mut self) -> Option<Arc<P>> {
        self.packets.recv().ok()
    }

    /// Writes a packet into the ring, and tells the half that receives; it fails there. `false`: no other need be
    /// written.
    pub fn write(&mut self, packet: &P) -> bool {
        let written = self.writer.write(packet);
        let written = written.map_err(|error| unanswered(self.function, &error));
        let is_written = written.is_ok();
        self.sent.send(written).is_ok() && is_written
    }

    /// Counters and status.
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl<A: DeserializePacket> Receiving<A> {
    /// The result of the next packet; `None`: there will be no more.
    ///
    /// # Errors
    /// A packet was not written, was answered with a failure, or not within `acc.timeout`; or the lease is over.
    pub fn read(&mut self) -> Result<Option<A>> {
        let Ok(sent) = self.sent.recv() else {
            return Ok(None);
        };
        let sent = sent?;
        let read = self.reader.read(self.timeout);
        let (answered, answer) = read.map_err(|error| unanswered(self.function, &error))?;
        if answered != sent {
            return Err(Error::new(format!(
                "acc/{}: the answer to packet {answered} where that to packet {sent} is next",
                self.function
            )));
        }
        Ok(Some(answer))
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
