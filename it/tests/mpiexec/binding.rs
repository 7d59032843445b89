//! Processors and GPUs of a node.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};

pub const CASES: &[(&str, Case)] = &[
    ("binding: what is told is what the kernel says", told),
    ("binding: GPUs where there are none", no_gpus),
];

/// The processors in the kernel's own words.
const ALLOWED: &str = "grep Cpus_allowed_list /proc/self/status | tr -d '[:blank:]'";

fn told(given: &Given) -> Result<()> {
    let allowed = given.script("allowed", ALLOWED)?;
    for (line, word) in [
        (&["-bind-to", "hwthread"][..], "bound to processors"),
        (
            &["--cpu-bind", "core", "-map-by", "socket"],
            "bound to processors",
        ),
        (&["-bind-to", "none"], "not bound, processors"),
    ] {
        let line = [
            line,
            &["-report-bindings", "-n", "2", "-ppn", "1", allowed.as_str()],
        ]
        .concat();
        let finished = given.succeeds(&line)?;
        let stderr = finished.stderr_text();
        let mut told: Vec<&str> = stderr
            .lines()
            .filter(|line| line.starts_with("rank "))
            .map(|line| line.rsplit(' ').next().unwrap_or_default())
            .collect();
        told.sort_unstable();
        ensure!(stderr.matches(word).count() == 2, "{line:?}: {stderr}");
        let stdout = finished.stdout_text();
        let mut so: Vec<&str> = stdout
            .lines()
            .filter_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .collect();
        so.sort_unstable();
        ensure!(so.len() == 2 && so == told, "{line:?}: {finished:?}");
    }
    Ok(())
}

fn no_gpus(given: &Given) -> Result<()> {
    if std::fs::exists("/dev/nvidia0")? {
        // There are some: each rank is told of one that no other has.
        let show = given.script("devices", "echo \"$CUDA_VISIBLE_DEVICES\"")?;
        let finished = given.succeeds(&["-n", "1", "-gpus-per-proc", "1", &show])?;
        ensure!(finished.stdout_text().trim() == "0", "{finished:?}");
        return Ok(());
    }
    given.fails(
        &["-n", "2", "-ppn", "2", "-gpus-per-proc", "2", "true"],
        65,
        &[
            "2 processes with 2 GPUs each want 4",
            "has 0",
            "-gpus-per-proc",
        ],
    )?;
    given.succeeds(&["-n", "1", "-g", "0", "true"])?;
    Ok(())
}
