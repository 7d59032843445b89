//! GPUs that YARN counts, [`GPUS`] on each node.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::reported::{gpus_told, reported};

use crate::{GPUS, NODES};

pub const CASES: &[(&str, Case)] = &[("GPUs: each rank has one that no other has", one_each)];

/// What is never shared places the ranks: as many go to each node as it has GPUs, though it has memory
/// for more.
fn one_each(given: &Given) -> Result<()> {
    let show = given.script("show", it::reported::SHOW_GPUS)?;
    let nodes = NODES.to_string();
    let ranks = (NODES * GPUS as usize).to_string();
    let (finished, report) = reported(given, &["-n", &ranks, "-gpus-per-proc", "1", &show])?;
    let stdout = finished.stdout_text();
    ensure!(
        gpus_told(&stdout) == [["0"; NODES], ["1"; NODES]].concat(),
        "{stdout}"
    );
    let gpus: Vec<u64> = (report.grants.iter())
        .map(|grant| grant.granted.gpus)
        .collect();
    ensure!(gpus == [u64::from(GPUS); NODES], "{:?}", report.grants);
    let (finished, _) = reported(given, &["-n", &nodes, "-g", "2", &show])?;
    let stdout = finished.stdout_text();
    ensure!(gpus_told(&stdout) == ["0,1"; NODES], "{stdout}");
    given.is_clean()
}
