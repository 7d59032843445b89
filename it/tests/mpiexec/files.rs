//! Output in files, and files that are brought along.

use std::fs;

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};

use crate::hosts;

pub const CASES: &[(&str, Case)] = &[
    ("files: output by rank and host, and a copy of all", by_rank),
    ("files: --files and --archives", along),
    ("files: output kept in HDFS is brought back", kept),
];

fn by_rank(given: &Given) -> Result<()> {
    let folder = given.folder.join("by-rank");
    let pattern = |name: &str| format!("{}/{name}", folder.display());
    let script = given.script("both", "echo out $PMI_RANK; echo err $PMI_RANK >&2")?;
    let hosts = hosts(given);
    let list = format!("{}:2,{}:1", hosts[1], hosts[0]);
    let finished = given.succeeds(&[
        "-hosts",
        &list,
        "-outfile-pattern",
        &pattern("%h/out-%p-%r"),
        "-errfile-pattern",
        &pattern("errors"),
        "--output",
        &pattern("copy"),
        &script,
    ])?;
    ensure!(finished.stdout_bytes == 0, "{finished:?}");
    let read = |name: &str| fs::read_to_string(folder.join(name));
    for (rank, host, node) in [(0, &hosts[1], 0), (1, &hosts[1], 0), (2, &hosts[0], 1)] {
        let text = read(&format!("{host}/out-{node}-{rank}"))?;
        ensure!(text == format!("out {rank}\n"), "{text}");
        let copies =
            read(&format!("copy/rank-{rank}.out"))? + &read(&format!("copy/rank-{rank}.err"))?;
        ensure!(copies == format!("out {rank}\nerr {rank}\n"), "{copies}");
    }
    let errors = read("errors")?;
    let mut errors: Vec<&str> = errors.lines().collect();
    errors.sort_unstable();
    ensure!(errors == ["err 0", "err 1", "err 2"], "{errors:?}");
    Ok(())
}

fn along(given: &Given) -> Result<()> {
    let file = given.folder.join("words.txt");
    fs::write(&file, "words\n")?;
    let other = given.folder.join("others.txt");
    fs::write(&other, "others\n")?;
    let folder = given.folder.join("pack");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("deep.txt"), "deep\n")?;
    let mut tar = std::process::Command::new("tar");
    tar.args(["czf", "pack.tar.gz", "pack"])
        .current_dir(&given.folder);
    it::Run::new(tar).finish()?.success("tar")?;
    let script = given.script(
        "along",
        "cat words.txt other.txt; cat again.txt | tr a-z A-Z; find -L data -name deep.txt | wc -l",
    )?;
    let (file, other) = (text_of(&file)?, text_of(&other)?);
    let archive = text_of(&given.folder.join("pack.tar.gz"))?;
    let finished = given.succeeds(&[
        "--files",
        // A file with two names.
        &format!("{file},{other}#other.txt,{file}#again.txt"),
        "--archives",
        &format!("{archive}#data"),
        "-n",
        "2",
        "-ppn",
        "1",
        &script,
    ])?;
    let text = finished.stdout_text();
    for line in ["words", "others", "WORDS", "1"] {
        let count = text.lines().filter(|found| *found == line).count();
        ensure!(count == 2, "{line}: {text}");
    }
    Ok(())
}

/// What one job leaves in HDFS by `--output` the next one finds by `--stage-in`.
fn kept(given: &Given) -> Result<()> {
    let says = given.script("says", "echo out $PMI_RANK")?;
    given.succeeds(&["-n", "2", "--output", "hdfs:///mpiexec-kept", &says])?;
    let reads = given.script("reads", "cat back")?;
    let back = "hdfs:///mpiexec-kept/rank-1.out=back";
    let finished = given.succeeds(&["-n", "2", "-ppn", "1", "--stage-in", back, &reads])?;
    let stdout = finished.stdout_text();
    ensure!(stdout == "out 1\nout 1\n", "{stdout}");
    let none = "hdfs:///mpiexec-kept/none=back";
    given.fails(&["--stage-in", none, &reads], 74, &["mpiexec-kept/none"])?;
    given.cluster.hdfs().remove("/mpiexec-kept")?;
    given.is_clean()
}
