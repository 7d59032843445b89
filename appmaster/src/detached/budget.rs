//! The disk that all jobs share.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are left.
#[derive(Debug)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    pub(super) const fn new(most: u64) -> Self {
        Self(AtomicU64::new(most))
    }

    /// Whether there are so many.
    pub(super) fn has(&self, bytes: u64) -> bool {
        self.0.load(Ordering::Acquire) >= bytes
    }

    /// Takes so many, or none; whether it did.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let taken = |left: u64| left.checked_sub(bytes);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        self.0.fetch_update(order.0, order.1, taken).is_ok()
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::AcqRel);
    }
}
