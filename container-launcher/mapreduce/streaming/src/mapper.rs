//! A mapper that is a command.

use gerbil_mapreduce::{Context, Emit, Mapper, Result, Text};

use crate::input::StreamInput;
use crate::pump::Listener as _;
use crate::stage::{Emitting, Ready, ready};

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
        self.ready = Some(ready(|plan| &plan.map, "map", context)?);
        Ok(())
    }

    fn map(&mut self, _offset: u64, lines: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(Ready { running, cut }) = &mut self.ready else {
            return Ok(());
        };
        let mut to = Emitting {
            cut,
            out,
            is_mute: false,
        };
        match running {
            Some(running) => running.pump.write(lines, &mut to),
            None => {
                let mut lines = lines.split_inclusive(|byte| *byte == b'\n');
                lines.try_for_each(|line| to.line(line.strip_suffix(b"\n").unwrap_or(line)))
            }
        }
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        match self.ready.take() {
            Some(Ready {
                running: Some(mut running),
                cut,
            }) => {
                let mut to = Emitting {
                    cut: &cut,
                    out,
                    is_mute: false,
                };
                running.pump.finish(&mut to)
            }
            Some(_) | None => Ok(()),
        }
    }
}
