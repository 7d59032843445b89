//! Mappers that compute on accelerators.

use fpga_client::Function;
use fpga_client::client::{DeserializePacket, SerializePacket};

use super::exchange::{Exchange, Next, Opened};
use super::table::Table;
use super::traffic::Traffic;
use crate::context::Context;
use crate::datum::{Key, Value};
use crate::emit::{Emit, Output};
use crate::error::{Error, Result};
use crate::input::InputFormat;
use crate::map::Mapper;

/// A mapper whose records an accelerator computes, a packet of them at a time.
///
/// The same program runs with and without a device, and writes the same bytes: [`on_cpu`](Self::on_cpu) computes what the
/// device does.
pub trait AcceleratedMapper: Sized + 'static {
    /// How input is read, which says what [`map`](Self::map) is handed.
    type Input: InputFormat;
    /// The keys that are emitted.
    type Key: Key;
    /// The values that are emitted.
    type Value: Value;
    /// What goes to a device, and how it is serialised.
    type Packet: SerializePacket + Send + Sync + 'static;
    /// What comes back, and how it is read.
    type Answer: DeserializePacket + Send + 'static;

    /// What is computed.
    const FUNCTION: Function;
    /// Devices that a map takes; its packets go to them in turn.
    const DEVICES: u32 = 1;

    /// Called once before the first record; `block` is how many bytes a packet may have, and its answer.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, context: &mut Context, block: usize) -> Result<()> {
        let (_, _) = (context, block);
        Ok(())
    }

    /// The table that packets name by a model id, for functions that want one. It goes to each device before the first packet,
    /// and again where the device has forgotten it: it keeps those that were used last, of all its guests, and none after a
    /// reset. Called once, after `setup`, where there is a device.
    ///
    /// # Errors
    /// The user's own.
    fn table(&mut self) -> Result<Option<Table>> {
        Ok(None)
    }

    /// Called with each record. What it returns is the packet that this record has filled.
    ///
    /// # Errors
    /// The user's own.
    fn map(
        &mut self,
        key: <Self::Input as InputFormat>::Key<'_>,
        value: <Self::Input as InputFormat>::Value<'_>,
        context: &mut Context,
    ) -> Result<Option<Self::Packet>>;

    /// Called once after the last record: the packet that is not full.
    ///
    /// # Errors
    /// The user's own.
    fn rest(&mut self) -> Result<Option<Self::Packet>>;

    /// What a device would answer, computed by the processor: the same, bit for bit.
    ///
    /// # Errors
    /// The user's own.
    fn on_cpu(&mut self, packet: &Self::Packet) -> Result<Self::Answer>;

    /// Called with the answer to each packet, in the order of the packets.
    ///
    /// # Errors
    /// The user's own, and those of `out`.
    fn answer(
        &mut self,
        packet: &Self::Packet,
        answer: Self::Answer,
        out: &mut Output<'_, Self::Key, Self::Value>,
    ) -> Result<()>;

    /// Called once after the last answer.
    ///
    /// # Errors
    /// The user's own, and those of `out`.
    fn cleanup(&mut self, out: &mut Output<'_, Self::Key, Self::Value>) -> Result<()> {
        let _ = out;
        Ok(())
    }

    /// What is done with each of the attempt's devices, on a thread beside the attempt's own. By default one thread sends
    /// and another receives.
    ///
    /// # Errors
    /// A packet has no answer.
    fn process(traffic: Traffic<Self::Packet, Self::Answer>) -> Result<()> {
        traffic.run()
    }
}

/// The [`Mapper`] that an [`AcceleratedMapper`] is.
#[derive(Debug)]
pub struct Accelerated<A: AcceleratedMapper> {
    mapper: A,
    exchange: Option<Exchange<A::Packet, A::Answer>>,
    /// Where the first record of the next packet is.
    origin: Option<String>,
}

impl<A: AcceleratedMapper> Accelerated<A> {
    pub(crate) const fn new(mapper: A) -> Self {
        Self {
            mapper,
            exchange: None,
            origin: None,
        }
    }

    /// Hands out answers: those that are there, or all.
    fn answer(&mut self, all: bool, out: &mut Output<'_, A::Key, A::Value>) -> Result<()> {
        let Self {
            mapper, exchange, ..
        } = self;
        let exchange = exchange.as_mut().ok_or_else(no_exchange)?;
        while let Some(next) = exchange.next(all, out)? {
            let (packet, answer) = match next {
                Next::Answered(packet, answer) => (packet, answer),
                Next::Compute(packet) => {
                    let answer = mapper.on_cpu(&packet)?;
                    (packet, answer)
                }
            };
            mapper.answer(&packet, answer, out)?;
        }
        Ok(())
    }

    fn push(&mut self, packet: A::Packet) -> Result<()> {
        let origin = self.origin.take();
        let exchange = self.exchange.as_mut().ok_or_else(no_exchange)?;
        exchange.push(packet, origin);
        Ok(())
    }
}

pub(super) fn no_exchange() -> Error {
    Error::new("a packet before setup")
}

impl<A: AcceleratedMapper> Mapper for Accelerated<A> {
    type Input = A::Input;
    type Key = A::Key;
    type Value = A::Value;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let opened = Opened::of((A::FUNCTION, A::DEVICES), context)?;
        self.mapper.setup(context, opened.block())?;
        let table = match opened.is_any() {
            true => self.mapper.table()?,
            false => None,
        };
        self.exchange = Some(Exchange::begin(opened, table, A::process, context)?);
        Ok(())
    }

    fn map(
        &mut self,
        key: <A::Input as InputFormat>::Key<'_>,
        value: <A::Input as InputFormat>::Value<'_>,
        out: &mut Emit<'_, Self>,
    ) -> Result<()> {
        if self.origin.is_none() {
            let blame = out.page.read();
            let (input, record, at) = (out.input(), blame.record, blame.offset);
            self.origin = Some(format!("{input}, from record {record} at byte {at}"));
        }
        if let Some(packet) = self.mapper.map(key, value, out)? {
            self.answer(false, out)?;
            self.push(packet)?;
        }
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        if let Some(packet) = self.mapper.rest()? {
            self.answer(false, out)?;
            self.push(packet)?;
        }
        self.answer(true, out)?;
        self.exchange = None;
        self.mapper.cleanup(out)
    }
}
