//! A NodeManager that is dead, and that the ResourceManager has not missed yet: that takes ten minutes.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::daemon::Daemon;
use it::expect;

use it::reported::hosts;

pub const CASES: &[(&str, Case)] = &[
    ("a dead node is left alone", left_alone),
    ("a job whose list has a dead node says so", bound),
];

/// Three free nodes are there, and the freest does not answer.
fn left_alone(given: &Given) -> Result<()> {
    let script = given.script("short", "hostname >/dev/null")?;
    given.cluster.freeze(Daemon::NodeManager(0))?;
    let outcome = (|| {
        for processes in ["1", "8"] {
            let begun = Instant::now();
            let finished = given.gerbil(&["-n", processes, &script])?.finish()?;
            ensure!(finished.code() == 0, "{finished:?}");
            let took = begun.elapsed();
            ensure!(took < Duration::from_secs(60), "{processes}: {took:?}");
            let stderr = finished.stderr_text();
            // The AM's own container makes the second node the less free one.
            ensure!(
                stderr.contains(&hosts(given)[0]) && stderr.contains("did not answer"),
                "{stderr}"
            );
        }
        Ok(())
    })();
    given.cluster.thaw(Daemon::NodeManager(0))?;
    outcome?;
    given.is_clean()
}

fn bound(given: &Given) -> Result<()> {
    let hosts = hosts(given);
    let script = given.script("short", "hostname >/dev/null")?;
    given.cluster.freeze(Daemon::NodeManager(1))?;
    let entry = format!("{}:1,{}:1", hosts[0], hosts[1]);
    let line = [
        "-hosts",
        &entry,
        "-r",
        "none",
        "--wait-timeout",
        "20s",
        &script,
    ];
    let outcome = given.gerbil(&line).and_then(it::Run::finish);
    given.cluster.thaw(Daemon::NodeManager(1))?;
    let finished = outcome?;
    expect::sentence(&finished, 75, &[&hosts[1]])?;
    let stderr = finished.stderr_text();
    ensure!(
        stderr.contains("has not answered for over") && stderr.contains(&hosts[1]),
        "{stderr}"
    );
    given.is_clean()
}
