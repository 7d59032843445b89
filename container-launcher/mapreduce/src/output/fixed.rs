//! Keys and values one after the other, with nothing between: records whose lengths are known elsewhere.

use std::fs::File;
use std::io::Write as _;

use super::{Encoder, OutputFormat, RecordWriter};
use crate::datum::{Bytes, Text};
use crate::error::{Context as _, Result};
use crate::settings::Settings;

/// The bytes of keys and values, one after the other.
#[derive(Debug)]
pub struct FixedOutput;

struct FixedWriter {
    file: Encoder,
}

impl FixedWriter {
    fn open(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        Ok(Box::new(Self {
            file: Encoder::new(file, settings)?,
        }))
    }
}

impl OutputFormat<Bytes, Bytes> for FixedOutput {
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        FixedWriter::open(file, settings)
    }

    fn suffix(settings: &Settings) -> Result<String> {
        Encoder::suffix(settings)
    }
}

impl OutputFormat<Text, Text> for FixedOutput {
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        FixedWriter::open(file, settings)
    }

    fn suffix(settings: &Settings) -> Result<String> {
        Encoder::suffix(settings)
    }
}

impl RecordWriter for FixedWriter {
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.file
            .write_all(key)
            .and_then(|()| self.file.write_all(value))
            .context(|| "writing output")
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.finish()
    }
}
