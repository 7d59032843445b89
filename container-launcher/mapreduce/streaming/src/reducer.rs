//! A reducer that is a command.

use gerbil_mapreduce::{Context, Output, Reducer, Result, Text, Values};

use crate::aggregate;
use crate::order;
use crate::settings::{self, REDUCE_INPUT_SEPARATOR, text};
use crate::stage::{Emitting, Ready, ready};

/// Bytes that are handed to the command at once.
const PIECE: usize = 64 << 10;

/// Hands each key with each of its values to the command, a line each, and emits what that prints.
#[derive(Debug, Default)]
pub(crate) struct CommandReducer {
    ready: Option<Ready>,
    separator: Vec<u8>,
    lines: Vec<u8>,
    /// There was a key.
    had_input: bool,
    /// Bytes that different values of a key may take.
    most: usize,
}

impl Reducer<Text, Text> for CommandReducer {
    type Key = Text;
    type Value = Text;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let separator = text(context.settings(), REDUCE_INPUT_SEPARATOR, "\t");
        self.separator = separator.as_bytes().to_vec();
        self.most = settings::arena(context.settings())?;
        self.ready = Some(ready(|plan| &plan.reduce, "reduce", context)?);
        Ok(())
    }

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, Text>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let Some(ready) = &mut self.ready else {
            return Ok(());
        };
        self.had_input = true;
        let key = match &ready.order {
            Some(_) => order::key(key),
            None => key,
        };
        if ready.aggregates {
            let (mut aggregator, key) = aggregate::of(key, self.most)?;
            while let Some(value) = values.next()? {
                aggregator.add(value)?;
            }
            return out.emit(key, &aggregator.result()?);
        }
        let Some(running) = &mut ready.running else {
            while let Some(value) = values.next()? {
                out.emit(key, value)?;
            }
            return Ok(());
        };
        while let Some(value) = values.next()? {
            for part in [key, &self.separator, value, b"\n"] {
                self.lines.extend_from_slice(part);
            }
            if self.lines.len() >= PIECE {
                let mut to = Emitting {
                    cut: &ready.cut,
                    out,
                    order: None,
                    is_mute: false,
                };
                running.pump.write(&self.lines, &mut to)?;
                self.lines.clear();
            }
        }
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Output<'_, Text, Text>) -> Result<()> {
        let Some(mut ready) = self.ready.take() else {
            return Ok(());
        };
        let Some(running) = &mut ready.running else {
            return Ok(());
        };
        // Hadoop takes nothing from a reducer that was given nothing.
        let mut to = Emitting {
            cut: &ready.cut,
            out,
            order: None,
            is_mute: !self.had_input,
        };
        if !self.lines.is_empty() {
            running.pump.write(&self.lines, &mut to)?;
        }
        running.pump.finish(&mut to)
    }
}
