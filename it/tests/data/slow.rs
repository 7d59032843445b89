//! A DataNode that reads slowly: YARN brings files to the nodes for longer than launchers are waited for.

use std::time::Duration;

use anyhow::{Result, ensure};
use it::Daemon;
use it::bed::{Case, DEADLINE, Given};
use it::settings::File;

use crate::with_hdfs;

pub const CASES: &[(&str, Case)] = &[(
    "--stage-in may take longer than launchers are waited for",
    longer,
)];

/// Bytes a second.
const SPEED: u64 = 4 << 20;
/// Of the file, and for a launcher that is not being brought its files.
const BROUGHT: Duration = Duration::from_secs(25);
const JOIN: Duration = Duration::from_secs(4);

/// Both DataNodes are.
fn longer(given: &Given) -> Result<()> {
    let (speed, name) = (SPEED.to_string(), "dfs.datanode.data.read.bandwidthPerSec");
    let slow = [0, 1].map(Daemon::DataNodeOf);
    let cluster = &given.cluster;
    cluster.with_setting(&slow, File::Hdfs, (name, &speed), || brought(given))
}

fn brought(given: &Given) -> Result<()> {
    // A DataNode lets the first part of a second through at once.
    let bytes = SPEED * (BROUGHT.as_secs() + 2);
    with_hdfs(given, async |hdfs| {
        let contents = vec![b'x'; usize::try_from(bytes)?];
        Ok(hdfs.write("/slow", contents).await?)
    })?;
    let script = given.script("size", "wc -c <slow")?;
    let join = format!("{}s", JOIN.as_secs());
    let line = [
        "-n",
        "1",
        "--join-timeout",
        &join,
        "--stage-in",
        "/slow",
        &script,
    ];
    let finished = given.gerbil(&line)?.deadline(2 * DEADLINE).finish()?;
    ensure!(
        finished.code() == 0 && finished.stdout_text().trim() == bytes.to_string(),
        "{finished:?}"
    );
    ensure!(finished.wall > BROUGHT, "{finished:?}");
    given.is_clean()
}
