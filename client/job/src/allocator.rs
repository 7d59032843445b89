//! How our processes hold memory: little address space, and pages that are used again.
//!
//! YARN's virtual memory check counts address space, and each arena of glibc's allocator reserves
//! 64 MiB of it. And a buffer of output is freed as soon as it is sent: given back to the kernel at once,
//! each would cost a fault for every page of the next.

/// Free memory at the end of an arena that most processes keep, bytes.
pub const KEPT: i32 = 4 << 20;

/// Sets the allocator up, to keep so many bytes that are free at the end of an arena. To be called first in a process's
/// `main`.
///
/// By a call and not by `MALLOC_ARENA_MAX` and its like, which the ranks would inherit.
#[cfg(target_env = "gnu")]
pub fn set_up(kept: i32) {
    /// Arenas that threads share at the most.
    const ARENAS: i32 = 2;
    /// From this size on, bytes, memory is mapped for one use and unmapped after it.
    const MAPPED: i32 = 1 << 20;
    for (setting, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_TRIM_THRESHOLD, kept),
        (libc::M_MMAP_THRESHOLD, MAPPED),
    ] {
        #[expect(unsafe_code, reason = "mallopt has no safe face")]
        // SAFETY: only sets a number in the allocator, under the allocator's own lock.
        let taken = unsafe { libc::mallopt(setting, value) };
        debug_assert_eq!(taken, 1, "a glibc that does not know setting {setting}");
    }
}

/// Other C libraries have their own ways.
#[cfg(not(target_env = "gnu"))]
pub const fn set_up(_: i32) {}
