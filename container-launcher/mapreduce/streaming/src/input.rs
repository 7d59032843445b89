//! The input of a mapper's command: blocks of records, as they are written to it.

use gerbil_mapreduce::{
    Granule, InputFormat, KeyValueText, LineBlocks, MarkedRecords, NLines, Result,
    SequenceFileAsText, SequenceFileRaw, Settings, Source, TextLines, Wire,
};

use crate::form::{Form, MAP_INPUT};
use crate::settings::{Format, MAP_INPUT_SEPARATOR, maps_skip, text};
use crate::writable::Class;

/// Bytes after which lines make a block.
const BLOCK: usize = 64 << 10;

/// Records in blocks: lines of text are handed on as they stand in the file.
#[derive(Debug)]
pub(crate) struct StreamInput;

/// Reads a piece.
#[derive(Debug)]
pub(crate) enum StreamReader {
    Blocks(<LineBlocks as InputFormat>::Reader),
    Lines(Written<TextLines>),
    Pairs(Written<KeyValueText>),
    Numbered(Written<NLines>),
    AsText(Box<Written<SequenceFileAsText>>),
    Sequence(Box<Written<SequenceFileRaw>>),
    Marked(Written<MarkedRecords>),
}

/// Records that are written as a command reads them.
pub(crate) struct Written<F: InputFormat> {
    reader: F::Reader,
    block: Vec<u8>,
    scratch: Vec<u8>,
    count: u64,
    /// Bytes after which records make a block.
    most: usize,
    form: Form,
    /// What stands between key and value in a line; none: keys are left out.
    separator: Option<Vec<u8>>,
}

impl<F: InputFormat> std::fmt::Debug for Written<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} records of {}",
            self.count,
            std::any::type_name::<F>()
        )
    }
}

/// A key or a value of the input.
pub(crate) trait Field {
    fn append(&self, form: Form, scratch: &mut Vec<u8>, block: &mut Vec<u8>) -> Result<()>;
}

impl Field for u64 {
    fn append(&self, form: Form, _: &mut Vec<u8>, block: &mut Vec<u8>) -> Result<()> {
        use std::io::Write as _;
        match form {
            Form::Text => Ok(write!(block, "{self}")?),
            _ => Class::Long.write(&self.to_be_bytes(), form, block),
        }
    }
}

impl Field for &[u8] {
    fn append(&self, form: Form, _: &mut Vec<u8>, block: &mut Vec<u8>) -> Result<()> {
        Class::Text.write(self, form, block)
    }
}

impl Field for Wire<'_> {
    fn append(&self, form: Form, scratch: &mut Vec<u8>, block: &mut Vec<u8>) -> Result<()> {
        let class = Class::of_name(self.class)?;
        scratch.clear();
        class.content(self.bytes, scratch)?;
        class.write(scratch, form, block)
    }
}

impl<F> Written<F>
where
    F: for<'a> InputFormat<Key<'a>: Field, Value<'a>: Field>,
{
    fn open(source: Source, settings: &Settings, form: Form, ignores_keys: bool) -> Result<Self> {
        let separator = text(settings, MAP_INPUT_SEPARATOR, "\t");
        Ok(Self {
            reader: F::open(source, settings)?,
            block: Vec::new(),
            scratch: Vec::new(),
            count: 0,
            most: if maps_skip(settings)? { 1 } else { BLOCK },
            form,
            separator: (!ignores_keys).then(|| separator.as_bytes().to_vec()),
        })
    }

    fn next(&mut self) -> Result<Option<&[u8]>> {
        let Self { form, block, .. } = self;
        block.clear();
        self.count = 0;
        while block.len() < self.most
            && let Some((key, value)) = F::next(&mut self.reader)?
        {
            if let Some(separator) = &self.separator {
                key.append(*form, &mut self.scratch, block)?;
                if *form == Form::Text {
                    block.extend_from_slice(separator);
                }
            }
            value.append(*form, &mut self.scratch, block)?;
            if *form == Form::Text {
                block.push(b'\n');
            }
            self.count += 1;
        }
        Ok((self.count > 0).then_some(self.block.as_slice()))
    }
}

impl InputFormat for StreamInput {
    type Key<'a> = u64;
    type Value<'a> = &'a [u8];
    type Reader = StreamReader;

    fn granule(settings: &Settings) -> Result<Granule> {
        match Format::of(settings)? {
            Format::Text => LineBlocks::granule(settings),
            Format::KeyValueText => KeyValueText::granule(settings),
            Format::NLine => NLines::granule(settings),
            Format::SequenceFileAsText | Format::SequenceFile => {
                SequenceFileAsText::granule(settings)
            }
            Format::Xml => MarkedRecords::granule(settings),
        }
    }

    fn map_files(settings: &Settings) -> Result<bool> {
        Ok(match Format::of(settings)? {
            Format::SequenceFileAsText | Format::SequenceFile => SequenceFileAsText::MAP_FILES,
            Format::Text | Format::KeyValueText | Format::NLine | Format::Xml => false,
        })
    }

    fn open(source: Source, settings: &Settings) -> Result<StreamReader> {
        let format = Format::of(settings)?;
        let form = Form::of(settings, MAP_INPUT)?;
        let ignores_keys = format.ignores_keys(form, settings)?;
        Ok(match format {
            Format::Text if ignores_keys && !maps_skip(settings)? => {
                StreamReader::Blocks(LineBlocks::open(source, settings)?)
            }
            Format::Text => {
                StreamReader::Lines(Written::open(source, settings, form, ignores_keys)?)
            }
            Format::KeyValueText => {
                StreamReader::Pairs(Written::open(source, settings, form, ignores_keys)?)
            }
            Format::NLine => {
                StreamReader::Numbered(Written::open(source, settings, form, ignores_keys)?)
            }
            Format::SequenceFileAsText => StreamReader::AsText(Box::new(Written::open(
                source,
                settings,
                form,
                ignores_keys,
            )?)),
            Format::SequenceFile => StreamReader::Sequence(Box::new(Written::open(
                source,
                settings,
                form,
                ignores_keys,
            )?)),
            Format::Xml => {
                StreamReader::Marked(Written::open(source, settings, form, ignores_keys)?)
            }
        })
    }

    fn position(reader: &StreamReader) -> u64 {
        match reader {
            StreamReader::Blocks(reader) => LineBlocks::position(reader),
            StreamReader::Lines(written) => TextLines::position(&written.reader),
            StreamReader::Pairs(written) => KeyValueText::position(&written.reader),
            StreamReader::Numbered(written) => NLines::position(&written.reader),
            StreamReader::AsText(written) => SequenceFileAsText::position(&written.reader),
            StreamReader::Sequence(written) => SequenceFileRaw::position(&written.reader),
            StreamReader::Marked(written) => MarkedRecords::position(&written.reader),
        }
    }

    fn records(reader: &StreamReader) -> u64 {
        match reader {
            StreamReader::Blocks(reader) => LineBlocks::records(reader),
            StreamReader::Lines(written) => written.count,
            StreamReader::Pairs(written) => written.count,
            StreamReader::Numbered(written) => written.count,
            StreamReader::AsText(written) => written.count,
            StreamReader::Sequence(written) => written.count,
            StreamReader::Marked(written) => written.count,
        }
    }

    fn next(reader: &mut StreamReader) -> Result<Option<(u64, &[u8])>> {
        let block = match reader {
            StreamReader::Blocks(reader) => return LineBlocks::next(reader),
            StreamReader::Lines(written) => written.next()?,
            StreamReader::Pairs(written) => written.next()?,
            StreamReader::Numbered(written) => written.next()?,
            StreamReader::AsText(written) => written.next()?,
            StreamReader::Sequence(written) => written.next()?,
            StreamReader::Marked(written) => written.next()?,
        };
        Ok(block.map(|block| (0, block)))
    }
}
