//! What tasks may have of the disks of a node that is named.

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::session::{stop, told};

use crate::{files, program, succeeds};

pub const CASES: &[(&str, Case)] = &[(
    "a node has a disk budget of its own, and the others have none",
    of_a_node,
)];

/// Rows of 100 bytes, of 12 maps: what each leaves does not stay in memory. The first two on the node may have left theirs
/// before anybody has looked; those that come then may not.
const ROWS: &str = "3200000";
const BYTES: usize = 320_000_000;
const MAPS: &str = "mapreduce.job.maps=12";

fn of_a_node(given: &Given) -> Result<()> {
    for (amounts, sentence) in [
        ("1g,2g", "--local-disk gives an amount for every node twice"),
        ("node3=", "\"node3=\" is no amount of disk"),
        ("no-such.invalid=5g", "--local-disk: "),
    ] {
        let refused = told(given, &["start", "s", "--local-disk", amounts], 64)?;
        let said = refused.stderr_text();
        ensure!(said.contains(sentence), "{amounts}: {said}");
    }
    let host = given.cluster.nodes()[0].host.to_string();
    let amounts = format!("{host}=1m,100g");
    let line = "start s --containers 3 --slots-per-container 2 --memory 512 --local-disk";
    let line: Vec<&str> = line.split(' ').chain([amounts.as_str()]).collect();
    told(given, &line, 0)?;
    let tera = program("tera")?;
    let rows = ["-D", MAPS, &tera, "--job", "teragen", ROWS, "/budget/rows"];
    succeeds(given, &rows)?;
    let line = [
        "--explain",
        "-D",
        "mapreduce.map.output.compress=false",
        "-D",
        "gerbil.split.pack=1",
        &tera,
        "--job",
        "terasort",
        "-D",
        "mapreduce.job.reduces=2",
        "/budget/rows",
        "/budget/sorted",
    ];
    let said = succeeds(given, &line)?.stderr_text();
    let ended = said.lines().filter(|line| {
        line.contains(" failed after ") && line.contains("of 2 MB that --local-disk gives them")
    });
    let ended: Vec<&str> = ended.collect();
    let there = format!(" on {host} failed after ");
    ensure!(
        !ended.is_empty() && ended.iter().all(|line| line.contains(&there)),
        "{said}"
    );
    let bytes: usize = files(given, "/budget/sorted")?.values().map(Vec::len).sum();
    ensure!(bytes == BYTES, "{bytes} bytes are sorted");
    stop(given, "s")
}
