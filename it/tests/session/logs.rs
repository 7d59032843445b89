//! The logs of a session's own processes, which last as long as the session: they are begun anew, and stay short.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::session::{start, stop};
use it::settings::File;
use it::{Daemon, wait};

use super::succeeds;

pub const CASES: &[(&str, Case)] = &[(
    "the logs of ApplicationMaster and launchers stay short, however much they have to say",
    short,
)];

/// Bytes at which a log is begun anew, and what one line may be more.
const MOST: u64 = (4 << 20) + (64 << 10);
/// Jobs at the most until every log was.
const JOBS: usize = 200;

/// Containers that NodeManagers start say all that there is to say.
fn short(given: &Given) -> Result<()> {
    let environment = "yarn.nodemanager.admin-env";
    let all = "MALLOC_ARENA_MAX=4,GERBIL_LOG=trace";
    let nodes = given.cluster.nodes().into_iter();
    let nodes: Vec<Daemon> = nodes.map(|of| Daemon::NodeManager(of.index)).collect();
    given
        .cluster
        .with_setting(&nodes, File::Yarn, (environment, all), || say_much(given))
}

fn say_much(given: &Given) -> Result<()> {
    start(given, "s")?;
    let application = given.newest()?.id;
    // Output passes the launchers in small pieces, and each piece is told of.
    let script = "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done";
    for _ in 0..JOBS {
        if are_rolled(given, &application)? {
            break;
        }
        succeeds(given, &["-n", "6", "sh", "-c", script])?;
    }
    wait::until("four logs that were begun anew", DEADLINE, || {
        Ok(are_rolled(given, &application)?.then_some(()))
    })?;
    for log in logs(given, &application) {
        for of in [log.clone(), before(&log)] {
            let bytes = fs::metadata(&of)
                .with_context(|| of.display().to_string())?
                .len();
            ensure!(bytes <= MOST, "{} has {bytes} bytes", of.display());
        }
        ensure!(!log.with_extension("new").exists(), "{}", log.display());
    }
    stop(given, "s")
}

/// Standard error of its containers: of the ApplicationMaster and three launchers.
fn logs(given: &Given, application: &str) -> Vec<PathBuf> {
    let all = given.cluster.container_logs().into_iter();
    let own = all.filter(|path| path.ends_with("stderr") && is_of(path, application));
    own.collect()
}

fn is_of(path: &Path, application: &str) -> bool {
    path.components()
        .any(|part| part.as_os_str() == application)
}

fn are_rolled(given: &Given, application: &str) -> Result<bool> {
    let logs = logs(given, application);
    // One that is being begun anew is not there for a moment.
    Ok(logs.len() == 4 && logs.iter().all(|log| before(log).exists()))
}

/// The one before.
fn before(log: &Path) -> PathBuf {
    log.with_extension("old")
}
