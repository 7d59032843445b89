//! Mappers.

use crate::context::Context;
use crate::datum::{Key, Value};
use crate::emit::Emit;
use crate::error::Result;
use crate::input::InputFormat;

/// What is done with each record of the input.
pub trait Mapper: Sized + 'static {
    /// How input is read, which says what [`map`](Self::map) is handed.
    type Input: InputFormat;
    /// The keys that are emitted.
    type Key: Key;
    /// The values that are emitted.
    type Value: Value;

    /// What its node must have: `cpu`, `gpu`, `fpga`, or a type that the cluster counts. `None`: nobody says.
    /// The attribute `cluster_resource` fills it in, and leaves it readable in the executable.
    const NEED: Option<&'static str> = None;

    /// Bytes of a device's memory that a byte of its input takes there, at least 1: splits of a mapper that needs a
    /// GPU are cut so that they fit.
    const EXPANSION: u32 = 1;

    /// Called once before the first record.
    ///
    /// # Errors
    /// The user's own.
    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// Called with each record.
    ///
    /// # Errors
    /// The user's own, and those of `out`.
    fn map(
        &mut self,
        key: <Self::Input as InputFormat>::Key<'_>,
        value: <Self::Input as InputFormat>::Value<'_>,
        out: &mut Emit<'_, Self>,
    ) -> Result<()>;

    /// Called once after the last record.
    ///
    /// # Errors
    /// The user's own, and those of `out`.
    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        let _ = out;
        Ok(())
    }
}
