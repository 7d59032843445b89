//! Memory that a disk reads into without a copy, and that can be pinned: pages of its own, huge ones where there are some.

use std::any::Any;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// A host buffer.
#[derive(Debug)]
pub struct ChunkBuffer {
    address: NonNull<u8>,
    length: usize,
    /// What has pinned it, until this is dropped.
    pinned: Option<Box<dyn Any + Send>>,
}

// SAFETY: the memory belongs to this alone.
#[expect(unsafe_code, reason = "a mapping is a pointer")]
unsafe impl Send for ChunkBuffer {}

impl ChunkBuffer {
    /// So many zeros, which begin on a page.
    ///
    /// # Errors
    ///
    /// There is no memory.
    #[expect(unsafe_code, reason = "a mapping is a pointer")]
    pub fn new(length: usize) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let address = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        // Fewer pieces for the disk's driver. A kernel without huge pages refuses, and does without.
        // SAFETY: the mapping is this function's, and advice changes nothing that can be read.
        unsafe { madvise(address, length, Advice::LinuxHugepage) }.ok();
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            address,
            length,
            pinned: None,
        })
    }

    /// Has its memory pinned by what is told where it begins and how long it is, and answers with what keeps it so, if anything
    /// does: that is dropped before the memory goes.
    ///
    /// # Errors
    ///
    /// As `pin`.
    pub fn pin<T: Send + 'static>(
        &mut self,
        pin: impl FnOnce(*mut u8, usize) -> io::Result<Option<T>>,
    ) -> io::Result<()> {
        if let Some(pinned) = pin(self.address.as_ptr(), self.length)? {
            self.pinned = Some(Box::new(pinned));
        }
        Ok(())
    }

    /// What is in it.
    #[must_use]
    #[expect(unsafe_code, reason = "a mapping is a pointer")]
    pub const fn bytes(&self) -> &[u8] {
        // SAFETY: mapped with this length for as long as this lives.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    /// The same, to be written.
    #[expect(unsafe_code, reason = "a mapping is a pointer")]
    pub const fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed by one alone.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.length) }
    }
}

impl Drop for ChunkBuffer {
    #[expect(unsafe_code, reason = "a mapping is a pointer")]
    fn drop(&mut self) {
        drop(self.pinned.take());
        // SAFETY: mapped by `new` with this length; no reference outlives `self`.
        // An error would mean that it was not mapped: then there is nothing to give back.
        unsafe { munmap(self.address.as_ptr().cast(), self.length) }.ok();
    }
}
