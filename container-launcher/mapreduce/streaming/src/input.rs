//! The input of a mapper's command: blocks of lines, as they are written to it.

use gerbil_mapreduce::{
    Granule, InputFormat, KeyValueText, LineBlocks, MarkedRecords, NLines, Result,
    SequenceFileAsText, Settings, Source, TextLines,
};

use crate::settings::{Format, MAP_INPUT_SEPARATOR, skips_nothing, text};

/// Bytes after which lines make a block.
const BLOCK: usize = 64 << 10;

/// Records as lines, in blocks: as text they are handed on as they stand in the file.
#[derive(Debug)]
pub(crate) struct StreamInput;

/// Reads a piece.
#[derive(Debug)]
pub(crate) enum StreamReader {
    Blocks(<LineBlocks as InputFormat>::Reader),
    Lines(Written<TextLines>),
    Pairs(Written<KeyValueText>),
    Numbered(Written<NLines>),
    Sequence(Box<Written<SequenceFileAsText>>),
    Marked(Written<MarkedRecords>),
}

/// Records that are written as lines.
pub(crate) struct Written<F: InputFormat> {
    reader: F::Reader,
    block: Vec<u8>,
    count: u64,
    /// What stands between key and value; none: keys are left out.
    separator: Option<Vec<u8>>,
}

impl<F: InputFormat> std::fmt::Debug for Written<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} lines of {}", self.count, std::any::type_name::<F>())
    }
}

/// A key as text.
pub(crate) trait KeyText {
    fn append(&self, block: &mut Vec<u8>);
}

impl KeyText for u64 {
    fn append(&self, block: &mut Vec<u8>) {
        use std::io::Write as _;
        // Memory takes it.
        drop(write!(block, "{self}"));
    }
}

impl KeyText for &[u8] {
    fn append(&self, block: &mut Vec<u8>) {
        block.extend_from_slice(self);
    }
}

impl<F> Written<F>
where
    F: for<'a> InputFormat<Key<'a>: KeyText, Value<'a> = &'a [u8]>,
{
    fn open(source: Source, settings: &Settings, ignores_keys: bool) -> Result<Self> {
        let separator = text(settings, MAP_INPUT_SEPARATOR, "\t");
        Ok(Self {
            reader: F::open(source, settings)?,
            block: Vec::new(),
            count: 0,
            separator: (!ignores_keys).then(|| separator.as_bytes().to_vec()),
        })
    }

    fn next(&mut self) -> Result<Option<&[u8]>> {
        self.block.clear();
        self.count = 0;
        while self.block.len() < BLOCK
            && let Some((key, value)) = F::next(&mut self.reader)?
        {
            if let Some(separator) = &self.separator {
                key.append(&mut self.block);
                self.block.extend_from_slice(separator);
            }
            self.block.extend_from_slice(value);
            self.block.push(b'\n');
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
        skips_nothing(settings)?;
        match Format::of(settings)? {
            Format::Text => LineBlocks::granule(settings),
            Format::KeyValueText => KeyValueText::granule(settings),
            Format::NLine => NLines::granule(settings),
            Format::SequenceFileAsText => SequenceFileAsText::granule(settings),
            Format::Xml => MarkedRecords::granule(settings),
        }
    }

    fn open(source: Source, settings: &Settings) -> Result<StreamReader> {
        let format = Format::of(settings)?;
        let ignores_keys = format.ignores_keys(settings)?;
        Ok(match format {
            Format::Text if ignores_keys => {
                StreamReader::Blocks(LineBlocks::open(source, settings)?)
            }
            Format::Text => StreamReader::Lines(Written::open(source, settings, false)?),
            Format::KeyValueText => {
                StreamReader::Pairs(Written::open(source, settings, ignores_keys)?)
            }
            Format::NLine => StreamReader::Numbered(Written::open(source, settings, ignores_keys)?),
            Format::SequenceFileAsText => {
                StreamReader::Sequence(Box::new(Written::open(source, settings, ignores_keys)?))
            }
            Format::Xml => StreamReader::Marked(Written::open(source, settings, ignores_keys)?),
        })
    }

    fn position(reader: &StreamReader) -> u64 {
        match reader {
            StreamReader::Blocks(reader) => LineBlocks::position(reader),
            StreamReader::Lines(written) => TextLines::position(&written.reader),
            StreamReader::Pairs(written) => KeyValueText::position(&written.reader),
            StreamReader::Numbered(written) => NLines::position(&written.reader),
            StreamReader::Sequence(written) => SequenceFileAsText::position(&written.reader),
            StreamReader::Marked(written) => MarkedRecords::position(&written.reader),
        }
    }

    fn records(reader: &StreamReader) -> u64 {
        match reader {
            StreamReader::Blocks(reader) => LineBlocks::records(reader),
            StreamReader::Lines(written) => written.count,
            StreamReader::Pairs(written) => written.count,
            StreamReader::Numbered(written) => written.count,
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
            StreamReader::Sequence(written) => written.next()?,
            StreamReader::Marked(written) => written.next()?,
        };
        Ok(block.map(|block| (0, block)))
    }
}
