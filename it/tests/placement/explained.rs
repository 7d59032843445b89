//! `--dry-run` and `--explain`.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use job::explain::Explained;

use it::reported::{hosts, number};

pub const CASES: &[(&str, Case)] = &[
    (
        "explained: a dry run submits nothing and foretells the placement",
        foretold,
    ),
    ("explained: a dry run of what can never be", never),
    ("explained: the same live", live),
];

fn lines(text: &str) -> Result<Vec<Explained>> {
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
        .collect()
}

fn placed(given: &Given, events: &[Explained]) -> Result<Vec<(usize, u32, u64)>> {
    let mut events = events.iter();
    let placed = events.find_map(|event| match event {
        Explained::Placed(placed) => Some(placed),
        _ => None,
    });
    let nodes = &placed.context("no placement")?.nodes;
    let share = |node: &job::explain::PlacedNode| -> Result<(usize, u32, u64)> {
        ensure!(!node.reason.is_empty(), "{node:?}");
        Ok((
            number(given, &node.host)?,
            node.processes,
            node.ask.memory_mib,
        ))
    };
    nodes.iter().map(share).collect()
}

fn foretold(given: &Given) -> Result<()> {
    let before = given.applications()?.len();
    let program = given.script("short", "true")?;
    let line = ["--deploy-mode", "client", "-n", "20", &program];
    let dry = given.gerbil(&[&["--dry-run", "--json"][..], &line].concat())?;
    let dry = dry.finish()?.success("the dry run")?;
    ensure!(
        given.applications()?.len() == before,
        "it submitted something"
    );
    let foretold = placed(given, &lines(&dry.stdout_text())?)?;
    let (_, report) = it::reported::reported(given, &line)?;
    let came = report.placement.context("no placement")?.nodes;
    let came: Result<Vec<_>> = came
        .iter()
        .map(|node| {
            Ok((
                number(given, &node.host)?,
                node.processes,
                node.ask.memory_mib,
            ))
        })
        .collect();
    ensure!(foretold == came?, "{foretold:?}");
    let words = given
        .gerbil(&[&["--dry-run"][..], &line].concat())?
        .finish()?;
    let words = words.success("the dry run in words")?.stdout_text();
    for host in hosts(given) {
        ensure!(words.contains(&host), "{words}");
    }
    given.is_clean()
}

fn never(given: &Given) -> Result<()> {
    let program = given.script("short", "true")?;
    let line = ["--dry-run", "-o", "false", "-n", "23", &program];
    let finished = given.gerbil(&line)?.finish()?;
    let told = finished.stdout_text();
    ensure!(finished.code() == 65, "{finished:?}");
    ensure!(
        told.contains("23 processes") && told.contains("hold 22"),
        "{told}"
    );
    given.is_clean()
}

fn live(given: &Given) -> Result<()> {
    let program = given.script("short", "true")?;
    let line = ["--explain", "--json", "-n", "5", &program];
    let finished = given.gerbil(&line)?.finish()?.success("the job")?;
    let events = lines(&finished.stderr_text())?;
    let has = |what: fn(&Explained) -> bool| events.iter().any(what);
    ensure!(
        has(|event| matches!(event, Explained::Snapshot(_))),
        "{events:?}"
    );
    ensure!(
        has(|event| matches!(event, Explained::Asked(_))),
        "{events:?}"
    );
    ensure!(
        has(|event| matches!(event, Explained::Granted(_))),
        "{events:?}"
    );
    placed(given, &events)?;
    given.is_clean()
}
