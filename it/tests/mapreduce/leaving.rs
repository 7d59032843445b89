//! A node that leaves the cluster in good order while a job needs what maps have left there.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::session::{shows, stop};
use it::victims::nodes_without_master;
use it::wait;

use crate::{files, is_same, local, mr, program, put, start};

pub const CASES: &[(&str, Case)] = &[(
    "a node is decommissioned, and what maps have left there is made again before it is gone",
    decommissioned,
)];

/// Seconds until YARN takes the node: longer than the rest of the job.
const GRACE: u32 = 55;
/// For the maps that end at once, on all nodes.
const MAPPED: Duration = Duration::from_secs(8);

fn decommissioned(given: &Given) -> Result<()> {
    let slow = format!("{}last\n", "sleep\n".repeat(80));
    let names: Vec<String> = (0..11).map(|number| format!("f{number:02}")).collect();
    let mut inputs = vec![("a", slow.as_str())];
    inputs.extend(names.iter().map(|name| (name.as_str(), "good\nwords\n")));
    let input = put(given, "/leaving/in", &inputs)?;
    start(given)?;
    let faulty = program("faulty")?;
    let line = [
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.map.speculative=false",
        &faulty,
        "--reduces",
        "2",
        "/leaving/in",
        "/leaving/out",
    ];
    let running = mr(given, &line)?.start()?;
    shows(given, "1 job runs")?;
    wait::pause(MAPPED);
    let alone = nodes_without_master(given)?;
    let node = *alone.first().context("no node without the master")?;
    given.cluster.decommission(node, GRACE)?;
    let finished = running.finish()?.success("a job whose node leaves")?;
    let said = finished.stderr_text();
    let host = given.cluster.nodes()[node].host.to_string();
    let words = format!("left on {host} is made again elsewhere: YARN takes the container");
    ensure!(
        said.contains(&words) && !said.contains("fetch") && !said.contains("failed"),
        "{said}"
    );
    let here = local(given, &faulty, &["--reduces", "2", &input], "leaving")?;
    is_same(&files(given, "/leaving/out")?, &here)?;
    stop(given, "s")?;
    given.cluster.recommission(node)
}
