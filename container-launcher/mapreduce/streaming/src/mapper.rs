//! A mapper that is a command.

use gerbil_mapreduce::{Context, Emit, Mapper, Result, Text};

use crate::input::StreamInput;
use crate::pump::Listener as _;
use crate::stage::{At, Emitting, Ready, ready};

/// Hands its input to the command, and emits what that prints.
#[derive(Debug, Default)]
pub(crate) struct CommandMapper {
    ready: Option<Ready>,
}

impl Mapper for CommandMapper {
    type Input = StreamInput;
    type Key = Text;
    type Value = Text;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.ready = Some(ready(At::Map, context)?);
        Ok(())
    }

    fn map(&mut self, _offset: u64, lines: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(ready) = &mut self.ready else {
            return Ok(());
        };
        let mut to = Emitting {
            by: &mut ready.by,
            out,
            is_mute: false,
        };
        match &mut ready.running {
            Some(running) => running.pump.write(lines, &mut to),
            None => {
                let mut lines = lines.split_inclusive(|byte| *byte == b'\n');
                lines.try_for_each(|line| to.line(line.strip_suffix(b"\n").unwrap_or(line)))
            }
        }
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(mut ready) = self.ready.take() else {
            return Ok(());
        };
        let Some(running) = &mut ready.running else {
            return Ok(());
        };
        running.pump.finish(&mut Emitting {
            by: &mut ready.by,
            out,
            is_mute: false,
        })
    }
}
