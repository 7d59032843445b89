//! Memory that a launcher and its tasks share: pages of a file that is in no folder, read and written without locks.

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Words of eight bytes of a page.
pub(crate) const WORDS: usize = 512;
/// Bytes of a page.
pub(crate) const BYTES: usize = WORDS * 8;

/// A page.
#[derive(Debug)]
pub(crate) struct SharedPage {
    address: NonNull<[AtomicU64; WORDS]>,
}

// SAFETY: the memory is shared between processes by design and is only touched through atomics.
#[expect(unsafe_code, reason = "memory that a launcher and its tasks share")]
unsafe impl Send for SharedPage {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "memory that a launcher and its tasks share")]
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// Maps page `number` of the file behind `descriptor`; `None`: the file ends before that.
    #[expect(unsafe_code, reason = "memory that a launcher and its tasks share")]
    pub(crate) fn over(descriptor: impl AsFd, number: usize) -> io::Result<Option<Self>> {
        let size = rustix::fs::fstat(&descriptor)?.st_size;
        if usize::try_from(size).map_or(true, |size| size < (number + 1) * BYTES) {
            return Ok(None);
        }
        // SAFETY: a fresh mapping of a file that was just seen to be long enough, at an address of the
        // kernel's choice. Both sides belong to one user and neither shortens the file.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &descriptor,
                (number * BYTES) as u64,
            )?
        };
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Some(Self { address }))
    }

    #[inline]
    #[expect(unsafe_code, reason = "memory that a launcher and its tasks share")]
    pub(crate) const fn words(&self) -> &[AtomicU64; WORDS] {
        // SAFETY: the mapping is as long as that and lives as long as `self`; a page is aligned to more than eight
        // bytes.
        unsafe { self.address.as_ref() }
    }
}

impl Drop for SharedPage {
    #[expect(unsafe_code, reason = "what was mapped is unmapped")]
    fn drop(&mut self) {
        // SAFETY: mapped by `over` with this length; no reference outlives `self`.
        // An error would mean that it was not mapped: then there is nothing to give back.
        unsafe { munmap(self.address.as_ptr().cast(), BYTES) }.ok();
    }
}
