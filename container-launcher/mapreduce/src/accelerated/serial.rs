//! A device to which one packet goes after the other, on the attempt's own thread.

use std::time::Duration;

use fpga_client::Function;
use fpga_client::client::{AcceleratorError, DeserializePacket, SerializePacket};

use super::exchange::GROUP;
use super::leases::Device;
use super::table::{LOADED, LOADS, RELOADED, Table, is_forgotten};
use super::unanswered;
use crate::context::Context;
use crate::error::Result;

/// The device, and what it is to keep.
#[derive(Debug)]
pub(super) struct SerialDevice {
    device: Device,
    table: Option<Table>,
    is_loaded: bool,
    loads: u64,
}

impl SerialDevice {
    pub(super) const fn new(device: Device, table: Option<Table>) -> Self {
        Self {
            device,
            table,
            is_loaded: false,
            loads: 0,
        }
    }

    /// Sends a packet and waits for its answer; the table goes before it where the device has it not.
    pub(super) fn exchange<P: SerializePacket, A: DeserializePacket>(
        &mut self,
        packet: &P,
        function: Function,
        timeout: Duration,
        context: &mut Context,
    ) -> Result<A> {
        self.answered(packet, timeout, context)
            .map_err(|error| unanswered(function, &error))
    }

    fn answered<P: SerializePacket, A: DeserializePacket>(
        &mut self,
        packet: &P,
        timeout: Duration,
        context: &mut Context,
    ) -> Result<A, AcceleratorError> {
        let mut tries = 0;
        loop {
            self.load(timeout, context)?;
            match self.device.exchange(packet, timeout) {
                Err(error) if self.table.is_some() && tries < LOADS && is_forgotten(&error) => {
                    self.is_loaded = false;
                    tries += 1;
                }
                answered => return answered,
            }
        }
    }

    fn load(&mut self, timeout: Duration, context: &mut Context) -> Result<(), AcceleratorError> {
        let Some(table) = self.table.as_ref().filter(|_| !self.is_loaded) else {
            return Ok(());
        };
        self.device.exchange::<_, Vec<u8>>(table, timeout)?;
        self.is_loaded = true;
        let counting = &mut context.counting;
        counting.add(GROUP, LOADED, 1);
        if self.loads > 0 {
            counting.add(GROUP, RELOADED, 1);
        }
        self.loads += 1;
        Ok(())
    }
}
