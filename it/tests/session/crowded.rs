//! More containers than nodes: some lie beside each other.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::mapreduce::{self, files};
use it::process::signal_by_id;
use it::session::{containers, hosts, shows, start_crowded, stop};
use it::victims::launchers;
use it::wait;
use nix::sys::signal::Signal;

use super::{interrupt, lingering, succeeds};

pub const CASES: &[(&str, Case)] = &[
    ("a node has several containers: gangs", gangs),
    (
        "a node has several containers: one is killed, and its neighbour goes on",
        neighbour,
    ),
];

/// Containers of two slots on three nodes.
const CONTAINERS: usize = 7;

fn start(given: &Given) -> Result<()> {
    start_crowded(given, CONTAINERS, &["--memory", "256"])
}

fn gangs(given: &Given) -> Result<()> {
    start(given)?;
    let cpi = given.example("cpi")?;
    for ranks in ["14", "3"] {
        let finished = succeeds(given, &["-n", ranks, &cpi])?;
        let printed = finished.stdout_text();
        ensure!(printed.contains("pi is about 3.14159265358"), "{printed}");
    }
    let ring = given.example("ring")?;
    succeeds(given, &["-n", "14", "-bind-to", "core", &ring])?;
    // Two jobs whose containers share nodes, and one that is started again.
    let held = lingering(given, "6")?;
    let spawn = given.program("spawn")?;
    succeeds(given, &["-n", "2", &spawn, "spawn", "4"])?;
    interrupt(held)?;
    stop(given, "s")
}

fn neighbour(given: &Given) -> Result<()> {
    start(given)?;
    let line = "so it goes and comes again\n".repeat(4_000);
    let inputs: Vec<String> = (0..4).map(|number| format!("part-{number}")).collect();
    let inputs: Vec<(&str, &str)> = inputs.iter().map(|name| (name.as_str(), &*line)).collect();
    mapreduce::put(given, "/crowded/in", &inputs)?;
    let wordcount = text_of(&mapreduce::example("wordcount")?)?;
    let small = "mapreduce.input.fileinputformat.split.maxsize=10000";
    let reduces = "mapreduce.job.reduces=5";
    let counted = |out: &str| {
        let line = ["--session", "s", "-D", small, "-D", reduces, &wordcount];
        let line = [&line[..], &["/crowded/in", out]].concat();
        let run = mapreduce::mr(&given.cluster, &given.folder, &line)?;
        run.deadline(DEADLINE).start()
    };
    counted("/crowded/whole")?.finish()?.success("gerbil mr")?;
    let on = hosts(given)?;
    let shared = on.values().find(|there| there.len() > 2);
    let shared = shared.context("no node has three")?;
    // One of them goes while a job has all slots of all nodes.
    let mut running = counted("/crowded/out")?;
    wait::until("the job to have slots", DEADLINE, || {
        let all = containers(given)?;
        let is_lent = all.iter().any(|of| of["lent"].as_u64() > Some(0));
        Ok((is_lent || running.is_over()?).then_some(()))
    })?;
    let all = launchers(&given.cluster)?;
    let victim = all
        .iter()
        .find(|of| of.container.as_ref() == shared.first());
    signal_by_id(victim.context("no such launcher")?.pid, Signal::SIGKILL)?;
    running
        .finish()?
        .success("a job that has lost a launcher")?;
    let whole = files(&given.cluster, "/crowded/whole")?;
    ensure!(whole == files(&given.cluster, "/crowded/out")?);
    shows(given, &format!("{CONTAINERS} containers"))?;
    let now = hosts(given)?;
    let there: Vec<&String> = now.values().flatten().collect();
    ensure!(!there.contains(&&shared[0]), "{now:?}");
    for other in &shared[1..] {
        ensure!(there.contains(&other), "{other} is gone: {now:?}");
    }
    succeeds(given, &["-n", "14", &given.example("cpi")?])?;
    stop(given, "s")
}
