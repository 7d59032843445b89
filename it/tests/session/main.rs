//! Sessions on a real cluster of three nodes: what runs in them, what waits, and what is left of them.

mod accelerated;
mod address_space;
mod beside;
mod chunks;
mod crowded;
mod detached;
mod disks;
mod elements;
mod ended;
mod explained;
mod jobs;
mod kernels;
mod leaving;
mod logs;
mod lost;
mod remains;
mod restarted;
mod turns;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use elements::Machines;
use it::bed::Given;
use it::chaos::disk;
use it::command::Running;
use it::settings::File;
use it::suite::{self, Group};
use it::{Builder, Cluster, Finished, Run, expect};
use nix::sys::signal::Signal;

fn main() -> ExitCode {
    // Its folders are there until the last case has ended.
    let machines = Machines::new();
    let different = machines.as_ref().map(Machines::cluster);
    let different = match different {
        Ok(Ok(different)) => different,
        Ok(Err(error)) => return unable(&error),
        Err(error) => return unable(error),
    };
    let mut cases = vec![
        jobs::CASES,
        ended::CASES,
        detached::CASES,
        lost::CASES,
        remains::CASES,
        turns::CASES,
        beside::CASES,
        crowded::CASES,
        explained::CASES,
        address_space::CASES,
        leaving::CASES,
        // These end daemons, and start them again.
        lost::FAULTS,
        beside::FAULTS,
        restarted::CASES,
        logs::CASES,
    ];
    if disk::can_be_mounted().unwrap_or(false) {
        cases.push(disks::CASES);
    }
    let groups = vec![
        Group::new(cluster(), &cases),
        // A node with devices has one container of a session, and what YARN counts changes what each gets.
        Group::new(
            different,
            &[
                elements::CASES,
                kernels::CASES,
                chunks::CASES,
                accelerated::CASES,
            ],
        ),
    ];
    suite::run(groups)
}

/// Three nodes, whose loss is noticed soon.
fn cluster() -> Builder {
    let expiry = "yarn.nm.liveness-monitor.expiry-interval-ms";
    let builder = Cluster::builder().nodes(3).set(File::Yarn, expiry, "6000");
    let builder = leaving::lends(restarted::remembers(builder));
    disks::looks(address_space::enforces(builder))
}

fn unable(error: &anyhow::Error) -> ExitCode {
    drop(writeln!(
        std::io::stderr(),
        "no machines that differ: {error:#}"
    ));
    ExitCode::FAILURE
}

fn job(given: &Given, arguments: &[&str]) -> Result<Run> {
    given.gerbil(&[&["--session", "s"], arguments].concat())
}

fn succeeds(given: &Given, arguments: &[&str]) -> Result<Finished> {
    let before = given.applications()?.len();
    let finished = job(given, arguments)?
        .finish()?
        .success("a job of the session")?;
    ensure!(
        given.applications()?.len() == before,
        "an application was submitted"
    );
    Ok(finished)
}

fn fails(given: &Given, arguments: &[&str], code: i32, words: &[&str]) -> Result<()> {
    expect::sentence(&job(given, arguments)?.finish()?, code, words)
}

/// A job of `ranks` that is up and lasts.
fn lingering(given: &Given, ranks: &str) -> Result<Running> {
    lingering_with(given, &["-n", ranks])
}

fn lingering_with(given: &Given, options: &[&str]) -> Result<Running> {
    let linger = given.program("linger")?;
    let mut running = job(given, &[options, &[&linger, "600"]].concat())?.start()?;
    running.wait_for_stdout("ready")?;
    Ok(running)
}

fn interrupt(mut running: Running) -> Result<()> {
    running.signal(Signal::SIGINT)?;
    expect::sentence(
        &running.finish()?,
        130,
        &["once more to leave it to the session"],
    )
}
