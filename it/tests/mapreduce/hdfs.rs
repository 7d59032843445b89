//! What HDFS may refuse a job that has begun: room for its output, a block of its input, a file of its input. And files
//! that are still being written, which it does not refuse.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use hdfs_native::{ClientBuilder, WriteOptions};
use it::bed::{Case, DEADLINE, Given};
use it::session::{command, shows, stop, told};
use it::{expect, wait};

use crate::{files, is_gone, mr, program, put, start, succeeds, text};

pub const CASES: &[(&str, Case)] = &[
    ("an output for which a quota leaves no room", quota),
    ("an input with a block that no DataNode has", no_replica),
    ("an input that vanishes before its map begins", vanished),
    ("inputs that are still being written", being_written),
];

/// No task fails more often.
const TWICE: [&str; 4] = [
    "-D",
    "mapreduce.map.maxattempts=2",
    "-D",
    "mapreduce.reduce.maxattempts=2",
];

/// Of which HDFS counts a whole block, while a file is being written, of twice as many bytes.
fn quota(given: &Given) -> Result<()> {
    put(given, "/quota/in", &[("a", "a b a\n")])?;
    put(given, "/quota/full", &[])?;
    given
        .cluster
        .dfs_admin(&["-setSpaceQuota", "64m", "/quota/full"])?;
    start(given)?;
    let wordcount = program("wordcount")?;
    let job = [&wordcount, "/quota/in", "/quota/full/out"];
    let finished = mr(given, &[&TWICE[..], &job].concat())?.finish()?;
    let words = [
        "reduce 0 failed 2 times",
        "the quota is used up",
        "quota of /quota/full is exceeded",
    ];
    expect::sentence(&finished, 1, &words)?;
    is_gone(given, "/quota/full/out")?;
    given
        .cluster
        .dfs_admin(&["-clrSpaceQuota", "/quota/full"])?;
    succeeds(given, &job)?;
    ensure!(
        files(given, "/quota/full/out")?.contains_key("_SUCCESS"),
        "no _SUCCESS"
    );
    stop(given, "s")
}

/// Bytes of a block of the file that loses its second one.
const BLOCK: u64 = 1 << 20;

fn no_replica(given: &Given) -> Result<()> {
    let (before, here) = (blocks(given)?, given.folder.join("lines"));
    fs::write(&here, text(7).repeat(30))?;
    given.cluster.hdfs().make_folder("/lost/in", "777")?;
    let size = format!("dfs.blocksize={BLOCK}");
    let path = here.to_str().context("a name that is no text")?;
    given
        .cluster
        .dfs(&["-D", &size, "-put", path, "/lost/in/a"])?;
    let made: Vec<PathBuf> = blocks(given)?.difference(&before).cloned().collect();
    ensure!(made.len() > 2, "{made:?}");
    let second = made.get(1).context("no second block")?;
    fs::remove_file(second)?;

    start(given)?;
    let job = [&program("wordcount")?, "/lost/in", "/lost/out"];
    let finished = mr(given, &[&TWICE[..], &job].concat())?.finish()?;
    let at = format!("the block with byte {BLOCK}: none");
    let words = ["failed 2 times", "/lost/in/a", &at, "hdfs fsck /lost/in/a"];
    expect::sentence(&finished, 1, &words)?;
    is_gone(given, "/lost/out")?;
    // What waits for it waits for nothing else.
    put(given, "/lost/other", &[("a", "a b a\n")])?;
    succeeds(given, &[job[0], "/lost/other", "/lost/out"])?;
    given.cluster.hdfs().remove("/lost/in")?;
    stop(given, "s")
}

/// The blocks that lie with the DataNode, in the order in which they were made.
fn blocks(given: &Given) -> Result<BTreeSet<PathBuf>> {
    let mut all = BTreeSet::new();
    collect(&given.cluster.folder().join("storage/data"), &mut all)?;
    Ok(all)
}

fn collect(folder: &Path, all: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            collect(&path, all)?;
        } else if name.starts_with("blk_") && !name.ends_with(".meta") {
            all.insert(path);
        }
    }
    Ok(())
}

fn vanished(given: &Given) -> Result<()> {
    let slow = format!("{}last\n", "sleep\n".repeat(20));
    put(given, "/vanish/in", &[("a", &slow), ("b", "never read\n")])?;
    let one = ["--containers", "1", "--slots-per-container", "1"];
    told(
        given,
        &[&["start", "s"], &one[..], &["--memory", "768"]].concat(),
        0,
    )?;
    let fixed = ["-D", "gerbil.split.pack=1"];
    let job = [&program("faulty")?, "/vanish/in", "/vanish/out"];
    let running = mr(given, &[&TWICE[..], &fixed, &job].concat())?.start()?;
    wait::until("a map that runs", DEADLINE, || {
        let shown = told(given, &["status", "s"], 0)?.stdout_text();
        Ok(shown.contains("1 of them in use").then_some(()))
    })?;
    given.cluster.hdfs().remove("/vanish/in/b")?;
    let finished = running.finish()?;
    let words = ["map 1 failed 2 times", "/vanish/in/b any more"];
    expect::sentence(&finished, 1, &words)?;
    is_gone(given, "/vanish/out")?;
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    stop(given, "s")
}

/// As collectors of logs have them open: one is new, one was closed and is appended to. What was flushed is read.
fn being_written(given: &Given) -> Result<()> {
    put(
        given,
        "/open/in",
        &[("appended", "a b\n"), ("closed", "a\n")],
    )?;
    start(given)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let client = ClientBuilder::new()
        .with_url(format!("hdfs://{}", given.cluster.name_node_address()))
        .with_user(given.cluster.user())
        .with_config_dir("/nonexistent")
        .build()?;
    let written = runtime.block_on(async {
        let options = WriteOptions::default();
        let mut begun = client.create("/open/in/begun", options).await?;
        Box::pin(begun.write_bytes("a c\n".repeat(3).into())).await?;
        begun.hsync().await?;
        let mut appended = client.append("/open/in/appended").await?;
        Box::pin(appended.write_bytes("b\n".into())).await?;
        appended.hsync().await?;
        anyhow::Ok([begun, appended])
    })?;
    let wordcount = program("wordcount")?;
    for (input, output, counts) in [
        ("/open/in", "/open/out", "a\t5\nb\t2\nc\t3\n"),
        ("/open/in/b*", "/open/by-pattern", "a\t3\nc\t3\n"),
    ] {
        succeeds(given, &[&wordcount, input, output])?;
        let counted = files(given, output)?.remove("part-r-00000");
        let counted = String::from_utf8(counted.unwrap_or_default())?;
        ensure!(counted == counts, "{input}: {counted}");
    }
    let shell = |words: &[&str]| {
        let line = [&["hadoop", "fs"], words].concat();
        command(given, &line)?.finish()?.success("gerbil hadoop fs")
    };
    let here = given.folder.join("begun");
    let local = here.display().to_string();
    shell(&["-get", "/open/in/begun", &local])?;
    let got = [
        shell(&["-cat", "/open/in/begun"])?.stdout_text(),
        shell(&["-text", "/open/in/begun"])?.stdout_text(),
        fs::read_to_string(&here)?,
    ];
    ensure!(got.iter().all(|text| *text == "a c\n".repeat(3)), "{got:?}");
    drop(written);
    stop(given, "s")
}
