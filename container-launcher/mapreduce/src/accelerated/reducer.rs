//! Reducers that compute on accelerators.

use fpga_client::Function;
use fpga_client::client::{DeserializePacket, SerializePacket};

use super::exchange::{Exchange, Next, Opened};
use super::mapper::no_exchange;
use super::traffic::Traffic;
use crate::context::Context;
use crate::datum::{Key, Value};
use crate::emit::Output;
use crate::error::Result;
use crate::reduce::{Reducer, Values};

/// A reducer whose values an accelerator computes, a packet of them at a time; packets go over the bounds of keys.
pub trait AcceleratedReducer<K: Key, V: Value>: Sized + 'static {
    /// The keys that are emitted.
    type Key: Value;
    /// The values that are emitted.
    type Value: Value;
    /// What goes to a device, and how it is serialised.
    type Packet: SerializePacket + Send + Sync + 'static;
    /// What comes back, and how it is read.
    type Answer: DeserializePacket + Send + 'static;

    /// What is computed.
    const FUNCTION: Function;
    /// Devices that a reduce takes; its packets go to them in turn.
    const DEVICES: u32 = 1;

    /// Called once before the first key; `block` is how many bytes a packet may have, and its answer.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, context: &mut Context, block: usize) -> Result<()> {
        let (_, _) = (context, block);
        Ok(())
    }

    /// Called with each value and its key, in the order of keys. What it returns is the packet that this value has filled.
    ///
    /// # Errors
    /// The user's own.
    fn reduce(
        &mut self,
        key: K::View<'_>,
        value: V::View<'_>,
        context: &mut Context,
    ) -> Result<Option<Self::Packet>>;

    /// Called once after the last value: the packet that is not full.
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

    /// As [`AcceleratedMapper::process`](super::AcceleratedMapper::process).
    ///
    /// # Errors
    /// A packet has no answer.
    fn process(traffic: Traffic<Self::Packet, Self::Answer>) -> Result<()> {
        traffic.run()
    }
}

/// The [`Reducer`] that an [`AcceleratedReducer`] is.
#[derive(Debug)]
pub struct AcceleratedReduction<K: Key, V: Value, A: AcceleratedReducer<K, V>> {
    reducer: A,
    exchange: Option<Exchange<A::Packet, A::Answer>>,
}

impl<K: Key, V: Value, A: AcceleratedReducer<K, V>> AcceleratedReduction<K, V, A> {
    pub(crate) const fn new(reducer: A) -> Self {
        Self {
            reducer,
            exchange: None,
        }
    }

    /// Takes a packet, and hands out answers: those that are there, or all.
    fn exchange(
        &mut self,
        packet: Option<A::Packet>,
        all: bool,
        out: &mut Output<'_, A::Key, A::Value>,
    ) -> Result<()> {
        let Self { reducer, exchange } = self;
        let exchange = exchange.as_mut().ok_or_else(no_exchange)?;
        let rounds = [packet.is_some().then_some(false), all.then_some(true)];
        let mut packet = packet;
        for all in rounds.into_iter().flatten() {
            while let Some(next) = exchange.next(all, out)? {
                let (packet, answer) = match next {
                    Next::Answered(packet, answer) => (packet, answer),
                    Next::Compute(packet) => {
                        let answer = reducer.on_cpu(&packet)?;
                        (packet, answer)
                    }
                };
                reducer.answer(&packet, answer, out)?;
            }
            if let Some(packet) = packet.take() {
                exchange.push(packet, None);
            }
        }
        Ok(())
    }
}

impl<K: Key, V: Value, A: AcceleratedReducer<K, V>> Reducer<K, V>
    for AcceleratedReduction<K, V, A>
{
    type Key = A::Key;
    type Value = A::Value;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let opened = Opened::of((A::FUNCTION, A::DEVICES), context)?;
        self.reducer.setup(context, opened.block())?;
        self.exchange = Some(Exchange::begin(opened, None, A::process, context)?);
        Ok(())
    }

    fn reduce(
        &mut self,
        _: K::View<'_>,
        values: &mut Values<'_, K, V>,
        out: &mut Output<'_, A::Key, A::Value>,
    ) -> Result<()> {
        while let Some((key, value)) = values.next_pair()? {
            if let Some(packet) = self.reducer.reduce(key, value, out)? {
                self.exchange(Some(packet), false, out)?;
            }
        }
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Output<'_, A::Key, A::Value>) -> Result<()> {
        let rest = self.reducer.rest()?;
        self.exchange(rest, true, out)?;
        self.exchange = None;
        self.reducer.cleanup(out)
    }
}
