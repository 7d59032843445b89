//! Sessions on a real cluster of three nodes: what runs in them, what waits, and what is left of them.

mod address_space;
mod beside;
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
use it::{Cluster, Finished, Run, expect};
use nix::sys::signal::Signal;

fn main() -> ExitCode {
    let builder = Cluster::builder().nodes(3);
    let expiry = "yarn.nm.liveness-monitor.expiry-interval-ms";
    let faults = Cluster::builder().nodes(3).two_resource_managers();
    // Its folders are there until the last case has ended.
    let machines = Machines::new();
    let different = machines.as_ref().map(Machines::cluster);
    let different = match different {
        Ok(Ok(different)) => different,
        Ok(Err(error)) => return unable(&error),
        Err(error) => return unable(error),
    };
    let mut groups = vec![
        Group::new(
            builder,
            &[
                jobs::CASES,
                ended::CASES,
                detached::CASES,
                lost::CASES,
                remains::CASES,
                turns::CASES,
                beside::CASES,
                crowded::CASES,
                explained::CASES,
            ],
        ),
        Group::new(different, &[elements::CASES, kernels::CASES]),
        Group::new(leaving::cluster(), &[leaving::CASES]),
        Group::new(restarted::cluster(), &[restarted::CASES]),
        Group::new(logs::cluster(), &[logs::CASES]),
        Group::new(address_space::cluster(), &[address_space::CASES]),
        Group::new(
            faults.set(File::Yarn, expiry, "6000"),
            &[lost::FAULTS, beside::FAULTS],
        ),
    ];
    if disk::can_be_mounted().unwrap_or(false) {
        groups.push(Group::new(disks::cluster(), &[disks::CASES]));
    }
    suite::run(groups)
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

fn interrupt(running: Running) -> Result<()> {
    running.signal(Signal::SIGINT)?;
    expect::sentence(
        &running.finish()?,
        130,
        &["once more to leave it to the session"],
    )
}
