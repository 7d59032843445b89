//! An ApplicationMaster that does what a test says, and real launchers that dial it.

#![allow(
    dead_code,
    unused_imports,
    reason = "a program of one test uses its part of this"
)]

mod appmaster;
pub mod door;
mod keys;
mod launcher;
mod link;
mod service;
mod share;
pub mod tasks;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use appmaster::{Appmaster, Relay};
pub use launcher::{LaunchContainer, Launcher, is_alive, status_kib};
pub use link::Link;
pub use share::{share, with};

/// Longer than anything takes that works, keepalive aside.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("nothing happened for too long")
}

/// The launcher.
pub fn binary() -> PathBuf {
    example("launcher")
}

/// Cargo builds examples beside the tests.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples").join(name)
}
