//! Ports that nobody has.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

use anyhow::{Context as _, Result};

/// Ten in a row, below those that are given to whoever asks for any.
///
/// # Errors
///
/// There are none.
pub fn free() -> Result<RangeInclusive<u16>> {
    let is_free = |ports: &RangeInclusive<u16>| {
        let mut ports = ports.clone();
        ports.all(|port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok())
    };
    let mut ranges = (20_000..30_000).step_by(10).map(|port| port..=port + 9);
    ranges.find(is_free).context("no ten ports are free")
}
