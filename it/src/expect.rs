//! What is expected of a `gerbil-run` that has ended.

use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::cluster::Cluster;
use crate::command::{Finished, Run};

/// How `gerbil-run`'s own lines on stderr begin.
pub const OWN: &str = "gerbil-run: ";

/// After the client's end, containers may still be told to leave.
const CLEAN: Duration = Duration::from_secs(30);

/// What a line says that is `gerbil-run`'s own, under either name of the file.
#[must_use]
pub fn own(line: &str) -> Option<&str> {
    line.strip_prefix(OWN)
        .or_else(|| line.strip_prefix("gerbil: "))
}

/// The lines of stderr that are `gerbil-run`'s own, in their order.
#[must_use]
pub fn own_lines(finished: &Finished) -> Vec<String> {
    finished
        .stderr_text()
        .lines()
        .filter(|line| own(line).is_some())
        .map(str::to_owned)
        .collect()
}

/// Runs a job that returns 0 as one YARN application that succeeds, and leaves nothing.
///
/// # Errors
///
/// It is not so; everything that was written is in the message.
pub fn job(cluster: &Cluster, run: Run) -> Result<Finished> {
    let before = cluster.resource_manager().applications()?.len();
    let finished = run.finish()?;
    ensure!(
        finished.code() == 0,
        "exit code {} instead of 0\n{}",
        finished.code(),
        written(&finished)
    );
    cluster.wait_until_clean(CLEAN)?;
    let applications = cluster.resource_manager().applications()?;
    let new = applications.len().saturating_sub(before);
    ensure!(new == 1, "{new} applications for one job");
    if let Some(report) = applications.last() {
        ensure!(
            report.state == "FINISHED" && report.final_status == "SUCCEEDED",
            "{report:?}"
        );
    }
    Ok(finished)
}

/// It failed with `code`, one of its own lines holds all `words` in any case of letters, no trace of a
/// program's inside is shown, and nothing is left of it.
///
/// # Errors
///
/// It is not so; everything that was written is in the message.
pub fn failure(cluster: &Cluster, finished: &Finished, code: i32, words: &[&str]) -> Result<()> {
    sentence(finished, code, words)?;
    cluster.wait_until_clean(CLEAN)
}

/// As [`failure`], for a cluster that cannot be asked what is left.
///
/// # Errors
///
/// As [`failure`].
pub fn sentence(finished: &Finished, code: i32, words: &[&str]) -> Result<()> {
    ensure!(
        finished.code() == code,
        "exit code {} instead of {code}\n{}",
        finished.code(),
        written(finished)
    );
    let holds = |line: &String| {
        let line = line.to_lowercase();
        words.iter().all(|word| line.contains(&word.to_lowercase()))
    };
    let lines = own_lines(finished);
    ensure!(
        lines.iter().any(holds),
        "no line of gerbil-run holds {words:?}\n{}",
        written(finished)
    );
    let text = finished.stderr_text();
    for inside in [
        "panicked at",
        "RUST_BACKTRACE",
        "\tat org.apache",
        "\tat java.",
    ] {
        if text.contains(inside) {
            bail!(
                "stderr shows the inside of a program ({inside:?})\n{}",
                written(finished)
            );
        }
    }
    Ok(())
}

fn written(finished: &Finished) -> String {
    let head = |text: String| text.chars().take(6000).collect::<String>();
    format!(
        "after {:?}; stdout:\n{}\nstderr:\n{}",
        finished.wall,
        head(finished.stdout_text()),
        head(finished.stderr_text())
    )
}
