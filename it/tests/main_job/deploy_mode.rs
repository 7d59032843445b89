//! `--deploy-mode client`: the ApplicationMaster in `gerbil-run` itself, and what a user
//! sees the same as with one in a container.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::command::Running;
use it::resource_manager::ApplicationReport;
use it::settings::File;
use it::{Builder, expect, wait};
use nix::sys::signal::Signal;

/// YARN misses an ApplicationMaster after this silence; ten minutes and more where nothing is set.
pub const EXPIRY: Duration = Duration::from_secs(20);
/// Between two of YARN's looks for the silent, a third of the expiry, and for a busy machine.
const EXPIRY_SEEN: Duration = Duration::from_secs(60);
/// What sees its peer gone ends at once; this is for a busy machine.
const LINK_LOST: Duration = Duration::from_secs(15);

pub const CASES: &[(&str, Case)] = &[
    (
        "--deploy-mode client: eight ranks of cpi on four nodes",
        eight_ranks,
    ),
    (
        "--deploy-mode client: one rank returns 7",
        one_rank_returns_7,
    ),
    ("--deploy-mode client: input reaches rank 0", input),
    (
        "--deploy-mode client: no port of the range is free",
        no_port,
    ),
    ("--deploy-mode client: no such interface", no_interface),
    ("--deploy-mode client: Ctrl-C once", interrupted),
    ("--deploy-mode client: Ctrl-C twice", interrupted_twice),
    (
        "--deploy-mode client: killed through YARN",
        killed_through_yarn,
    ),
    ("--deploy-mode client: gerbil-run killed -9", killed),
];

/// A cluster that misses them so soon.
pub fn expiring(builder: Builder) -> Builder {
    let expiry = "yarn.am.liveness-monitor.expiry-interval-ms";
    builder.set(File::Yarn, expiry, EXPIRY.as_millis().to_string())
}

/// `--deploy-mode client ARGUMENTS`.
fn here<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["--deploy-mode", "client"], arguments].concat()
}

fn refused(given: &Given, arguments: &[&str], code: i32, words: &[&str]) -> Result<()> {
    let before = given.applications()?.len();
    given.fails(&here(arguments), code, words)?;
    ensure!(
        given.applications()?.len() == before,
        "an application was submitted"
    );
    Ok(())
}

fn newest_ended(given: &Given, deadline: Duration) -> Result<ApplicationReport> {
    wait::until("the application's end", deadline, || {
        Ok(Some(given.newest()?).filter(ApplicationReport::is_over))
    })
}

/// A job of four ranks, one a node, that is up.
fn lingering(given: &Given) -> Result<Running> {
    let linger = given.program("linger")?;
    let mut running = given.gerbil(&here(&["-n", "4", &linger, "600"]))?.start()?;
    running.wait_for_stdout("ready")?;
    Ok(running)
}

/// Kills a job's `gerbil-run`; nothing of the job runs when this returns.
fn kill_lingering(given: &Given) -> Result<()> {
    let mut running = lingering(given)?;
    ensure!(!given.cluster.container_processes()?.is_empty());
    running.signal(Signal::SIGKILL)?;
    drop(running.finish()?);
    wait::until("every rank and launcher to end", LINK_LOST, || {
        let left = given.cluster.container_processes()?;
        Ok(left.is_empty().then_some(()))
    })
}

fn eight_ranks(given: &Given) -> Result<()> {
    let cpi = given.example("cpi")?;
    let finished = given.succeeds(&here(&["-n", "8", "--timing", &cpi]))?;
    let stdout = finished.stdout_text();
    ensure!(stdout.contains("pi is about 3.14159265358"), "{stdout}");
    ensure!(stdout.lines().count() == 8 + 2, "{stdout}");
    let asked = finished.stderr_text();
    ensure!(asked.contains("allocate calls that asked: 1 of"), "{asked}");
    let report = given.newest()?;
    ensure!(report.unmanaged_application != Some(false), "{report:?}");
    ensure!(
        report.name == "cpi" && report.application_type == "GERBIL",
        "{report:?}"
    );
    Ok(())
}

fn one_rank_returns_7(given: &Given) -> Result<()> {
    let program = given.program("exit_code")?;
    let line = here(&["-n", "4", &program, "2", "7"]);
    given.fails(&line, 7, &["rank 2", "code 7"])?;
    let report = newest_ended(given, DEADLINE)?;
    ensure!(report.final_status == "FAILED", "{report:?}");
    ensure!(report.diagnostics.contains("rank 2"), "{report:?}");
    Ok(())
}

fn input(given: &Given) -> Result<()> {
    let cat = given.program("cat")?;
    let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let run = given.gerbil(&here(&["-n", "2", &cat]))?.stdin(text.clone());
    let finished = expect::job(&given.cluster, run)?;
    ensure!(
        finished.stdout == text,
        "{} bytes came back",
        finished.stdout.len()
    );
    Ok(())
}

fn no_port(given: &Given) -> Result<()> {
    let held = TcpListener::bind("0.0.0.0:0")?;
    let port = held.local_addr()?.port().to_string();
    let program = given.program("linger")?;
    refused(
        given,
        &["--am-ports", &port, "-n", "2", &program, "0"],
        65,
        &[&port, "--am-ports"],
    )
}

fn no_interface(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    refused(
        given,
        &["--iface", "nope0", "-n", "2", &program, "0"],
        65,
        &["nope0", "lo", "--iface"],
    )
}

fn interrupted(given: &Given) -> Result<()> {
    let mut running = lingering(given)?;
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &["interrupted"])?;
    let report = newest_ended(given, DEADLINE)?;
    ensure!(report.final_status == "KILLED", "{report:?}");
    Ok(())
}

fn interrupted_twice(given: &Given) -> Result<()> {
    let stubborn = given.program("stubborn")?;
    let mut running = given.gerbil(&here(&["-n", "2", &stubborn]))?.start()?;
    running.wait_for_stdout("ready")?;
    running.signal(Signal::SIGINT)?;
    running.wait_for_stderr("once more")?;
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &["interrupted"])?;
    newest_ended(given, DEADLINE)?;
    Ok(())
}

fn killed_through_yarn(given: &Given) -> Result<()> {
    let running = lingering(given)?;
    let id = given.newest()?.id;
    let killer = given.gerbil(&["-k", &id])?.finish()?;
    ensure!(killer.code() == 0, "{}", killer.stderr_text());
    let since = Instant::now();
    let finished = running.finish()?;
    ensure!(since.elapsed() < LINK_LOST, "{:?}", since.elapsed());
    expect::failure(&given.cluster, &finished, 143, &[&id, "killed"])
}

fn killed(given: &Given) -> Result<()> {
    kill_lingering(given)?;
    let report = given.newest()?;
    ensure!(!report.is_over(), "YARN cannot know yet: {report:?}");
    let ended = given.gerbil(&["-k", &report.id])?.finish()?;
    ensure!(ended.code() == 0, "{}", ended.stderr_text());
    ensure!(given.newest()?.is_over(), "{:?}", given.newest()?);

    // Left alone, YARN ends it.
    kill_lingering(given)?;
    let since = Instant::now();
    let report = newest_ended(given, EXPIRY + EXPIRY_SEEN)?;
    ensure!(since.elapsed() > EXPIRY / 2, "{:?}", since.elapsed());
    ensure!(report.final_status != "SUCCEEDED", "{report:?}");
    Ok(())
}
