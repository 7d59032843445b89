//! How many files may be open: each rank takes three or four of the launcher's, and programs are started
//! with the limit that the container was given.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The limits, soft and hard, with which this process was started.
static BEFORE: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises this process's soft limit to the hard one. Where that cannot be, it stays.
pub(crate) fn raise() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok()
    {
        // Raised once more it would be what it is.
        let _first = BEFORE.set((soft, hard)).is_ok();
    }
}

/// What a child is to have, soft and hard; `None`: what this process has.
pub(crate) fn before() -> Option<(rlim_t, rlim_t)> {
    BEFORE.get().copied()
}
