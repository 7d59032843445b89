//! A mapper that is a command.

use gerbil_mapreduce::{Context, Emit, Mapper, Result, Text};

use crate::emitting::Emitting;
use crate::input::StreamInput;
use crate::pump::Listener as _;
use crate::stage::{At, Ready, ready};

/// Bytes that are handed to the command at once where records come one by one.
const PIECE: usize = 64 << 10;

/// Hands its input to the command, and emits what that prints.
#[derive(Debug, Default)]
pub(crate) struct CommandMapper {
    ready: Option<Ready>,
    /// Records that came one by one.
    held: Vec<u8>,
}

impl CommandMapper {
    /// Hands over a block, or what is held of records that come one by one, and at the end waits for the command.
    fn hand(
        ready: &mut Ready,
        records: &[u8],
        is_end: bool,
        out: &mut Emit<'_, Self>,
    ) -> Result<()> {
        let mut to = Emitting {
            by: &mut ready.by,
            out,
            is_mute: false,
        };
        let done = match &mut ready.running {
            Some(running) => {
                let pump = &mut running.pump;
                let written = match records.is_empty() {
                    true => Ok(()),
                    false => pump.write(records, &mut to),
                };
                match is_end {
                    true => written.and_then(|()| pump.finish(&mut to)),
                    false => written,
                }
            }
            None => {
                let mut lines = records.split_inclusive(|byte| *byte == b'\n');
                lines.try_for_each(|line| to.line(line.strip_suffix(b"\n").unwrap_or(line)))
            }
        };
        done.map_err(|error| match (&ready.suspects, is_end) {
            (Some(_), _) => ready.failed(error, out),
            // It has read no further, and perhaps not so far.
            (None, false) => {
                let (_, at) = out.at();
                let file = out.input();
                error
                    .context(format!("{file}, at or before what follows byte {at}"))
                    .placed()
            }
            (None, true) => error.context(out.input()),
        })
    }
}

impl Mapper for CommandMapper {
    type Input = StreamInput;
    type Key = Text;
    type Value = Text;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.ready = Some(ready(At::Map, context)?);
        Ok(())
    }

    fn map(&mut self, _offset: u64, records: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(ready) = &mut self.ready else {
            return Ok(());
        };
        let Some(suspects) = &mut ready.suspects else {
            return Self::hand(ready, records, false, out);
        };
        suspects.begins(out.at())?;
        suspects.has(records)?;
        self.held.extend_from_slice(records);
        if self.held.len() < PIECE {
            return Ok(());
        }
        let done = Self::hand(ready, &self.held, false, out);
        self.held.clear();
        done
    }

    fn cleanup(&mut self, out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(mut ready) = self.ready.take() else {
            return Ok(());
        };
        Self::hand(&mut ready, &self.held, true, out)
    }
}
