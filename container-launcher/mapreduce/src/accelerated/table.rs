//! What packets name and devices keep: a table that is loaded once.

use std::fmt;
use std::sync::Arc;

use fpga_client::Status;
use fpga_client::client::{AcceleratorError, Layout, SerializePacket, Unfit};

/// Loads of the table for one packet: a device whose other guests load so many between two of its packets is none to
/// compute on.
pub(super) const LOADS: u32 = 10;
/// Counters: tables that devices took, and those among them that a device had forgotten.
pub(super) const LOADED: &str = "MODELS_LOADED";
pub(super) const RELOADED: &str = "MODELS_RELOADED";

/// A packet that loads a table under its model id, for any number of devices.
#[derive(Clone)]
pub struct Table(Arc<dyn SerializePacket + Send + Sync>);

impl Table {
    /// The table that `load` carries.
    pub fn new(load: impl SerializePacket + Send + Sync + 'static) -> Self {
        Self(Arc::new(load))
    }
}

impl SerializePacket for Table {
    fn serialize(&self, block: &mut [u8]) -> Result<Layout, Unfit> {
        self.0.serialize(block)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }
}

/// Whether the device has not, or no longer, the table that the packet named.
pub(super) const fn is_forgotten(error: &AcceleratorError) -> bool {
    matches!(
        error,
        AcceleratorError::Packet {
            status: Status::NoModel,
            ..
        }
    )
}
