//! Bounded reads from one file: what is read once is kept, and nothing is allocated that the file does not have.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;

use object::read::{ReadCache, ReadRef};

/// Most bytes of one table that are read.
const TABLE_MAX: u64 = 16 << 20;
/// Most bytes of all tables of one file.
const ALL_MAX: u64 = 40 << 20;

/// A file, and how much of it may still be read.
#[derive(Debug)]
pub struct BoundedFile {
    cache: ReadCache<File>,
    length: u64,
    left: Cell<u64>,
}

impl BoundedFile {
    /// Of `length` bytes.
    #[must_use]
    pub fn new(file: File, length: u64) -> Self {
        Self {
            cache: ReadCache::new(file),
            length,
            left: Cell::new(ALL_MAX),
        }
    }

    /// What `object` reads it by.
    #[must_use]
    pub const fn bounded(&self) -> Bounded<'_> {
        Bounded(self)
    }
}

/// Reads of a [`BoundedFile`].
#[derive(Clone, Copy, Debug)]
pub struct Bounded<'a>(&'a BoundedFile);

impl Bounded<'_> {
    /// Takes so many bytes at `offset` out of what may be read.
    fn take(self, offset: u64, size: u64) -> Result<(), ()> {
        let end = offset.checked_add(size).ok_or(())?;
        let left = self.0.left.get().checked_sub(size).ok_or(())?;
        if end > self.0.length || size > TABLE_MAX {
            return Err(());
        }
        self.0.left.set(left);
        Ok(())
    }
}

impl<'a> ReadRef<'a> for Bounded<'a> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.0.length)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.take(offset, size)?;
        self.0.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        // Names: each costs its own length, which is not known before.
        let length = range.end.saturating_sub(range.start).min(4096);
        let range = range.start..range.start.saturating_add(length);
        let read = self.0.cache.read_bytes_at_until(range.clone(), delimiter);
        // What has no end was looked through all the same.
        let bytes = read.map_or(length, |bytes| {
            u64::try_from(bytes.len()).unwrap_or(u64::MAX)
        });
        self.take(range.start, bytes)?;
        read
    }
}
