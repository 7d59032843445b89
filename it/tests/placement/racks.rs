//! Two racks of two nodes each.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Result, ensure};
use it::bed::{Case, Given};

use tempfile::NamedTempFile;

use crate::UNITS;
use it::reported;

pub const CASES: &[(&str, Case)] = &[("racks: --same-rack keeps a job in one", same_rack)];

/// Which address is in which rack, for every network that a cluster may claim.
pub fn table() -> std::io::Result<NamedTempFile> {
    let mut text = String::new();
    for network in 0..=255 {
        for (node, rack) in [(11, "/r1"), (12, "/r1"), (13, "/r2"), (14, "/r2")] {
            let _written = writeln!(text, "127.{network}.0.{node} {rack}").is_ok();
        }
    }
    let mut file = NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn same_rack(given: &Given) -> Result<()> {
    let program = given.script("short", "hostname >/dev/null")?;
    // The nodes of the first rack have room for all of them, and no more.
    let ranks = (UNITS[0] + UNITS[1]).to_string();
    let line = ["--deploy-mode", "client", "-n", &ranks];
    let (_, spread) = reported::reported(given, &[&line[..], &[&program]].concat())?;
    ensure!(reported::shares(given, &spread)?.len() == 4, "{spread:?}");
    given.is_clean()?;
    let line = [&line[..], &["--same-rack", &program]].concat();
    let (_, together) = reported::reported(given, &line)?;
    let shares = reported::shares(given, &together)?;
    ensure!(shares == [(0, 8), (1, 8)], "{shares:?}");
    given.is_clean()
}
