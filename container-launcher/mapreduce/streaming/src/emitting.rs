//! What becomes of the records that a command prints.

use gerbil_mapreduce::{Context, Output, Result, Text};

use crate::cut::Cut;
use crate::form::Form;
use crate::order::KeyOrder;
use crate::pump::Listener;
use crate::shown::show;

/// What is done to records before they are emitted.
#[derive(Debug)]
pub(crate) struct Emits {
    pub(crate) cut: Cut,
    /// Keys get in front what they are compared by.
    pub(crate) order: Option<KeyOrder>,
    /// They go into a part file, and were printed so.
    pub(crate) shown: Option<Form>,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Emits what a command prints.
pub(crate) struct Emitting<'a, 'b> {
    pub(crate) by: &'a mut Emits,
    pub(crate) out: &'a mut Output<'b, Text, Text>,
    /// Records go nowhere.
    pub(crate) is_mute: bool,
}

impl Emitting<'_, '_> {
    /// A record that no command has printed.
    pub(crate) fn emit(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Emits {
            order,
            shown,
            key: own_key,
            value: own_value,
            ..
        } = &mut *self.by;
        own_key.clear();
        match (order, shown) {
            (Some(order), _) => {
                order.append(key, own_key);
                self.out.emit(own_key.as_slice(), value)
            }
            (None, Some(form)) => {
                own_value.clear();
                show(*form, key, own_key)?;
                show(*form, value, own_value)?;
                self.out.emit(own_key.as_slice(), own_value)
            }
            (None, None) => self.out.emit(key, value),
        }
    }
}

impl Listener for Emitting<'_, '_> {
    fn line(&mut self, line: &[u8]) -> Result<()> {
        if self.is_mute {
            return Ok(());
        }
        let (key, value) = self.by.cut.pair(line);
        self.emit(key, value)
    }

    fn pair(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self.is_mute {
            true => Ok(()),
            false => self.emit(key, value),
        }
    }

    fn task(&mut self) -> &mut Context {
        self.out
    }
}
