//! A reducer that is a command, or a combiner that is one.

use gerbil_mapreduce::{Context, Output, Reducer, Result, Text, Values};

use crate::aggregate;
use crate::order;
use crate::settings::{self, REDUCE_INPUT_SEPARATOR, text};
use crate::stage::{At, Emitting, Ready, ready};

/// Bytes that are handed to the command at once.
const PIECE: usize = 64 << 10;

/// Hands each key with each of its values to the command, a line each, and emits what that prints.
#[derive(Debug)]
pub(crate) struct CommandReducer {
    at: At,
    ready: Option<Ready>,
    separator: Vec<u8>,
    lines: Vec<u8>,
    /// A key with what it is compared by.
    written: Vec<u8>,
    /// There was a key.
    had_input: bool,
    /// Bytes that different values of a key may take.
    most: usize,
}

impl CommandReducer {
    /// One that runs the reducer's command.
    pub(crate) const fn new() -> Self {
        Self::at(At::Reduce)
    }

    /// One that runs the combiner's.
    pub(crate) const fn combiner() -> Self {
        Self::at(At::Combine)
    }

    const fn at(at: At) -> Self {
        Self {
            at,
            ready: None,
            separator: Vec::new(),
            lines: Vec::new(),
            written: Vec::new(),
            had_input: false,
            most: 0,
        }
    }
}

impl Reducer<Text, Text> for CommandReducer {
    type Key = Text;
    type Value = Text;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        let separator = text(context.settings(), REDUCE_INPUT_SEPARATOR, "\t");
        self.separator = separator.as_bytes().to_vec();
        self.most = settings::arena(context.settings())?;
        self.ready = Some(ready(self.at, context)?);
        Ok(())
    }

    fn reduce(
        &mut self,
        stored: &[u8],
        values: &mut Values<'_, Text, Text>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let Some(ready) = &mut self.ready else {
            return Ok(());
        };
        self.had_input = true;
        let combines = self.at == At::Combine;
        let key = match &ready.order {
            Some(_) => order::key(stored),
            None => stored,
        };
        if ready.aggregates {
            let (mut aggregator, name) = aggregate::of(key, self.most)?;
            while let Some(value) = values.next()? {
                aggregator.add(value)?;
            }
            return match combines {
                true => aggregator.partial(|value| out.emit(stored, value)),
                false => out.emit(name, &aggregator.result()?),
            };
        }
        let Some(running) = &mut ready.running else {
            let key = if combines { stored } else { key };
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
                let order = ready.order.as_ref().filter(|_| combines);
                let mut to = Emitting {
                    cut: &ready.cut,
                    out,
                    order: order.map(|order| (order, &mut self.written)),
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
        let order = ready.order.as_ref().filter(|_| self.at == At::Combine);
        // Hadoop takes nothing from a reducer that was given nothing.
        let mut to = Emitting {
            cut: &ready.cut,
            out,
            order: order.map(|order| (order, &mut self.written)),
            is_mute: !self.had_input,
        };
        if !self.lines.is_empty() {
            running.pump.write(&self.lines, &mut to)?;
        }
        running.pump.finish(&mut to)
    }
}
