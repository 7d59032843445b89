//! What a job costs the NameNode, which all jobs of a cluster share.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};
use it::session::stop;
use it::wait;

use crate::{files, is_same, local, program, put, start, succeeds, text};

pub const CASES: &[(&str, Case)] = &[
    (
        "a job is a few calls to the NameNode, and few more for each task",
        few,
    ),
    (
        "maps of parts of blocks read them without asking the NameNode",
        of_blocks,
    ),
];

/// Of a job, and of each of its tasks beside that writes a file of the output: it makes the file and a block of it, and
/// closes it. What maps with reduces read they have been told, and what they leave is no file.
const OF_A_JOB: u64 = 20;
const OF_A_FILE: u64 = 3;
/// By which each launcher learns once how files are written, whatever jobs it has.
const ONCE: &str = "GetServerDefaults";
/// By which a file is opened that is to be read.
const OPENED: &str = "GetBlockLocations";
/// By which files are made, and by which each is closed; where a DataNode was late to tell of its last block, again.
const MADE: &str = "Create";
const CLOSED: &str = "Complete";
/// By which the output folder, the cache and the program are looked at, and a file that a DataNode was late with.
const LOOKED_AT: &str = "GetFileInfo";
const USUAL_LOOKS: u64 = 3;
/// What the NameNode tells of its calls may be so old.
const OLD: Duration = Duration::from_secs(12);
/// Calls that a DataNode makes whatever jobs do.
const OTHERS: &[&str] = &[
    "SendHeartbeat",
    "BlockReport",
    "BlockReceivedAndDeleted",
    "RegisterDatanode",
    "VersionRequest",
    "CacheReport",
    "SendLifeline",
];

/// Calls by method.
type Calls = BTreeMap<String, u64>;

fn few(given: &Given) -> Result<()> {
    const SIZES: [(u64, u64); 6] = [(24, 6), (1, 1), (4, 4), (8, 16), (1, 0), (24, 0)];
    start(given)?;
    let input = |maps: u64| format!("/calls/in-{maps}");
    for maps in [1, 4, 8, 24] {
        let names: Vec<String> = (0..maps).map(|number| format!("f{number:02}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a b\n")).collect();
        put(given, &input(maps), &files)?;
    }
    let wordcount = program("wordcount")?;
    let job = |maps: u64, reduces: u64, out: &str| -> Result<()> {
        let (input, reduces) = (input(maps), reduces.to_string());
        let line = [
            "-D",
            "gerbil.split.pack=1",
            &wordcount,
            "--reduces",
            &reduces,
        ];
        succeeds(given, &[&line[..], &[&input, out]].concat()).map(drop)
    };
    // The program is on all nodes from then on.
    job(24, 6, "/calls/first")?;
    let mut before = calls(given)?;
    for (maps, reduces) in SIZES {
        job(maps, reduces, &format!("/calls/out-{maps}-{reduces}"))?;
        let after = calls(given)?;
        let made: Calls = after
            .iter()
            .map(|(method, count)| {
                let earlier = before.get(method).copied().unwrap_or_default();
                (method.clone(), count - earlier)
            })
            .filter(|(_, count)| *count > 0)
            .collect();
        let of = |method: &str| made.get(method).copied().unwrap_or_default();
        ensure!(of(OPENED) == 0, "maps asked where their input is: {made:?}");
        let (begun, closed) = (of(MADE), of(CLOSED));
        ensure!(
            (begun..=2 * begun).contains(&closed),
            "{begun} files were closed by {closed} calls: {made:?}"
        );
        let late = closed - begun + of(LOOKED_AT).saturating_sub(USUAL_LOOKS);
        let all = made.values().sum::<u64>() - of(ONCE) - late;
        let written = if reduces == 0 { maps } else { reduces };
        let most = OF_A_JOB + OF_A_FILE * written;
        ensure!(
            (1..=most).contains(&all),
            "{maps} maps, {reduces} reduces: {all} calls where {most} are the most: {made:?}"
        );
        before = after;
    }
    stop(given, "s")
}

/// Lines end in the next map's part, and parts in the middle of blocks.
fn of_blocks(given: &Given) -> Result<()> {
    let here = given.folder.join("lines");
    fs::write(&here, text(7).repeat(30))?;
    let here = text_of(&here)?;
    given.cluster.hdfs().make_folder("/calls/blocks", "777")?;
    let put = ["-D", "dfs.blocksize=1m", "-put", &here, "/calls/blocks/a"];
    given.cluster.dfs(&put)?;
    start(given)?;
    let cut = [
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=700000",
        "-D",
        "mapreduce.job.reduces=2",
    ];
    let wordcount = program("wordcount")?;
    let job = |out: &str| -> Result<String> {
        let job = [wordcount.as_str(), "/calls/blocks", out];
        Ok(succeeds(given, &[&cut[..], &job].concat())?.stderr_text())
    };
    // The program is on the nodes from then on.
    let said = job("/calls/of-blocks")?;
    ensure!(!said.contains(": 1 map over"), "{said}");
    let opened = || -> Result<u64> { Ok(calls(given)?.get(OPENED).copied().unwrap_or_default()) };
    let before = opened()?;
    job("/calls/again")?;
    let after = opened()?;
    ensure!(before == after, "{} files were opened", after - before);
    let alone = local(given, &wordcount, &["--reduces", "2", &here], "local")?;
    is_same(&files(given, "/calls/of-blocks")?, &alone)?;
    stop(given, "s")
}

/// Those of everybody but DataNodes, when nobody makes any.
fn calls(given: &Given) -> Result<Calls> {
    wait::pause(OLD);
    let mut all = given.cluster.hdfs().calls_by_method()?;
    // The same again over all, and what calls were answered with, are listed as well.
    all.retain(|method, _| {
        let is_again = method.starts_with("Overall") || method.ends_with("Exception");
        !is_again && !OTHERS.contains(&method.as_str())
    });
    Ok(all)
}
