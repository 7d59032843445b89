//! A resource type of the site's own, which YARN counts beside GPUs: three on the first node, one on the
//! second.

use anyhow::{Result, ensure};
use it::Builder;
use it::bed::{Case, Given};
use it::reported::{hosts, reported, shares};
use it::settings::File;

pub const CASES: &[(&str, Case)] = &[(
    "resource types: processes go where the cluster counts what they want",
    where_it_is,
)];

/// Of one release.
pub const FURTHER: &[(&str, Case)] = &[
    (
        "resource types: what can never be given is refused",
        refused,
    ),
    ("resource types: a job waits for those of another", waits),
];

const TYPE: &str = "acc/kmeans-map";
const ONE: &str = "acc/kmeans-map=1";
/// Of the first nodes; the others have none.
const EACH: [u64; 2] = [3, 1];

/// A cluster that counts it, and so counts everything.
pub fn counting(mut builder: Builder) -> Builder {
    let types = format!("yarn.io/gpu,{TYPE}");
    builder = builder
        .set(File::ResourceTypes, "yarn.resource-types", types.as_str())
        // Where the cluster has GPUs they alone are named here, and the CapacityScheduler reads this.
        .set(File::Yarn, "yarn.resource-types", types)
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

fn where_it_is(given: &Given) -> Result<()> {
    let program = given.script("short", "true")?;
    let line = ["-n", "4", "--resource", ONE, &program];
    let dry = given.gerbil(&[&["--dry-run"][..], &line].concat())?;
    let dry = dry.finish()?.success("the dry run")?.stdout_text();
    let unit = format!("1 vcore and 1 {TYPE}");
    ensure!(dry.contains(&unit), "{dry}");
    let (_, report) = reported(given, &line)?;
    // The node with the ApplicationMaster has less room, and comes second.
    let mut placed = shares(given, &report)?;
    placed.sort_unstable();
    ensure!(placed == [(0, 3), (1, 1)], "{report:?}");
    let mut granted: Vec<Option<u64>> = (report.grants.iter())
        .map(|grant| grant.granted.others.get(TYPE).copied())
        .collect();
    granted.sort_unstable();
    ensure!(granted == [Some(1), Some(3)], "{:?}", report.grants);
    let explained = given.gerbil(&[&["--explain"][..], &line].concat())?;
    let explained = explained.finish()?.success("the explained job")?;
    let told = explained.stderr_text();
    ensure!(told.contains(&format!("3 {TYPE}")), "{told}");
    given.is_clean()
}

fn refused(given: &Given) -> Result<()> {
    let unknown = [
        "does not count license",
        "it counts yarn.io/gpu, acc/kmeans-map",
    ];
    let line = ["-n", "1", "--resource", "license=1", "true"];
    given.fails(&line, 65, &unknown)?;
    let unknown = ["acc/other is no resource type of this cluster: add it to resource-types.xml"];
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
