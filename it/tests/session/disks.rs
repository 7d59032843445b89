//! A rank that fills the disk of its node, which YARN gives up when nine tenths are taken.

use std::time::Duration;

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::chaos::disk::{self, SmallDisk};
use it::cluster::Builder;
use it::session::{shows, stop, told};
use it::settings::File;
use it::{Daemon, expect, wait};

use super::{interrupt, job, lingering, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "a rank that fills the disk ends alone, and its node is not given up",
    filled,
)];

/// A look of the NodeManagers at their disks.
const LOOK: Duration = Duration::from_millis(500);
/// As full as the disks are before, hundredths.
const BEFORE: u64 = 70;

/// Nodes look at their disks all the time.
pub fn looks(builder: Builder) -> Builder {
    let interval = "yarn.nodemanager.disk-health-checker.interval-ms";
    let look = LOOK.as_millis().to_string();
    builder.set(File::Yarn, interval, look)
}

fn filled(given: &Given) -> Result<()> {
    // The machine's own disk may be fuller than that: only the small ones are judged so.
    disk::bears(&given.cluster, "100", "90")?;
    let [one, other] = [0, 1].map(|node| SmallDisk::of_node(&given.cluster, node));
    let (one, other) = (one?, other?);
    // The session is where the small disks are.
    given.cluster.stop(Daemon::NodeManager(2))?;
    let tried = given.cluster.wait_for_nodes(2);
    let tried = tried.and_then(|()| on_disks(given, &[&one, &other]));
    disk::bears(&given.cluster, "90", "100")?;
    given.cluster.start(Daemon::NodeManager(2))?;
    one.remove(&given.cluster)?;
    other.remove(&given.cluster)?;
    tried
}

fn on_disks(given: &Given, disks: &[&SmallDisk]) -> Result<()> {
    let line = "start s --containers 2 --slots-per-container 2 --memory 256";
    told(given, &line.split(' ').collect::<Vec<_>>(), 0)?;
    let neighbour = lingering(given, "3")?;
    for disk in disks {
        disk.fill_to(BEFORE)?;
    }
    // 100 MB a second, by children of the rank.
    let script = "i=0; while head -c 10000000 /dev/zero > part-$i; do i=$((i+1)); sleep 0.1; done";
    let mut filling = job(given, &["-n", "1", "sh", "-c", script])?.start()?;
    wait::until("the end of the job", DEADLINE, || {
        are_healthy(given)?;
        Ok(filling.is_over()?.then_some(()))
    })?;
    let finished = filling.finish()?;
    let hosts = given.cluster.nodes().into_iter();
    let hosts: Vec<String> = hosts
        .map(|of| format!("rank 0 on {} was ended", of.host))
        .collect();
    let words = [
        "and its job with it: the job has ",
        " MB in ",
        "/jobs/",
        "a session leave one at 85 %, before YARN gives up the node",
    ];
    expect::sentence(&finished, 128 + 9, &words)?;
    let said = finished.stderr_text();
    ensure!(hosts.iter().any(|words| said.contains(words)), "{said}");
    shows(given, "1 job runs, 0 waiting, 1 ended")?;
    shows(given, "2 containers with 4 slots, 3 of them in use")?;
    // What it has written is gone, and so YARN has nothing to complain of later.
    for _ in 0..6 {
        are_healthy(given)?;
        wait::pause(LOOK);
    }
    succeeds(given, &["-n", "1", "true"])?;
    interrupt(neighbour)?;
    stop(given, "s")
}

fn are_healthy(given: &Given) -> Result<()> {
    let nodes = given.cluster.resource_manager().nodes()?;
    // Those that were started again on their small disks are listed twice.
    let running = nodes.iter().filter(|node| node.state == "RUNNING");
    ensure!(running.count() == 2, "{nodes:?}");
    Ok(())
}
