//! A reducer that is a command, or a combiner that is one.

use gerbil_mapreduce::{Context, Output, Reducer, Result, Text, Values};

use crate::aggregate;
use crate::emitting::Emitting;
use crate::form::{Form, MAP_OUTPUT, REDUCE_INPUT};
use crate::order;
use crate::pump::Listener as _;
use crate::settings::{self, REDUCE_INPUT_SEPARATOR, text};
use crate::stage::{At, Ready, ready};
use crate::writable::Class;

/// Bytes that are handed to the command at once.
const PIECE: usize = 64 << 10;

/// Hands each key with each of its values to the command, and emits what that prints.
#[derive(Debug)]
pub(crate) struct CommandReducer {
    at: At,
    ready: Option<Ready>,
    separator: Vec<u8>,
    /// What maps have printed, and how the command reads it.
    class: Class,
    form: Form,
    /// What is to be written to the command.
    block: Vec<u8>,
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
            class: Class::Text,
            form: Form::Text,
            block: Vec::new(),
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
        self.class = Class::of_output(Form::of(context.settings(), MAP_OUTPUT)?);
        self.form = Form::of(context.settings(), REDUCE_INPUT)?;
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
        let key = match ready.is_ordered {
            true => order::key(stored),
            false => stored,
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
        let mut to = Emitting {
            by: &mut ready.by,
            out,
            is_mute: false,
        };
        let Some(running) = &mut ready.running else {
            while let Some(value) = values.next()? {
                to.emit(key, value)?;
            }
            return Ok(());
        };
        let Self {
            class, form, block, ..
        } = self;
        if let Some(suspects) = &mut ready.suspects {
            suspects.begins(to.task().at())?;
        }
        while let Some(value) = values.next()? {
            let from = block.len();
            class.write(key, *form, block)?;
            if *form == Form::Text {
                block.extend_from_slice(&self.separator);
            }
            class.write(value, *form, block)?;
            if *form == Form::Text {
                block.push(b'\n');
            }
            if let Some(suspects) = &mut ready.suspects {
                suspects.has(block.get(from..).unwrap_or_default())?;
            }
            if block.len() >= PIECE {
                if let Err(error) = running.pump.write(block, &mut to) {
                    return Err(ready.failed(error, out));
                }
                block.clear();
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
            by: &mut ready.by,
            out,
            is_mute: !self.had_input,
        };
        let written = match self.block.is_empty() {
            true => Ok(()),
            false => running.pump.write(&self.block, &mut to),
        };
        let done = written.and_then(|()| running.pump.finish(&mut to));
        done.map_err(|error| ready.failed(error, out))
    }
}
