//! A file that chunks are read from, past the page cache where the file system allows that.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// What positions, lengths and addresses are multiples of where the page cache is passed by.
pub const BLOCK: u64 = 4096;

/// How chunks are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoMode {
    /// Past the page cache, where that is not refused.
    #[default]
    Direct,
    /// Through it.
    Buffered,
}

/// Where chunks come from.
pub trait ChunkSource: Sync {
    /// Reads the `bytes` from `offset` on into the beginning of `into`, which is a multiple of [`BLOCK`] long and no
    /// shorter.
    ///
    /// # Errors
    ///
    /// They cannot be read, or the file ends before.
    fn read(&self, offset: u64, bytes: u64, into: &mut [u8]) -> io::Result<()>;
}

/// A file.
#[derive(Debug)]
pub struct ChunkFile {
    buffered: File,
    direct: Option<File>,
    /// A direct read was refused.
    refused: AtomicBool,
}

impl ChunkFile {
    /// Of a descriptor that is open for reading, whose file is opened once more to be read directly.
    ///
    /// # Errors
    ///
    /// The descriptor cannot be had twice.
    pub fn new(file: impl AsFd, mode: IoMode) -> io::Result<Self> {
        let buffered = File::from(file.as_fd().try_clone_to_owned()?);
        let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
        let again = format!("/proc/self/fd/{}", buffered.as_raw_fd());
        let direct = match mode {
            // Refused by file systems that have nothing but the page cache, and where /proc is not there.
            IoMode::Direct => OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(again)
                .ok(),
            IoMode::Buffered => None,
        };
        Ok(Self {
            buffered,
            direct,
            refused: AtomicBool::new(false),
        })
    }

    /// How it is read by now.
    #[must_use]
    pub fn mode(&self) -> IoMode {
        match self.direct.is_some() && !self.refused.load(Ordering::Relaxed) {
            true => IoMode::Direct,
            false => IoMode::Buffered,
        }
    }

    /// Reads whole blocks; false: that is refused here.
    fn read_direct(&self, offset: u64, bytes: usize, into: &mut [u8]) -> io::Result<bool> {
        let Some(direct) = &self.direct else {
            return Ok(false);
        };
        let mut have = 0;
        while have < bytes {
            let at = offset.saturating_add(u64::try_from(have).unwrap_or(u64::MAX));
            // What is left after the end of the last block is not wanted, and asked for all the same.
            let whole = bytes.next_multiple_of(usize::try_from(BLOCK).unwrap_or(4096));
            let room = into.get_mut(have..whole).unwrap_or_default();
            // A read that ended inside of a block is the file's end.
            if !at.is_multiple_of(BLOCK) || room.is_empty() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match direct.read_at(room, at) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => have = have.saturating_add(read),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl ChunkSource for ChunkFile {
    fn read(&self, offset: u64, bytes: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let direct = self.mode() == IoMode::Direct && offset.is_multiple_of(BLOCK);
        if direct {
            if self.read_direct(offset, bytes, into)? {
                return Ok(());
            }
            self.refused.store(true, Ordering::Relaxed);
        }
        let into = into.get_mut(..bytes).ok_or(ErrorKind::InvalidInput)?;
        self.buffered.read_exact_at(into, offset)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;

    use super::*;
    use crate::ChunkBuffer;

    fn file(folder: &Path) -> File {
        let mut file = tempfile::tempfile_in(folder).unwrap();
        let bytes: Vec<u8> = (0..20_000_u32)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        file.write_all(&bytes).unwrap();
        file
    }

    /// On a disk, and in memory, where direct reads may be refused.
    #[test]
    fn whole_and_short_chunks_are_read_directly_or_not() {
        for folder in [
            std::env::current_exe().unwrap().parent().unwrap(),
            Path::new("/dev/shm"),
        ] {
            let file = file(folder);
            for mode in [IoMode::Direct, IoMode::Buffered] {
                let source = ChunkFile::new(&file, mode).unwrap();
                let mut buffer = ChunkBuffer::new(8192).unwrap();
                for (offset, bytes) in [(0, 8192), (8192, 8192), (16_384, 3616), (100, 50)] {
                    source.read(offset, bytes, buffer.bytes_mut()).unwrap();
                    let wanted = (offset..offset + bytes).map(|at| u8::try_from(at % 251).unwrap());
                    let found = &buffer.bytes()[..usize::try_from(bytes).unwrap()];
                    assert!(
                        wanted.eq(found.iter().copied()),
                        "{mode:?} {offset} {bytes}"
                    );
                }
                for (offset, bytes) in [(16_384, 3617), (20_480, 1), (16_384, 8192)] {
                    let read = source.read(offset, bytes, buffer.bytes_mut());
                    assert_eq!(read.unwrap_err().kind(), ErrorKind::UnexpectedEof);
                }
            }
        }
    }
}
