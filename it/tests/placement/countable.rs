//! A resource type of the site's own, which YARN counts: three on the first node, one on the second. That processes
//! go where it is, is tried on every release, by `main_job`.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::settings::File;

use it::reported::hosts;

pub const CASES: &[(&str, Case)] = &[
    (
        "resource types: what can never be given is refused",
        refused,
    ),
    ("resource types: a job waits for those of another", waits),
];

const TYPE: &str = "acc/kmeans-map";
const ONE: &str = "acc/kmeans-map=1";
/// Of each node.
const EACH: [u64; 2] = [3, 1];

/// A cluster that counts it, and so counts everything.
pub fn counting(builder: it::Builder) -> it::Builder {
    let mut builder = builder
        .nodes(EACH.len())
        .set(File::ResourceTypes, "yarn.resource-types", TYPE)
        .set(
            File::CapacityScheduler,
            "yarn.scheduler.capacity.resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        );
    for (node, count) in EACH.into_iter().enumerate() {
        let name = format!("yarn.nodemanager.resource-type.{TYPE}");
        builder = builder.set_on_node(node, File::NodeResources, &name, count.to_string());
    }
    builder
}

fn refused(given: &Given) -> Result<()> {
    let unknown = ["does not count acc/other", "it counts acc/kmeans-map"];
    let line = ["-n", "1", "--resource", "acc/other=1", "true"];
    given.fails(&line, 65, &unknown)?;
    let line = ["-n", "1", "--resource", "acc/kmeans-map=4", "true"];
    let too_large = ["4 acc/kmeans-map", "3 acc/kmeans-map", "--resource"];
    given.fails(&line, 65, &too_large)?;
    let too_many = ["together hold 4", "acc/kmeans-map is not shared"];
    given.fails(&["-n", "5", "--resource", ONE, "true"], 65, &too_many)?;
    let list = format!("{}:2", hosts(given)[1]);
    given.fails(
        &["-r", "none", "-hosts", &list, "--resource", ONE, "true"],
        65,
        &["can never hold 2 processes", "NodeManager's acc/kmeans-map"],
    )?;
    Ok(())
}

fn waits(given: &Given) -> Result<()> {
    let (first, _) = given.held("first", &["-n", "3", "--resource", ONE])?;
    let program = given.script("short", "true")?;
    let line = ["-n", "1", "--resource", "acc/kmeans-map=2", &program];
    let mut second = given.gerbil(&line)?.start()?;
    second.wait_for_stderr("waiting: ")?;
    // Many heartbeats later it still does.
    it::wait::pause(std::time::Duration::from_secs(5));
    ensure!(!second.is_over()?, "it did not wait");
    first.let_go()?;
    second.finish()?.success("the job that waited")?;
    given.is_clean()
}
