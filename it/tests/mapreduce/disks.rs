//! Nodes with small disks of their own, which YARN gives up when nine tenths are taken.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::chaos::disk::{self, SmallDisk};
use it::cluster::Builder;
use it::session::{stop, told};
use it::settings::File;
use it::{Daemon, wait};

use crate::{files, mr, program, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "tasks leave a disk before its node is given up, and a foreign container beside them lives",
    left,
)];

/// The node whose disk is almost as full as tasks may make it.
const FULL: usize = 0;
/// To how many hundredths.
const FILLED: u64 = 83;
/// A look of the NodeManager at its disks.
const LOOK: Duration = Duration::from_millis(500);
/// Rows of 100 bytes, of 4 maps: what each leaves is more than the full disk has room for.
const ROWS: &str = "1600000";
const MAPS: &str = "mapreduce.job.maps=4";

/// Nodes look at their disks all the time.
pub fn looks(builder: Builder) -> Builder {
    let interval = "yarn.nodemanager.disk-health-checker.interval-ms";
    let look = LOOK.as_millis().to_string();
    builder.set(File::Yarn, interval, look)
}

fn left(given: &Given) -> Result<()> {
    // The machine's own disk may be fuller than that: only the small ones are judged so.
    disk::bears(&given.cluster, "100", "90")?;
    let disks = [FULL, 1].map(|node| SmallDisk::of_node(&given.cluster, node));
    let [full, other] = disks;
    let (full, other) = (full?, other?);
    // The session is where the small disks are.
    given.cluster.stop(Daemon::NodeManager(2))?;
    let tried = given.cluster.wait_for_nodes(2);
    let tried = tried.and_then(|()| on_disks(given, &full));
    let tried = tried.and_then(|()| given_up(given, &full));
    disk::bears(&given.cluster, "90", "100")?;
    given.cluster.start(Daemon::NodeManager(2))?;
    full.remove(&given.cluster)?;
    other.remove(&given.cluster)?;
    tried
}

fn on_disks(given: &Given, full: &SmallDisk) -> Result<()> {
    let tera = program("tera")?;
    let line = "start s --containers 2 --slots-per-container 2 --memory 512";
    told(given, &line.split(' ').collect::<Vec<_>>(), 0)?;
    let rows = ["-D", MAPS, &tera, "--job", "teragen", ROWS, "/disks/rows"];
    succeeds(given, &rows)?;
    let host = given.cluster.nodes()[FULL].host.to_string();
    let (foreign, _) = given.held("foreign", &["-n", "1", "-hosts", &host])?;
    full.fill_to(FILLED)?;

    let plain = ["-D", "mapreduce.map.output.compress=false"];
    let job = ["--job", "terasort", "-D", "mapreduce.job.reduces=2"];
    let line = [
        &plain[..],
        &[&tera],
        &job,
        &["/disks/rows", "/disks/sorted"],
    ]
    .concat();
    let mut running = mr(given, &line)?.start()?;
    wait::until("the end of the job", DEADLINE, || {
        are_healthy(given)?;
        Ok(running.is_over()?.then_some(()))
    })?;
    let said = running.finish()?.success("terasort")?.stderr_text();
    let folder = given.cluster.nodes()[FULL].folder.display().to_string();
    ensure!(
        said.contains("tasks leave a disk at 85 %") && said.contains(&folder),
        "{said}"
    );
    let bytes: usize = files(given, "/disks/sorted")?.values().map(Vec::len).sum();
    ensure!(bytes == 160_000_000, "{bytes} bytes are sorted");
    let valid = ["--job", "teravalidate", "/disks/sorted", "/disks/valid"];
    succeeds(given, &[&[tera.as_str()], &valid[..]].concat())?;
    are_healthy(given)?;
    foreign.let_go()?;
    stop(given, "s")
}

fn are_healthy(given: &Given) -> Result<()> {
    let nodes = given.cluster.resource_manager().nodes()?;
    // Those that were started again on their small disks are listed twice.
    let running = nodes.iter().filter(|node| node.state == "RUNNING");
    ensure!(running.count() == 2, "{nodes:?}");
    Ok(())
}

/// It is the disk that YARN looks at: filled up it takes the node away.
fn given_up(given: &Given, full: &SmallDisk) -> Result<()> {
    full.fill_to(93)?;
    let seen = wait::until("a node that is given up", DEADLINE, || {
        Ok(are_healthy(given).is_err().then_some(()))
    });
    seen.context("the case shows nothing")
}
