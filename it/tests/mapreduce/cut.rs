//! Two nodes of which one does not reach the other, while everybody else reaches both.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::chaos::network::Cut;
use it::chaos::scene::node_of;
use it::session::stop;
use it::victims::{launchers, nodes_without_master};

use crate::{files, is_same, local, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "a reduce that cannot reach one of the nodes goes elsewhere, and neither node is blamed",
    pair,
)];

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
