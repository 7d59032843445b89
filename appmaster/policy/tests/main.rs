//! What is decided, as a user and a caller see it.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod allocate;
mod choose;
mod commit;
mod lifecycle;
