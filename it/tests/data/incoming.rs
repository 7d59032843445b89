//! `--stage-in`

use anyhow::{Result, ensure};
use it::bed::{Case, Given};

use crate::put;

pub const CASES: &[(&str, Case)] = &[
    (
        "stage_in_brings_files_and_folders_to_every_node",
        every_node,
    ),
    ("stage_in_says_what_is_missing_before_it_submits", missing),
];

fn every_node(given: &Given) -> Result<()> {
    put(given, "/data/in/a.txt", "alpha\n")?;
    put(given, "/data/in/deep/b.txt", "beta\n")?;
    put(given, "/data/one", "one\n")?;
    put(given, "/data/two", "two\n")?;
    let script = given.script("reads", "cat tables/a.txt tables/deep/b.txt one 2.txt")?;
    let whole = format!(
        "hdfs://{}/data/two=2.txt",
        given.cluster.name_node_address()
    );
    let arguments = [
        "-n",
        "2",
        "-ppn",
        "1",
        "--stage-in",
        "hdfs:///data/in=tables",
        "--stage-in",
        "/data/one",
        "--stage-in",
        &whole,
        &script,
    ];
    let finished = given.succeeds(&arguments)?;
    let text = finished.stdout_text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let wanted = ["alpha", "alpha", "beta", "beta", "one", "one", "two", "two"];
    ensure!(lines == wanted, "{lines:?}");
    Ok(())
}

fn missing(given: &Given) -> Result<()> {
    let before = given.applications()?.len();
    let words = ["--stage-in", "there is no hdfs://", "/data/none"];
    given.fails(&["--stage-in", "/data/none", "true"], 74, &words)?;
    let taken = ["would lie in the container as sh", "another name"];
    put(given, "/data/one", "one\n")?;
    given.fails(
        &["--stage-in", "/data/one=sh", "sh", "-c", "true"],
        64,
        &taken,
    )?;
    // YARN would make one link of the two, and say nothing.
    let twice = ["--stage-in", "/data/one", "as one and as 1.txt"];
    let arguments = [
        "--stage-in",
        "/data/one",
        "--stage-in",
        "/data/one=1.txt",
        "true",
    ];
    given.fails(&arguments, 64, &twice)?;
    // Ids are taken before the check; nothing is handed in.
    ensure!(
        given.applications()?.len() == before,
        "something was submitted"
    );
    Ok(())
}
