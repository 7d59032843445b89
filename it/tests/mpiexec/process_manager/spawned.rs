//! `MPI_Comm_spawn` and its relatives.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, said};
use it::{Finished, IntelMpi};

pub const CASES: &[(&str, Case)] = &[
    ("spawn: a group over all nodes", a_group),
    ("spawn: several commands with infos", several_commands),
    ("spawn: in the folder of the one that spawns", in_its_folder),
    ("spawn: one after the other", one_after_the_other),
    ("spawn: many groups live and print", many_live),
    ("spawn: a program that is not there", not_there),
    ("spawn: more than a job may", too_many),
    ("spawn: MPI_Abort of a spawned process", abort),
    ("spawn: a spawned process fails", failure),
    ("spawn: after a rank has died", after_a_death),
    ("spawn: with Intel MPI", with_intel),
];

/// An answer, where it is not a hang.
const SOON: Duration = Duration::from_secs(40);

/// The lines of standard output that hold `words`.
fn lines<'a>(stdout: &'a str, words: &str) -> Vec<&'a str> {
    stdout.lines().filter(|line| line.contains(words)).collect()
}

/// Four ranks have spawned six, on four nodes, and all ten have added up their ranks.
fn is_whole(finished: &Finished) -> Result<()> {
    let stdout = finished.stdout_text();
    ensure!(stdout.contains("0: spawn success"), "{finished:?}");
    ensure!(lines(&stdout, ": sum 45").len() == 10, "{stdout}");
    let children = lines(&stdout, "of 6: appnum 0, words plain two words, folder ");
    ensure!(children.len() == 6, "{stdout}");
    let folders: BTreeSet<&str> = children
        .iter()
        .filter_map(|line| line.split("folder ").nth(1))
        .collect();
    ensure!(folders.len() == 4, "{stdout}");
    Ok(())
}

fn a_group(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let line = ["-n", "4", "-ppn", "1", "-env", "MINE", "7", &program];
    let finished = given.succeeds(&[&line[..], &["spawn", "6"]].concat())?;
    is_whole(&finished)?;
    // What the user has set for the program holds for its children.
    let stdout = finished.stdout_text();
    ensure!(lines(&stdout, "mine 7").len() == 6, "{stdout}");
    Ok(())
}

fn with_intel(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let options = IntelMpi::install()?.options();
    let mut line: Vec<&str> = options.iter().map(String::as_str).collect();
    line.extend(["-n", "4", "-ppn", "1", &program, "spawn", "6"]);
    is_whole(&given.succeeds(&line)?)
}

fn several_commands(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let nodes = given.cluster.nodes();
    let host = nodes.last().context("no nodes")?.host.to_string();
    let line = ["-n", "4", "-ppn", "1", &program, "multiple", "/tmp", &host];
    let finished = given.succeeds(&line)?;
    let stdout = finished.stdout_text();
    for rank in 0..2 {
        let first = format!("child {rank} of 5: appnum 0, words first -, folder /tmp, ");
        ensure!(stdout.contains(&first), "{stdout}");
    }
    for rank in 2..5 {
        let second = format!("child {rank} of 5: appnum 1, words second -, folder /");
        ensure!(stdout.contains(&second), "{stdout}");
    }
    ensure!(lines(&stdout, ": sum 36").len() == 9, "{stdout}");
    // A host of which the job has no container.
    let line = ["-n", "2", "-hosts", &nodes[0].host.to_string(), &program];
    let finished = given.succeeds(&[&line[..], &["multiple", "/tmp", &host]].concat())?;
    ensure!(
        finished.stdout_text().contains("0: spawn another error"),
        "{finished:?}"
    );
    let words = format!("the job holds no container on {host}");
    ensure!(
        said(&finished).iter().any(|line| line.contains(&words)),
        "{finished:?}"
    );
    Ok(())
}

fn in_its_folder(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let line = [
        "-wdir", "/tmp", "-n", "2", "-ppn", "1", &program, "spawn", "2",
    ];
    let stdout = given.succeeds(&line)?.stdout_text();
    ensure!(stdout.contains("0: spawn success"), "{stdout}");
    ensure!(lines(&stdout, ", folder /tmp, ").len() == 2, "{stdout}");
    Ok(())
}

fn one_after_the_other(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let finished = given.succeeds(&["-n", "2", "-ppn", "1", &program, "again", "10"])?;
    let stdout = finished.stdout_text();
    ensure!(lines(&stdout, "0: spawn success").len() == 10, "{stdout}");
    ensure!(lines(&stdout, "child 0: sum 3").len() == 10, "{stdout}");
    Ok(())
}

/// Of one container, more than the calls of its link: what each prints comes whole, and none waits for
/// another.
fn many_live(given: &Given) -> Result<()> {
    const GROUPS: u64 = 18;
    // 32,768 lines of 64 bytes each, and the parent's own.
    const OF_GROUP: u64 = 32_768 * 64;
    let program = given.program("spawn")?;
    let groups = GROUPS.to_string();
    let finished = given.succeeds(&["-n", "1", &program, "live", &groups])?;
    let whole = GROUPS * OF_GROUP + "0: 18 groups live\n".len() as u64;
    ensure!(finished.stdout_bytes == whole, "{}", finished.stdout_bytes);
    // Of so much the beginning is kept: each line whole.
    let stdout = finished.stdout_text();
    let kept = stdout.rfind('\n').map_or("", |end| &stdout[..end]);
    let odd = kept.lines().find(|line| {
        let of_group = line.starts_with("child of group ") && line.len() == 63;
        !of_group && *line != "0: 18 groups live"
    });
    ensure!(odd.is_none(), "{odd:?}");
    given.is_clean()
}

/// MPICH makes an error without a class of its own of it; what matters is that the program goes on.
fn refused(given: &Given, arguments: &[&str], why: &str) -> Result<()> {
    let began = Instant::now();
    let finished = given.succeeds(arguments)?;
    ensure!(began.elapsed() < SOON, "{finished:?}");
    ensure!(
        finished.stdout_text().contains("0: spawn another error"),
        "{finished:?}"
    );
    ensure!(
        said(&finished).iter().any(|line| line.contains(why)),
        "{finished:?}"
    );
    Ok(())
}

fn not_there(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let why = "./nothing cannot be spawned: it is neither on this node nor staged with the job";
    let line = ["-n", "4", "-ppn", "1", &program, "spawn", "6", "./nothing"];
    refused(given, &line, why)
}

fn too_many(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let why = "a job may spawn 100000 processes in its life";
    refused(given, &["-n", "2", &program, "spawn", "200000"], why)
}

fn abort(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let line = ["-n", "4", "-ppn", "1", &program, "abort"];
    let sentence = [
        "rank 2 of spawned group 1 on ",
        "called MPI_Abort with code 9",
    ];
    given.fails(&line, 9, &sentence)?;
    Ok(())
}

fn failure(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let line = ["-n", "4", "-ppn", "1", &program, "fail"];
    let sentence = ["rank 2 of spawned group 1 on ", "exited with code 5"];
    given.fails(&line, 5, &sentence)?;
    Ok(())
}

fn after_a_death(given: &Given) -> Result<()> {
    let program = given.program("spawn")?;
    let line = [
        "-disable-auto-cleanup",
        "-n",
        "2",
        "-ppn",
        "1",
        &program,
        "widow",
    ];
    let finished = given.fails(&line, 3, &["rank 1 on ", "exited with code 3"])?;
    let stdout = finished.stdout_text();
    ensure!(stdout.contains("child 0: sum 1"), "{finished:?}");
    Ok(())
}
