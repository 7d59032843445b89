//! `gerbil mr` on a real cluster of three nodes: its output beside that of Hadoop and of a local run, and what is
//! left of jobs that do not end well.

mod agreement;
mod brought;
mod calls;
mod commits;
mod cores;
mod cut;
mod data_node;
mod deadlines;
mod disks;
mod failures;
mod hadoops_files;
mod hdfs;
mod history;
mod homes;
mod inputs;
mod leaving;
mod local_disk;
mod name_nodes;
mod needs;
mod node_manager;
mod outputs;
mod own;
mod sorted;
mod streaming;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{DEADLINE, Given, text_of};
use it::chaos::disk;
use it::chaos::fault::Needs;
use it::mapreduce::{Files, is_same, local, put, read, text};
use it::session::{start_with, told};
use it::settings::File;
use it::suite::{self, Group};
use it::{Cluster, Finished, Run, mapreduce, wait};

fn main() -> ExitCode {
    let mut cases = vec![
        outputs::CASES,
        agreement::CASES,
        failures::CASES,
        hdfs::CASES,
        homes::CASES,
        leaving::CASES,
        local_disk::CASES,
        own::CASES,
        history::CASES,
        cores::CASES,
        deadlines::CASES,
        needs::CASES,
        commits::CASES,
        commits::name_node::CASES,
        calls::CASES,
        hadoops_files::CASES,
        sorted::CASES,
        streaming::CASES,
        brought::CASES,
        inputs::CASES,
        name_nodes::CASES,
    ];
    if Needs::PacketFilter.are_met() {
        cases.push(cut::CASES);
    }
    // These end daemons, and start them again.
    cases.extend([
        commits::node::CASES,
        data_node::CASES,
        node_manager::CASES,
        own::OF_SMALL,
    ]);
    if disk::can_be_mounted().unwrap_or(false) {
        cases.push(disks::CASES);
    }
    // A node that is not heard for so long is lost.
    let expiry = "yarn.nm.liveness-monitor.expiry-interval-ms";
    // One that asks for a ResourceManager which is away asks again soon, not after half a minute.
    let again = "yarn.resourcemanager.connect.retry-interval.ms";
    let builder = Cluster::builder()
        .nodes(3)
        .set(File::Yarn, expiry, "6000")
        .set(File::Yarn, again, "500");
    let builder = mapreduce::with_hadoop(disks::looks(builder));
    suite::run(vec![Group::new(builder, &cases)])
}

fn program(name: &str) -> Result<String> {
    text_of(&mapreduce::example(name)?)
}

/// `gerbil mr --session s ARGUMENTS`.
fn mr(given: &Given, arguments: &[&str]) -> Result<Run> {
    let line = [&["--session", "s"], arguments].concat();
    Ok(mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE))
}

fn succeeds(given: &Given, arguments: &[&str]) -> Result<Finished> {
    mr(given, arguments)?.finish()?.success("gerbil mr")
}

/// `gerbil mr ARGUMENTS`, without a session.
fn alone(given: &Given, arguments: &[&str]) -> Result<Run> {
    let run = mapreduce::mr(&given.cluster, &given.folder, arguments)?;
    Ok(run.deadline(DEADLINE))
}

/// The newest application is over, with this name and verdict, and nothing is left of it.
fn is_over(given: &Given, name: &str, verdict: &str, diagnostics: &str) -> Result<()> {
    let report = given.newest()?;
    ensure!(
        (report.name.as_str(), report.application_type.as_str()) == (name, "GERBIL"),
        "{report:?}"
    );
    ensure!(
        (report.state.as_str(), report.final_status.as_str()) == ("FINISHED", verdict)
            && report.diagnostics.contains(diagnostics),
        "{report:?}"
    );
    given.is_clean()?;
    let listed = told(given, &["list"], 0)?;
    ensure!(
        listed.stderr_text().contains("there is no session"),
        "{}{}",
        listed.stdout_text(),
        listed.stderr_text()
    );
    Ok(())
}

/// Starts a session, with room for what sorts.
fn start(given: &Given) -> Result<()> {
    start_with(given, "s", "768")
}

/// What lies in a folder of HDFS.
fn files(given: &Given, folder: &str) -> Result<Files> {
    mapreduce::files(&given.cluster, folder)
}

/// Nothing of an output is there.
fn is_gone(given: &Given, output: &str) -> Result<()> {
    let left = wait::until("nothing of the output", Duration::from_secs(30), || {
        let left = given.cluster.hdfs().list(output)?;
        Ok(left.is_empty().then_some(()))
    });
    let names = given.cluster.hdfs().list(output)?;
    left.with_context(|| format!("{output} has {names:?}"))
}
