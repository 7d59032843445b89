//! Memory shared with another process that may write to it at any time.

use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// Why memory could not be shared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The kernel gave none.
    #[error(
        "{length} bytes of memory to share: {source}; raise the limit on open files (ulimit -n) or memory, or ask for fewer or smaller blocks"
    )]
    None {
        /// Bytes asked for.
        length: usize,
        /// The kernel's answer.
        source: rustix::io::Errno,
    },
    /// This process may not make a file as large: writing one would kill it.
    #[error(
        "{length} bytes of memory to share, and this process may make files of {most} at most; raise the limit (ulimit -f), or ask for fewer or smaller blocks"
    )]
    FileSize {
        /// Bytes asked for.
        length: usize,
        /// Bytes allowed.
        most: u64,
    },
    /// What came over the socket could change its size under its reader.
    #[error("the memory that was sent is not sealed against a change of its size")]
    NotSealed,
}

/// A mapped memfd that cannot change its size.
///
/// The other process is not trusted: bytes are copied out and in, words are atomic, and no reference to
/// the memory is ever handed out, except by [`SharedMemory::block`] and [`SharedMemory::block_mut`], to the side
/// that trusts the other.
#[derive(Debug)]
pub struct SharedMemory {
    file: OwnedFd,
    base: NonNull<u8>,
    length: usize,
}

#[expect(
    unsafe_code,
    reason = "a mapping belongs to the process, not to a thread"
)]
// SAFETY: the mapping lives as long as the value, and all access to it is by copies and atomic words.
unsafe impl Send for SharedMemory {}
#[expect(
    unsafe_code,
    reason = "a mapping belongs to the process, not to a thread"
)]
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

impl SharedMemory {
    /// New memory of zeros, all of it there: a later fault for want of memory is impossible.
    ///
    /// # Errors
    ///
    /// No descriptor or no memory is left.
    pub fn create(length: usize) -> Result<Self, MemoryError> {
        let none = |source| MemoryError::None { length, source };
        // Beyond this limit the kernel does not refuse, it sends a signal.
        let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        if let Some(most) = most.filter(|&most| most < length as u64) {
            return Err(MemoryError::FileSize { length, most });
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("gerbil-fpga", flags).map_err(none)?;
        rustix::fs::ftruncate(&file, length as u64).map_err(none)?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length as u64).map_err(none)?;
        rustix::fs::fcntl_add_seals(&file, SEALS).map_err(none)?;
        Self::map(file, length)
    }

    /// Maps what another process sent.
    ///
    /// # Errors
    ///
    /// It is not sealed, or cannot be mapped.
    pub fn open(file: OwnedFd) -> Result<Self, MemoryError> {
        let seals = rustix::fs::fcntl_get_seals(&file).unwrap_or(SealFlags::empty());
        if !seals.contains(SEALS) {
            return Err(MemoryError::NotSealed);
        }
        let length = rustix::fs::fstat(&file)
            .ok()
            .and_then(|stat| usize::try_from(stat.st_size).ok())
            .unwrap_or(0);
        Self::map(file, length)
    }

    #[expect(unsafe_code, reason = "mmap has no safe face")]
    fn map(file: OwnedFd, length: usize) -> Result<Self, MemoryError> {
        let none = |source| MemoryError::None { length, source };
        // SAFETY: a new mapping wherever the kernel likes touches no other.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )
        }
        .map_err(none)?;
        let base = NonNull::new(base.cast()).ok_or(none(rustix::io::Errno::NOMEM))?;
        Ok(Self { file, base, length })
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// What is sent to the other process.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Whether `length` bytes from `offset` on are there.
    fn has(&self, offset: usize, length: usize) -> bool {
        offset
            .checked_add(length)
            .is_some_and(|end| end <= self.length)
    }

    /// A word; `None` where there is none.
    #[expect(unsafe_code, reason = "a word that two processes share")]
    pub fn word(&self, offset: usize) -> Option<&AtomicU32> {
        if !offset.is_multiple_of(4) || !self.has(offset, 4) {
            return None;
        }
        // SAFETY: inside the mapping, which is aligned to a page; whoever else writes it does so one
        // whole word at a time or is a client that may see any value.
        Some(unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(offset).cast()) })
    }

    /// Copies bytes out; false, and nothing copied, where they are not there.
    #[expect(
        unsafe_code,
        reason = "no reference may be made to what another process writes"
    )]
    pub fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        if !self.has(offset, into.len()) {
            return false;
        }
        // SAFETY: inside the mapping, and `into` is private memory.  Bytes that change meanwhile give
        // some mixture, which the caller judges after the copy.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.base.as_ptr().add(offset),
                into.as_mut_ptr(),
                into.len(),
            );
        }
        true
    }

    /// Copies bytes in; false, and nothing copied, where there is no room.
    #[expect(
        unsafe_code,
        reason = "no reference may be made to what another process reads"
    )]
    pub fn write(&self, offset: usize, from: &[u8]) -> bool {
        if !self.has(offset, from.len()) {
            return false;
        }
        // SAFETY: inside the mapping, and `from` is private memory.
        unsafe {
            std::ptr::copy_nonoverlapping(
                from.as_ptr(),
                self.base.as_ptr().add(offset),
                from.len(),
            );
        }
        true
    }

    /// A block to read in place, for the side that trusts the other; empty where there is none.
    ///
    /// # Safety
    ///
    /// Nobody writes to it while the slice lives.
    #[expect(unsafe_code, reason = "zero copies on the client's side")]
    pub unsafe fn block(&self, offset: usize, length: usize) -> &[u8] {
        if !self.has(offset, length) {
            return &[];
        }
        // SAFETY: inside the mapping; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset), length) }
    }

    /// A block to fill in place, for the side that trusts the other; empty where there is none.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes it while the slice lives.
    #[expect(unsafe_code, reason = "zero copies on the client's side")]
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller vouches that it is the only one"
    )]
    pub unsafe fn block_mut(&self, offset: usize, length: usize) -> &mut [u8] {
        if !self.has(offset, length) {
            return &mut [];
        }
        // SAFETY: inside the mapping; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(offset), length) }
    }
}

impl Drop for SharedMemory {
    #[expect(unsafe_code, reason = "munmap has no safe face")]
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which no reference outlives the value.  It cannot fail.
        unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) }.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_change_the_size() {
        let memory = SharedMemory::create(8192).unwrap();
        assert!(rustix::fs::ftruncate(memory.file(), 4096).is_err());
        assert!(rustix::fs::ftruncate(memory.file(), 16384).is_err());
        let again = memory.file().try_clone_to_owned().unwrap();
        let other = SharedMemory::open(again).unwrap();
        assert!(other.write(8188, b"abcd"));
        let mut found = [0; 4];
        assert!(memory.read(8188, &mut found));
        assert_eq!(&found, b"abcd");
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        let memory = SharedMemory::create(4096).unwrap();
        assert!(!memory.read(4093, &mut [0; 4]));
        assert!(!memory.write(usize::MAX, b"x"));
        assert!(memory.word(4096).is_none());
        assert!(memory.word(2).is_none());
    }

    #[test]
    fn memory_that_could_shrink_is_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("open", flags).unwrap();
        rustix::fs::ftruncate(&file, 4096).unwrap();
        assert!(matches!(
            SharedMemory::open(file),
            Err(MemoryError::NotSealed)
        ));
    }
}
