//! What a queue gives, and what is left beside the job's own ApplicationMaster.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};

/// A queue that may have a quarter of the cluster: 8 GiB of 32.
pub const SMALL: &str = "small";

pub const CASES: &[(&str, Case)] = &[
    ("a job takes what its queue gives", shared),
    ("more than a queue ever gives is refused", refused),
    (
        "what does not fit beside the ApplicationMaster is refused",
        beside,
    ),
    (
        "the ApplicationMaster keeps off the nodes that the job fills",
        keeps_off,
    ),
    ("--dry-run knows the limits of the queue", dry_run),
];

fn shared(given: &Given) -> Result<()> {
    let script = given.script("rank", "echo \"$PMI_RANK\"")?;
    let finished = given.succeeds(&["--queue", SMALL, "-n", "12", &script])?;
    ensure!(finished.stdout_text().lines().count() == 12, "{finished:?}");
    let stderr = finished.stderr_text();
    ensure!(stderr.contains("degraded: "), "{stderr}");
    given.is_clean()
}

fn refused(given: &Given) -> Result<()> {
    let line = ["--queue", SMALL, "-n", "12", "--mem-per-proc", "1g", "true"];
    let before = given.applications()?.len();
    given.fails(&line, 65, &["12288 MiB", SMALL, "8192 MiB"])?;
    ensure!(given.applications()?.len() == before, "it was submitted");
    Ok(())
}

fn beside(given: &Given) -> Result<()> {
    let line = ["-n", "8", "--mem-per-proc", "4096", "true"];
    given.fails(&line, 65, &["32768 MiB", "ApplicationMaster"])?;
    given.ranks(7)
}

/// One of four nodes is left to it, and it takes that each time.
fn keeps_off(given: &Given) -> Result<()> {
    let script = given.script("rank", "echo \"$PMI_RANK\"")?;
    let nodes = given.cluster.nodes();
    let whole: Vec<String> = nodes[1..]
        .iter()
        .map(|node| format!("{}:8", node.host))
        .collect();
    let list = whole.join(",");
    for _ in 0..3 {
        let line = [
            "-o",
            "false",
            "--mem-per-proc",
            "1g",
            "-hosts",
            &list,
            &script,
        ];
        let finished = given.succeeds(&line)?;
        ensure!(finished.stdout_text().lines().count() == 24, "{finished:?}");
        given.is_clean()?;
    }
    Ok(())
}

fn dry_run(given: &Given) -> Result<()> {
    let line = ["--queue", SMALL, "-n", "12", "--dry-run", "true"];
    let finished = given.gerbil(&line)?.finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    let stdout = finished.stdout_text();
    ensure!(
        stdout.contains("would start now") && stdout.contains("7168"),
        "{stdout}"
    );
    let line = [
        "-r",
        "auto",
        "--queue",
        SMALL,
        "-n",
        "12",
        "--mem-per-proc",
        "1g",
    ];
    let finished = given
        .gerbil(&[&line[..], &["--dry-run", "true"]].concat())?
        .finish()?;
    ensure!(finished.code() == 65, "{finished:?}");
    ensure!(
        finished.stdout_text().contains("8192 MiB"),
        "{}",
        finished.stdout_text()
    );
    Ok(())
}
