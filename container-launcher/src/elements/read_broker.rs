//! The read broker that this launcher has for the engines of its node, or stands by for.

use std::path::Path;

use gerbil_task::settings::READ_ORDER;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use read_broker::{Broker, BrokerSettings, HungEngine, IO_TIMEOUT};

use super::watch::turns;
use crate::say;

/// Starts it, for the GPU that the node calls `key`.
///
/// # Errors
///
/// The order is not known, or there is no thread: a sentence.
pub(super) fn start(root: &Path, key: String, order: &str) -> Result<Broker, String> {
    let settings = BrokerSettings {
        folder: turns(root).into(),
        key,
        order: order.to_owned(),
        io_timeout: IO_TIMEOUT,
    };
    let started = Broker::start(settings, end, say);
    started.map_err(|error| format!("{READ_ORDER} is {order:?}: {error}"))
}

/// Kills an engine of this launcher. Another one's finds its connection ended.
fn end(hung: &HungEngine) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", hung.pid));
    let status = status.unwrap_or_default();
    let mut lines = status.lines();
    let parent = lines.find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
    if parent == Some(std::process::id()) {
        // It may have ended by itself.
        kill(Pid::from_raw(hung.pid), Signal::SIGKILL).ok();
    }
}
