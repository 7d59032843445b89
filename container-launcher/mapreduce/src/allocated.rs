//! How much memory a test's thread asks for at once: decoders must not ask for what nonsense promises.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which notes the largest request of each thread.
struct Noting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn note(bytes: usize) {
    // A thread that is at its end has nothing to note to.
    LARGEST
        .try_with(|largest| largest.set(largest.get().max(bytes)))
        .ok();
}

#[expect(
    unsafe_code,
    reason = "an allocator cannot be written without, and this one only hands on"
)]
// SAFETY: every call is handed to the system's allocator as it came, and noting allocates nothing.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is the system's condition.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static NOTING: Noting = Noting;

/// What `work` gives, and the largest request for memory that this thread made meanwhile, bytes.
pub(crate) fn largest<T>(work: impl FnOnce() -> T) -> (T, usize) {
    LARGEST.set(0);
    let done = work();
    (done, LARGEST.get())
}

#[test]
fn a_request_is_noted() {
    let (room, largest) = largest(|| Vec::<u8>::with_capacity(12_345));
    assert!(
        room.capacity() >= 12_345 && (12_345..20_000).contains(&largest),
        "{largest}"
    );
}
