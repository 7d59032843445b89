//! Address space beyond what YARN allows a container, which it looks at unless it is told otherwise: the container ends,
//! and the session goes on.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::cluster::Builder;
use it::expect;
use it::session::{shows, start, stop};
use it::settings::File;

use super::{interrupt, job, lingering, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "a container that YARN ends for its address space is replaced",
    replaced,
)];

/// MiB; a container of 512 may have 2.1 times its size.
const RESERVED: &str = "3000";

/// Nodes look at what containers take: by Hadoop's default control groups are to do it, even where there are none, and
/// then nobody looks.
pub fn enforces(builder: Builder) -> Builder {
    let enforced = "yarn.nodemanager.resource.memory.enforced";
    builder.set(File::Yarn, enforced, "false")
}

fn replaced(given: &Given) -> Result<()> {
    start(given, "s")?;
    let neighbour = lingering(given, "4")?;
    let hog = given.program("hog")?;
    let finished = job(given, &["-n", "2", &hog, "0", RESERVED, "reserve"])?.finish()?;
    let words = [
        "was killed by YARN because it used",
        "of virtual memory and its node allows",
        "; rank 0 held the most, 3",
        "yarn.nodemanager.vmem-check-enabled set to false",
    ];
    expect::sentence(&finished, 70, &words)?;
    let shown = shows(given, "3 containers with 6 slots, 4 of them in use")?;
    ensure!(shown.contains("1 job runs, 0 waiting, 1 ended"), "{shown}");
    succeeds(given, &["-n", "2", "true"])?;
    interrupt(neighbour)?;
    stop(given, "s")
}
