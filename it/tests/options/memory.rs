//! Jobs that end for memory: by their launcher, or by YARN; which limit, how much, which rank, and what to change.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, text_of};
use it::expect::failure;
use job::report::Report;

pub const CASES: &[(&str, Case)] = &[
    ("ended for physical memory", physical),
    ("killed for virtual memory", virtual_memory),
];

/// How often YARN may come first: it looks every few seconds, a launcher each, and on a busy machine either may be late.
const FIRST: usize = 5;

/// Two ranks to a node and 1024 MiB to a rank: rank 3 takes what both have, and more. Its launcher is there before YARN.
fn physical(given: &Given) -> Result<()> {
    let program = given.program("hog")?;
    let arguments = ["-n", "4", "-ppn", "2", "--mem-per-proc", "1g", &program];
    let arguments = [&arguments[..], &["3", "2300", "touch"]].concat();
    let words = [
        "rank 3",
        "more than its share of its container's memory",
        "--mem-per-proc",
    ];
    for _ in 1..FIRST {
        let finished = given.gerbil(&arguments)?.finish()?;
        if finished.code() != 70 {
            return failure(&given.cluster, &finished, 128 + 9, &words);
        }
        failure(
            &given.cluster,
            &finished,
            70,
            &["killed by YARN", "--mem-per-proc"],
        )?;
    }
    given.fails(&arguments, 128 + 9, &words).map(drop)
}

/// Hadoop's own ratio gives 2.1 times the size. Nobody but YARN looks at that.
fn virtual_memory(given: &Given) -> Result<()> {
    let sentence = killed(given, "6000", "reserve", -103)?;
    for words in [
        "of virtual memory and its node allows 4.2 GB to a container of this size",
        "yarn.nodemanager.vmem-pmem-ratio raised",
        "yarn.nodemanager.vmem-check-enabled set to false",
    ] {
        ensure!(sentence.contains(words), "{sentence}");
    }
    Ok(())
}

/// What `gerbil-run` says of a job whose rank 3 takes `mib`, for which YARN ends the container of ranks
/// 2 and 3 with `status`.
fn killed(given: &Given, mib: &str, how: &str, status: i32) -> Result<String> {
    let program = given.program("hog")?;
    let path = text_of(&given.folder.join("hog.json"))?;
    let arguments = [
        "--report",
        &path,
        "-print-all-exitcodes",
        "-n",
        "4",
        "-ppn",
        "2",
    ];
    let program = ["--mem-per-proc", "1g", &program, "3", mib, how];
    let arguments = [arguments.as_slice(), &program].concat();
    let finished = given.fails(&arguments, 70, &["killed by YARN", "--mem-per-proc"])?;
    let stderr = finished.stderr_text();
    let report: Report = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let exits = report.ranks.iter().map(|rank| rank.container_exit.as_ref());
    let exits: Vec<Option<i32>> = exits.map(|exit| Some(exit?.status)).collect();
    ensure!(
        exits == [None, None, Some(status), Some(status)],
        "{exits:?}"
    );
    let row = format!("  {status} (over its ");
    ensure!(stderr.contains(&row), "no table with {row:?}: {stderr}");
    let end = format!("3: container exit {status} (over its ");
    ensure!(stderr.contains(&end), "no {end:?}: {stderr}");
    let sentence = stderr.lines().find(|line| line.contains("killed by YARN"));
    let sentence = sentence.context("no sentence")?;
    let (_, held) = sentence
        .split_once("; rank 3 held the most, ")
        .with_context(|| format!("no rank: {sentence}"))?;
    let (held, _) = held
        .split_once(" MiB when last seen")
        .context("no amount")?;
    let (held, wanted): (u64, u64) = (held.parse()?, mib.parse()?);
    // The NodeManager may look just as it grows beyond its share, and the launcher has looked a second before.
    ensure!(held >= wanted / 2, "{held} of {wanted} MiB: {sentence}");
    Ok(sentence.to_owned())
}
