//! Sizes of containers: the scheduler counts cores.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};

use crate::NODES;

pub const CASES: &[(&str, Case)] = &[
    ("sizes: --mem-per-proc, --vcores-per-proc", sizes),
    ("more cores than any node has", too_many_cores),
    ("more processes than cores", more_processes_than_cores),
];

fn sizes(given: &Given) -> Result<()> {
    let ranks = NODES.to_string();
    let (held, _) = given.held(
        "sizes",
        &[
            "--mem-per-proc",
            "2g",
            "--vcores-per-proc",
            "2",
            "-n",
            &ranks,
        ],
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
    let without = [(2048, 2); NODES - 1];
    ensure!(used == [&without[..], &[(3072, 3)]].concat(), "{used:?}");
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
    given.ranks(40)
}
