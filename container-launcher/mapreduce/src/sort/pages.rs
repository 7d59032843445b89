//! Memory that is read in no order: fewer and larger pages, and records asked for before they are needed.

/// Size of a large page, bytes.
const LARGE: usize = 2 << 20;
/// How many records ahead are asked for.
pub(crate) const AHEAD: usize = 12;

/// Makes room for `total` bytes at once, in large pages where the kernel has them.
pub(crate) fn reserve(arena: &mut Vec<u8>, total: usize) {
    arena.reserve_exact(total.saturating_sub(arena.len()));
    let room = arena.spare_capacity_mut();
    let start = room.as_mut_ptr();
    let skip = start.align_offset(LARGE);
    let whole = room.len().saturating_sub(skip) / LARGE * LARGE;
    if whole == 0 {
        return;
    }
    let first = start.wrapping_add(skip).cast();
    // SAFETY: the range lies in the vector's own spare capacity, and advice changes no content.
    // Where the kernel takes no advice, pages are small.
    #[expect(unsafe_code, reason = "advice about memory")]
    unsafe { rustix::mm::madvise(first, whole, rustix::mm::Advice::LinuxHugepage) }.ok();
}

/// Asks for the memory at the head of `bytes`, and goes on.
#[inline]
pub(crate) fn ask_for(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let pointer = bytes.as_ptr();
        // SAFETY: asking for memory ahead reads nothing and faults nowhere, whatever the address.
        #[expect(unsafe_code, reason = "no library asks for memory ahead")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(pointer.cast());
            // A record of a hundred bytes lies in two lines.
            _mm_prefetch::<_MM_HINT_T0>(pointer.wrapping_add(64).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

#[cfg(test)]
mod tests {
    use super::{ask_for, reserve};

    #[test]
    fn room_is_there_and_content_stays() {
        let mut arena = vec![7; 1000];
        reserve(&mut arena, 9 << 20);
        assert!(arena.capacity() >= 9 << 20);
        assert_eq!(arena, vec![7; 1000]);
        ask_for(&arena);
        ask_for(&[]);
        reserve(&mut arena, 10);
        assert_eq!(arena.len(), 1000);
    }
}
