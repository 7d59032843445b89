//! Hadoop's SequenceFile, version 6: see the reader for how it is laid out.

mod blocks;
mod codec;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::marker::PhantomData;

use super::sync::{SYNC, sync_of_file};
use super::{OutputFormat, RecordWriter};
use crate::datum::{Value, writable::write_long};
use crate::error::{Context as _, Error, Result};
use crate::settings::Settings;
use blocks::BlockedSequence;
use codec::{Codec, Compressed};

/// A SequenceFile. Settings say whether it is compressed, value by value or block by block, and with which codec; without one
/// it is zlib.
#[derive(Debug)]
pub struct SequenceFileOutput;

/// About so many bytes are between two syncs, as in Hadoop 3.
const SYNC_EVERY: u64 = 100 << 10;

struct SequenceWriter<K, V> {
    file: BufWriter<File>,
    sync: [u8; SYNC],
    since: u64,
    codec: Option<Codec>,
    key: Vec<u8>,
    value: Vec<u8>,
    stored: Vec<u8>,
    of: PhantomData<fn(K, V)>,
}

/// The class of a type's Writable.
fn class<T: Value>() -> Result<&'static str> {
    T::WRITABLE.ok_or_else(|| {
        Error::new(format!(
            "{} has no Writable, so it cannot go to a SequenceFile",
            std::any::type_name::<T>()
        ))
    })
}

fn push_text(text: &str, out: &mut Vec<u8>) -> Result<()> {
    write_long(i64::try_from(text.len())?, out);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

impl<K: Value, V: Value> OutputFormat<K, V> for SequenceFileOutput {
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        let compressed = Compressed::of(settings)?;
        let mut header = b"SEQ\x06".to_vec();
        push_text(class::<K>()?, &mut header)?;
        push_text(class::<V>()?, &mut header)?;
        header.extend_from_slice(&[
            u8::from(compressed.codec().is_some()),
            u8::from(matches!(compressed, Compressed::Blocks(..))),
        ]);
        if let Some(codec) = compressed.codec() {
            push_text(codec.class(), &mut header)?;
        }
        header.extend_from_slice(&[0; 4]);
        let sync = sync_of_file(settings)?;
        header.extend_from_slice(&sync);
        let mut file = BufWriter::with_capacity(256 << 10, file);
        file.write_all(&header).context(|| "writing output")?;
        if let Compressed::Blocks(codec, bytes) = compressed {
            return Ok(Box::new(BlockedSequence::<K, V>::new(
                file, sync, codec, bytes,
            )));
        }
        Ok(Box::new(SequenceWriter::<K, V> {
            file,
            sync,
            since: 0,
            codec: compressed.codec(),
            key: Vec::new(),
            value: Vec::new(),
            stored: Vec::new(),
            of: PhantomData,
        }))
    }

    /// Nothing; but what could not be written is said here, before there is a task.
    fn suffix(settings: &Settings) -> Result<String> {
        class::<K>()?;
        class::<V>()?;
        Compressed::of(settings)?;
        Ok(String::new())
    }
}

impl<K: Value, V: Value> RecordWriter for SequenceWriter<K, V> {
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.key.clear();
        K::to_writable(key, &mut self.key)?;
        self.value.clear();
        V::to_writable(value, &mut self.value)?;
        if let Some(codec) = self.codec {
            self.stored.clear();
            codec.compress(&self.value, &mut self.stored)?;
            std::mem::swap(&mut self.stored, &mut self.value);
        }
        if self.since >= SYNC_EVERY {
            self.file
                .write_all(&[0xFF; 4])
                .and_then(|()| self.file.write_all(&self.sync))?;
            self.since = 0;
        }
        let length = i32::try_from(self.key.len() + self.value.len())?;
        let written = self
            .file
            .write_all(&length.to_be_bytes())
            .and_then(|()| {
                self.file
                    .write_all(&i32::try_from(self.key.len()).unwrap_or(0).to_be_bytes())
            })
            .and_then(|()| self.file.write_all(&self.key))
            .and_then(|()| self.file.write_all(&self.value));
        self.since += 8 + (self.key.len() + self.value.len()) as u64;
        written.context(|| "writing output")
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.file.flush().context(|| "writing output")
    }
}
