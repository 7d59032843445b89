//! An ApplicationMaster that the ResourceManager does not answer ends its ranks before YARN may start
//! another attempt.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::booked::StartedJob;
use it::{Daemon, expect, wait};

use crate::deploy_mode::EXPIRY;

pub const CASES: &[(&str, Case)] = &[(
    "fence: half the expiry without an answer ends the ranks",
    fence,
)];

fn fence(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "fence", 2, &[])?;
    // The last answer may have come a heartbeat before.
    let frozen = Instant::now();
    given.cluster.freeze(Daemon::ResourceManager)?;
    let gone = wait::until("the end of the ranks", EXPIRY, || {
        let all = given.cluster.container_processes()?;
        let of_rank = |word: &String| word.contains("booked");
        let ranks = all
            .iter()
            .filter(|found| found.arguments.iter().any(of_rank));
        Ok((ranks.count() == 0).then(|| frozen.elapsed()))
    });
    given.cluster.thaw(Daemon::ResourceManager)?;
    let gone = gone?;
    ensure!(
        gone > EXPIRY / 2 - Duration::from_secs(2) && gone < EXPIRY,
        "{gone:?}"
    );
    let finished = job.ends(1)?;
    expect::failure(
        &given.cluster,
        &finished,
        70,
        &["no answer from the ResourceManager"],
    )
}
