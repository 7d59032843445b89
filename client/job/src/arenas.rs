//! Keeps the address space of our processes on the nodes small.
//!
//! YARN's virtual memory check counts address space, and each arena of glibc's allocator reserves
//! 64 MiB of it.

/// Limits the allocator to two arenas. To be called first in a process's `main`.
///
/// By a call and not by `MALLOC_ARENA_MAX`, which the ranks would inherit.
#[cfg(target_env = "gnu")]
pub fn limit() {
    const ARENAS: i32 = 2;
    #[expect(unsafe_code, reason = "mallopt has no safe face")]
    // SAFETY: only sets a number in the allocator, under the allocator's own lock.
    let taken = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
    debug_assert_eq!(taken, 1, "a glibc that does not know M_ARENA_MAX");
}

/// Other C libraries have no arenas.
#[cfg(not(target_env = "gnu"))]
pub const fn limit() {}
