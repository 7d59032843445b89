//! A session has several containers on one node: as large as YARN gives any, which is half of a node.

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};
use it::session::{start_crowded, stop};

use crate::NODES;

pub const CASES: &[(&str, Case)] = &[(
    "a session has several of the largest containers on one node",
    several,
)];

/// The memory of a container at the most, MiB; a node has twice as much.
pub const LARGEST: &str = "4096";

/// Two on each node, but for that of the ApplicationMaster.
fn several(given: &Given) -> Result<()> {
    let containers = 2 * NODES - 1;
    // A node with devices has one container; the session looks for them where there are none, and asks for none.
    let nothing = given.folder.join("nothing");
    std::fs::create_dir_all(&nothing)?;
    let nothing = text_of(&nothing)?;
    let options = ["--elements", "scan", "--scan-root", &nothing];
    start_crowded(
        given,
        containers,
        &[&options[..], &["--memory", "2g"]].concat(),
    )?;
    let cpi = given.example("cpi")?;
    let all = (2 * containers).to_string();
    for ranks in [&*all, "3"] {
        let line = ["--session", "s", "-n", ranks, &cpi];
        let finished = given.gerbil(&line)?.finish()?.success("a gang")?;
        let printed = finished.stdout_text();
        ensure!(printed.contains("pi is about 3.14159265358"), "{printed}");
    }
    stop(given, "s")
}
