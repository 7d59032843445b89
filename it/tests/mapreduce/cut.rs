//! Two nodes of which one does not reach the other, while everybody else reaches both.

use std::net::SocketAddrV4;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::chaos::network::Cut;
use it::chaos::scene::node_of;
use it::session::{stop, told};
use it::victims::{launchers, nodes_without_master};
use it::{ports, wait};
use serde_json::Value;

use crate::{files, is_same, local, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[
    (
        "a reduce that cannot reach one of the nodes goes elsewhere, and neither node is blamed",
        pair,
    ),
    (
        "nodes whose launchers are not reached are told before a job, and to each that is there",
        told_before,
    ),
];

/// The firewall of a node lets nobody to the ports of launchers: both others find out when they join.
fn told_before(given: &Given) -> Result<()> {
    let ports = ports::free()?;
    let node = given.cluster.nodes()[0].host;
    let mut cut = Cut::new()?;
    for port in ports.clone() {
        cut.port(given.cluster.folder(), SocketAddrV4::new(node, port))?;
    }
    let range = format!("{}-{}", ports.start(), ports.end());
    let line = [
        "start",
        "s",
        "--containers",
        "3",
        "--slots-per-container",
        "2",
        "--memory",
        "256",
        "--launcher-ports",
        &range,
    ];
    told(given, &line, 0)?;
    let unreached = wait::until("both others have tried it", DEADLINE, || {
        let status = told(given, &["status", "s", "--json"], 0)?.stdout_text();
        let status: Value = serde_json::from_str(&status)?;
        let unreached = status["unreached"].as_array().cloned().unwrap_or_default();
        let unreached: Vec<String> = unreached
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        Ok((unreached.len() == 2).then_some(unreached))
    })?;
    let wanted = format!("cannot reach {node}:2");
    for sentence in &unreached {
        ensure!(
            sentence.contains(&wanted) && !sentence.starts_with(&node.to_string()),
            "{unreached:?}"
        );
    }
    let words = told(given, &["status", "s"], 0)?.stdout_text();
    let job = given.gerbil(&["--session", "s", "-n", "6", "hostname"])?;
    let job = job.finish()?.success("a job on all nodes")?.stderr_text();
    for said in [&words, &job] {
        let count = unreached
            .iter()
            .filter(|sentence| said.contains(*sentence))
            .count();
        ensure!(count == 2, "{count} of 2 are told: {said}");
    }
    // Within one node nothing is missing.
    let job = given.gerbil(&["--session", "s", "-n", "2", "hostname"])?;
    let job = job.finish()?.success("a job on one node")?.stderr_text();
    ensure!(!job.contains("cannot reach"), "{job}");
    stop(given, "s")?;
    cut.heal()
}

fn pair(given: &Given) -> Result<()> {
    let names: Vec<String> = (0..12).map(|number| format!("f{number:02}")).collect();
    let inputs: Vec<(&str, &str)> = (names.iter())
        .map(|name| (name.as_str(), "good\nwords\nof\nmany\npartitions\n"))
        .collect();
    let input = put(given, "/cut/in", &inputs)?;
    start(given)?;
    let alone = nodes_without_master(given)?;
    let source = *alone.first().context("no node without the master")?;
    let source = given.cluster.nodes()[source].host;
    let mut all = launchers(&given.cluster)?.into_iter();
    let home = all.find_map(|found| {
        let host = node_of(&found).filter(|host| *host != source.to_string())?;
        Some((found.pid, host))
    });
    let (pid, home) = home.context("no other launcher")?;
    let mut cut = Cut::new()?;
    cut.way(given.cluster.folder(), pid, source)?;

    let faulty = program("faulty")?;
    let line = [
        "-D",
        "gerbil.split.pack=1",
        // Another attempt elsewhere would be the first to end.
        "-D",
        "mapreduce.reduce.speculative=false",
        &faulty,
        "--reduces",
        "6",
        "/cut/in",
        "/cut/out",
    ];
    let said = succeeds(given, &line)?.stderr_text();
    let line = (said.lines()).find(|line| line.contains("cannot fetch what maps have left at"));
    let line = line.with_context(|| said.clone())?;
    let (to, from) = line.split_once("cannot fetch").unwrap_or_default();
    ensure!(
        to.contains(&format!("{home} (")) && from.contains(&format!("at {source} (")),
        "{said}"
    );
    let blamed = ["again", "failed", "is avoided", "goes elsewhere when"];
    ensure!(!blamed.iter().any(|words| said.contains(words)), "{said}");
    let here = local(given, &faulty, &["--reduces", "6", &input], "cut")?;
    is_same(&files(given, "/cut/out")?, &here)?;
    stop(given, "s")?;
    cut.heal()
}
