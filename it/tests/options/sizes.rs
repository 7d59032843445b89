//! Sizes of containers, on a cluster whose scheduler counts cores.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use it::bed::{Case, Given};

pub const CASES: &[(&str, Case)] = &[
    ("sizes: --mem-per-proc, --vcores-per-proc", sizes),
    ("more cores than any node has", too_many_cores),
    ("more processes than cores", more_processes_than_cores),
];

fn sizes(given: &Given) -> Result<()> {
    let (held, _) = given.held(
        "sizes",
        &["--mem-per-proc", "2g", "--vcores-per-proc", "2", "-n", "2"],
    )?;
    let mut used: Vec<_> = given
        .cluster
        .resource_manager()
        .nodes()?
        .iter()
        .map(|node| (node.used_memory_mb, node.used_virtual_cores))
        .collect();
    used.sort_unstable();
    // The ApplicationMaster has the smallest container, of one core.
    ensure!(used == [(2048, 2), (3072, 3)], "{used:?}");
    held.let_go()?;
    given.is_clean()
}

fn too_many_cores(given: &Given) -> Result<()> {
    let before = given.applications()?.len();
    given.fails(
        &["--vcores-per-proc", "9", "-n", "1", "true"],
        65,
        &["9", "--vcores-per-proc"],
    )?;
    ensure!(given.applications()?.len() == before, "it was submitted");
    Ok(())
}

fn more_processes_than_cores(given: &Given) -> Result<()> {
    ranks(given, 40)
}

/// `count` ranks of a shell script, each there once.
pub fn ranks(given: &Given, count: usize) -> Result<()> {
    let script = given.script("rank", "echo \"$PMI_RANK\"")?;
    let finished = given.succeeds(&["-n", &count.to_string(), &script])?;
    let stdout = finished.stdout_text();
    let ranks: BTreeSet<usize> = stdout.lines().map(str::parse).collect::<Result<_, _>>()?;
    ensure!(
        ranks == (0..count).collect() && stdout.lines().count() == count,
        "{stdout}"
    );
    Ok(())
}
