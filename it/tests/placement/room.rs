//! More processes than room.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};

use crate::UNITS;
use it::reported::{self, hosts};

pub const CASES: &[(&str, Case)] = &[
    ("room: too little is shared, and said", shared),
    ("room: with -o false the job waits", unshared_waits),
    ("room: -o false beyond all ceilings is an error", beyond),
    ("room: explicit memory is never shrunk", explicit_waits),
    ("room: what fits is not called degraded", whole),
];

/// Leaves the third and the fourth node, six units.
fn fill_two(given: &Given) -> Result<it::bed::HeldJob> {
    let hosts = hosts(given);
    let entries = format!("{}:{},{}:{}", hosts[0], UNITS[0], hosts[1], UNITS[1]);
    let line = ["--deploy-mode", "client", "-r", "none", "-hosts", &entries];
    Ok(given.held("background", &line)?.0)
}

fn shared(given: &Given) -> Result<()> {
    let background = fill_two(given)?;
    let program = given.script("short", "hostname >/dev/null")?;
    let line = ["--deploy-mode", "client", "-n", "9", &program];
    let (finished, report) = reported::reported(given, &line)?;
    background.let_go()?;
    let shares = reported::shares(given, &report)?;
    // Even beyond the room: four units hold six processes, two hold three... dealt by what is left.
    let total: u32 = shares.iter().map(|(_, processes)| processes).sum();
    ensure!(
        total == 9 && shares.iter().all(|(node, _)| *node >= 2),
        "{shares:?}"
    );
    let granted = report.granted().memory_mib;
    ensure!(granted == (UNITS[2] + UNITS[3]) * 1024, "{granted}");
    let stderr = finished.stderr_text();
    ensure!(
        stderr.contains("degraded: ") && !report.degraded.is_empty(),
        "{stderr}"
    );
    given.is_clean()
}

fn unshared_waits(given: &Given) -> Result<()> {
    let background = fill_two(given)?;
    let mut waiting = given.start_held(
        "unshared",
        &["--deploy-mode", "client", "-o", "false", "-n", "9"],
    )?;
    waiting.running.wait_for_stderr("waiting: ")?;
    background.let_go()?;
    waiting.running.wait_for_stdout("ready")?;
    let finished = waiting.let_go()?;
    let stderr = finished.stderr_text();
    ensure!(!stderr.contains("MiB were wanted"), "{stderr}");
    given.is_clean()
}

fn beyond(given: &Given) -> Result<()> {
    let program = given.script("short", "hostname >/dev/null")?;
    let line = ["-o", "false", "-n", "23", &program];
    given.fails(&line, 65, &["23", "22", "1024 MiB"])?;
    Ok(())
}

fn explicit_waits(given: &Given) -> Result<()> {
    let background = fill_two(given)?;
    let line = ["--deploy-mode", "client", "--mem-per-proc", "1g", "-n", "9"];
    let mut waiting = given.start_held("explicit", &line)?;
    waiting.running.wait_for_stderr("waiting: ")?;
    background.let_go()?;
    waiting.running.wait_for_stdout("ready")?;
    waiting.let_go()?;
    given.is_clean()
}

fn whole(given: &Given) -> Result<()> {
    let program = given.script("short", "hostname >/dev/null")?;
    let line = ["-n", "2", "--nodes", "2", &program];
    let (finished, report) = reported::reported(given, &line)?;
    ensure!(report.degraded.is_empty(), "{:?}", report.degraded);
    ensure!(!finished.stderr_text().contains("degraded"), "{finished:?}");
    given.is_clean()
}
