//! SequenceFiles whose records are compressed many at a time: see the reader for how they are laid out.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::marker::PhantomData;

use super::codec::Codec;
use crate::datum::{Value, writable::write_long};
use crate::error::{Context as _, Result};
use crate::output::RecordWriter;
use crate::output::sync::SYNC;

/// Writes a file, behind its header.
pub(super) struct BlockedSequence<K, V> {
    file: BufWriter<File>,
    sync: [u8; SYNC],
    codec: Codec,
    /// A block ends when its keys and values have so many bytes.
    most: usize,
    records: i64,
    /// Lengths of keys, keys, lengths of values, values of the present block.
    parts: [Vec<u8>; 4],
    one: Vec<u8>,
    of: PhantomData<fn(K, V)>,
}

impl<K: Value, V: Value> BlockedSequence<K, V> {
    pub(super) const fn new(
        file: BufWriter<File>,
        sync: [u8; SYNC],
        codec: Codec,
        most: usize,
    ) -> Self {
        Self {
            file,
            sync,
            codec,
            most,
            records: 0,
            parts: [const { Vec::new() }; 4],
            one: Vec::new(),
            of: PhantomData,
        }
    }

    fn end_block(&mut self) -> Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let mut block = [&[0xFF; 4], self.sync.as_slice()].concat();
        write_long(self.records, &mut block);
        self.records = 0;
        for part in &mut self.parts {
            self.one.clear();
            self.codec.compress(part, &mut self.one)?;
            part.clear();
            write_long(i64::try_from(self.one.len())?, &mut block);
            block.extend_from_slice(&self.one);
        }
        self.file.write_all(&block).context(|| "writing output")
    }
}

/// Appends to `bytes`, and the length of what was appended to `lengths`.
fn append<T: Value>(encoded: &[u8], lengths: &mut Vec<u8>, bytes: &mut Vec<u8>) -> Result<()> {
    let before = bytes.len();
    T::to_writable(encoded, bytes)?;
    write_long(i64::try_from(bytes.len() - before)?, lengths);
    Ok(())
}

impl<K: Value, V: Value> RecordWriter for BlockedSequence<K, V> {
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let [key_lengths, keys, value_lengths, values] = &mut self.parts;
        append::<K>(key, key_lengths, keys)?;
        append::<V>(value, value_lengths, values)?;
        self.records += 1;
        if keys.len() + values.len() >= self.most {
            self.end_block()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.end_block()?;
        self.file.flush().context(|| "writing output")
    }
}
