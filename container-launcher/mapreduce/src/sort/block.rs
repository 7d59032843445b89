//! Records in blocks: written one after the other, read with `pread`.
//!
//! ```text
//!  0         4            8           12      13         16         20
//!  +---------+------------+-----------+-------+----------+----------+----------------------+
//!  | raw u32 | stored u32 | recs u32  | codec | 0 0 0    | CRC32C   | `stored` bytes       |
//!  +---------+------------+-----------+-------+----------+----------+----------------------+
//! ```
//!
//! All little-endian; the CRC is of the first 16 bytes and the stored ones. Raw bytes are a row of records
//! `{key length, value length, key, value}`, lengths as unsigned LEB128. A record never spans blocks: one
//! that is longer than [`BLOCK`] is a block of its own.

use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use gerbil_task::{Page, Partition};

use super::codec::{Codec, Compressor, decompress};
use super::digest::Digests;
use super::scratch::Spill;
use crate::error::{Context as _, Error, Result};
use crate::width::word;

/// Bytes of a block's head.
pub(crate) const HEAD: usize = 20;
/// Raw bytes at which a block is closed.
pub(crate) const BLOCK: usize = 256 << 10;
/// Most bytes of the lengths of a record, which stand in front of it.
const LENGTHS: usize = 2 * 5;
/// Most bytes that a single record may have, whatever the settings: a length of 32 bits and some room.
pub(crate) const RECORD_MAX: usize = 1 << 30;

/// Appends a length.
#[inline]
fn push_length(mut length: u32, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    out.push(length.to_le_bytes()[0]);
}

/// Takes a length from `bytes` at `at`.
#[inline]
fn take_length(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(usize::from(first));
    }
    let mut length = usize::from(first & 0x7F);
    for shift in [7, 14, 21, 28] {
        let byte = *bytes.get(*at)?;
        *at += 1;
        length |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(length);
        }
    }
    None
}

/// Writes the blocks of one file, partition by partition, and shows with each of them that the task gets on.
pub(crate) struct BlockWriter {
    file: Spill,
    page: Page,
    compressor: Compressor,
    /// Room for the head, then the raw bytes.
    buffer: Vec<u8>,
    records: u32,
    at: u64,
    current: Partition,
    digests: Digests,
    partitions: Vec<Partition>,
}

impl BlockWriter {
    pub(crate) fn new(file: Spill, codec: Codec, page: &Page) -> Result<Self> {
        let mut buffer = Vec::with_capacity(HEAD + BLOCK + (BLOCK >> 2));
        buffer.resize(HEAD, 0);
        Ok(Self {
            file,
            page: page.clone(),
            compressor: Compressor::new(codec)?,
            buffer,
            records: 0,
            at: 0,
            current: Partition::default(),
            digests: Digests::default(),
            partitions: Vec::new(),
        })
    }

    /// Shows that the task gets on, before what may take any time.
    #[inline]
    pub(crate) fn alive(&self) {
        self.page.alive();
    }

    /// Appends a record to the present partition.
    #[inline]
    pub(crate) fn record(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.buffer.len() + LENGTHS + key.len() + value.len() > HEAD + BLOCK && self.records > 0
        {
            self.flush()?;
        }
        push_length(word(key.len()), &mut self.buffer);
        push_length(word(value.len()), &mut self.buffer);
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
        self.digests.record(key, value);
        self.records += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let (head, raw) = self.buffer.split_at_mut(HEAD);
        let head: &mut [u8; HEAD] = head.try_into()?;
        let raw: &[u8] = raw;
        head[..4].copy_from_slice(&word(raw.len()).to_le_bytes());
        head[8..12].copy_from_slice(&self.records.to_le_bytes());
        let compressed = self.compressor.compress(raw)?;
        let (codec, stored) = compressed.unwrap_or((Codec::None, raw));
        head[4..8].copy_from_slice(&word(stored.len()).to_le_bytes());
        head[12] = codec.byte();
        let crc = crc32c::crc32c_append(crc32c::crc32c(&head[..16]), stored);
        head[16..].copy_from_slice(&crc.to_le_bytes());
        self.digests.block(head);
        let length = (HEAD + stored.len()) as u64;
        if compressed.is_some() {
            self.file
                .write_all(head)
                .and_then(|()| self.file.write_all(stored))
                .context(|| "spilling map output")?;
        } else {
            self.file
                .write_all(&self.buffer)
                .context(|| "spilling map output")?;
        }
        self.page.alive();
        self.at += length;
        self.current.length += length;
        self.current.records += u64::from(self.records);
        self.records = 0;
        self.buffer.truncate(HEAD);
        self.buffer.shrink_to(HEAD + 2 * BLOCK);
        Ok(())
    }

    /// The present partition has all its records.
    pub(crate) fn end_partition(&mut self) -> Result<()> {
        self.flush()?;
        self.current.bytes_digest = self.digests.bytes;
        self.current.records_digest = self.digests.records;
        self.partitions.push(self.current);
        self.current = Partition {
            offset: self.at,
            ..Partition::default()
        };
        self.digests = Digests::default();
        Ok(())
    }

    /// The file, and where its partitions lie.
    pub(crate) fn finish(self) -> (Spill, Vec<Partition>) {
        (self.file, self.partitions)
    }
}

/// A sorted row of records in a file: one partition of one spill or map output.
pub(crate) struct SortedRun {
    file: Arc<Spill>,
    at: u64,
    end: u64,
    /// Where the present block begins.
    block_at: u64,
    /// Of the present record the key alone is in memory.
    is_parked: bool,
    stored: Vec<u8>,
    block: Vec<u8>,
    next: usize,
    key: (usize, usize),
    value_end: usize,
    record_max: usize,
}

impl SortedRun {
    /// The run of `length` bytes at `offset`; positioned before its first record.
    pub(crate) fn new(file: Arc<Spill>, offset: u64, length: u64, record_max: usize) -> Self {
        let (stored, block) = (Vec::new(), Vec::new());
        Self {
            file,
            at: offset,
            end: offset + length,
            block_at: offset,
            is_parked: false,
            stored,
            block,
            next: 0,
            key: (0, 0),
            value_end: 0,
            record_max: record_max.min(RECORD_MAX),
        }
    }

    /// Goes to the next record; false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        while self.next >= self.block.len() {
            self.is_parked = false;
            if self.at >= self.end {
                self.key = (0, 0);
                self.value_end = 0;
                // Others go on, and need the memory.
                self.block = Vec::new();
                self.stored = Vec::new();
                return Ok(false);
            }
            self.read_block()?;
        }
        self.take()
    }

    /// Takes the record that comes next in the block.
    #[inline]
    fn take(&mut self) -> Result<bool> {
        let mut at = self.next;
        let lengths = take_length(&self.block, &mut at).zip(take_length(&self.block, &mut at));
        match lengths {
            Some((key, value))
                if key <= self.block.len() - at && value <= self.block.len() - at - key =>
            {
                self.key = (at, at + key);
                self.value_end = at + key + value;
                self.next = self.value_end;
                Ok(true)
            }
            _ => Err(Error::new(
                "a block of map output ends in the middle of a record",
            )),
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.block.get(self.key.0..self.key.1).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.block
            .get(self.key.1..self.value_end)
            .unwrap_or_default()
    }

    /// Bytes that the present block takes beyond what every run may have: it is one long record then.
    #[inline]
    pub(crate) const fn excess(&self) -> usize {
        self.block.len().saturating_sub(BLOCK)
    }

    /// Lets go of a long record's value, until it is [called for](Self::unpark).
    pub(crate) fn park(&mut self) {
        let (from, to) = self.key;
        // Nothing else is in the block: a record that does not span blocks has its own where it is long.
        if self.is_parked || from > LENGTHS || self.next < self.block.len() {
            return;
        }
        let key = self.key().to_vec();
        self.block = key;
        self.key = (0, to - from);
        (self.value_end, self.next) = (self.key.1, self.key.1);
        self.is_parked = true;
    }

    #[inline]
    pub(crate) const fn is_parked(&self) -> bool {
        self.is_parked
    }

    /// Reads a long record again whose value was let go.
    pub(crate) fn unpark(&mut self) -> Result<()> {
        self.is_parked = false;
        self.at = self.block_at;
        self.read_block()?;
        self.take().map(drop)
    }

    /// Bytes that are set aside for blocks.
    #[cfg(test)]
    pub(crate) const fn set_aside(&self) -> usize {
        self.block.capacity() + self.stored.capacity()
    }

    fn read_block(&mut self) -> Result<()> {
        self.block_at = self.at;
        // What was a long record leaves its memory to others.
        for buffer in [&mut self.block, &mut self.stored] {
            if buffer.capacity() > 2 * BLOCK {
                *buffer = Vec::new();
            }
        }
        let whole = |at: u64| move || format!("map output at byte {at}");
        let mut head = [0; HEAD];
        if self.end - self.at < HEAD as u64 {
            return Err(Error::new("the last block is cut off").context(whole(self.at)()));
        }
        self.file
            .file()
            .read_exact_at(&mut head, self.at)
            .context(whole(self.at))?;
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (raw, stored, codec, crc) =
            (number(0) as usize, number(4) as usize, head[12], number(16));
        let bound = BLOCK.max(self.record_max.saturating_add(16));
        if raw > bound || stored > raw || self.end - self.at - (HEAD as u64) < stored as u64 {
            let words =
                format!("a block of {raw} bytes, {stored} stored, where {bound} are the most");
            return Err(Error::new(words).context(whole(self.at)()));
        }
        let into = if codec == 0 {
            &mut self.block
        } else {
            &mut self.stored
        };
        into.resize(stored, 0);
        self.file
            .file()
            .read_exact_at(into, self.at + HEAD as u64)
            .context(whole(self.at))?;
        if crc32c::crc32c_append(crc32c::crc32c(&head[..16]), into) != crc
            || (codec == 0 && raw != stored)
        {
            return Err(Error::new("its checksum is wrong").context(whole(self.at)()));
        }
        if codec != 0 {
            self.block.resize(raw, 0);
            decompress(codec, &self.stored, &mut self.block).context(whole(self.at))?;
            if self.stored.capacity() > 2 * BLOCK {
                self.stored = Vec::new();
            }
        }
        self.at += (HEAD + stored) as u64;
        self.next = 0;
        Ok(())
    }
}
