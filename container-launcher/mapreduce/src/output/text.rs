//! Text: key, tab, value, end of line, as Hadoop's `TextOutputFormat`.

use std::fs::File;
use std::io::Write as _;
use std::marker::PhantomData;

use super::{Encoder, OutputFormat, RecordWriter};
use crate::datum::Value;
use crate::error::{Context as _, Result};
use crate::settings::{SEPARATOR, Settings};

/// Key, tab, value, end of line; a key or value of `()` is left out, with the tab.
#[derive(Debug)]
pub struct TextOutput;

struct TextWriter<K, V> {
    file: Encoder,
    separator: Vec<u8>,
    line: Vec<u8>,
    of: PhantomData<fn(K, V)>,
}

impl<K: Value, V: Value> OutputFormat<K, V> for TextOutput {
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        let nothing = <() as Value>::WRITABLE;
        let alone = K::WRITABLE == nothing || V::WRITABLE == nothing;
        let separator = if alone {
            ""
        } else {
            settings.get(SEPARATOR).unwrap_or("\t")
        };
        let file = Encoder::new(file, settings)?;
        Ok(Box::new(TextWriter::<K, V> {
            file,
            separator: separator.into(),
            line: Vec::new(),
            of: PhantomData,
        }))
    }

    fn suffix(settings: &Settings) -> Result<String> {
        Encoder::suffix(settings)
    }
}

impl<K: Value, V: Value> RecordWriter for TextWriter<K, V> {
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.line.clear();
        K::text(key, &mut self.line)?;
        self.line.extend_from_slice(&self.separator);
        V::text(value, &mut self.line)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line).context(|| "writing output")
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.finish()
    }
}
