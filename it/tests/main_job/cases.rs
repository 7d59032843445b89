//! An unmodified MPI program on an unmodified cluster of four nodes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};
use it::{Mpich, expect};

use crate::NODES;

pub const CASES: &[(&str, Case)] = &[
    ("eight ranks of cpi on four nodes with MPICH 5", eight_ranks),
    (
        "two ranks of cpi with Debian's MPICH 4",
        two_ranks_of_mpich_4,
    ),
    ("a second run uploads nothing", second_run_uploads_nothing),
    (
        "ranks spread over all nodes and load the shipped library",
        shipped_library,
    ),
    (
        "hello from each rank, and a token goes round",
        hello_and_ring,
    ),
    ("input reaches rank 0", input),
    ("arguments arrive as they are", arguments),
];

/// What cpi writes for `ranks` ranks.
fn check_cpi(stdout: &str, ranks: usize) -> Result<()> {
    for rank in 0..ranks {
        let line = format!("rank {rank} of {ranks} runs on ");
        let count = stdout
            .lines()
            .filter(|found| found.starts_with(&line))
            .count();
        ensure!(count == 1, "{count} lines {line:?} in\n{stdout}");
    }
    ensure!(
        stdout.contains("pi is about 3.14159265358"),
        "wrong result in\n{stdout}"
    );
    let lines = stdout.lines().count();
    ensure!(
        lines == ranks + 2,
        "{lines} lines instead of {} in\n{stdout}",
        ranks + 2
    );
    Ok(())
}

fn eight_ranks(given: &Given) -> Result<()> {
    let cpi = given.example("cpi")?;
    check_cpi(&given.succeeds(&["-n", "8", &cpi])?.stdout_text(), 8)
}

fn two_ranks_of_mpich_4(given: &Given) -> Result<()> {
    let folder = given.folder.join("mpich-4");
    std::fs::create_dir_all(&folder)?;
    let cpi = text_of(&Mpich::debian()?.example("cpi", &folder)?)?;
    check_cpi(&given.succeeds(&["-n", "2", &cpi])?.stdout_text(), 2)
}

fn second_run_uploads_nothing(given: &Given) -> Result<()> {
    let cpi = given.example("cpi")?;
    let cache = || {
        let folder = format!("/user/{}/.gerbil/cache", given.cluster.user());
        let mut all: Vec<_> = given
            .cluster
            .hdfs()
            .list(&folder)?
            .into_iter()
            .map(|file| (file.path_suffix, file.length, file.modification_time))
            .collect();
        all.sort();
        anyhow::Ok(all)
    };
    given.succeeds(&["-n", "2", &cpi])?;
    let first = cache()?;
    ensure!(!first.is_empty(), "nothing is kept in the cache folder");
    given.succeeds(&["-n", "2", &cpi])?;
    let second = cache()?;
    ensure!(
        first == second,
        "the second run changed the cache: {first:?} became {second:?}"
    );
    Ok(())
}

fn shipped_library(given: &Given) -> Result<()> {
    let program = given.program("environment")?;
    let finished = given.succeeds(&["-n", "8", &program, "PMI_", "GERBIL_"])?;
    let stdout = finished.stdout_text();
    let nodes = given.cluster.folder().join("nodes");
    let values = |name: &str| -> Vec<PathBuf> {
        let name = format!(": {name}=");
        stdout
            .lines()
            .filter_map(|line| line.split_once(&name))
            .map(|(_, value)| PathBuf::from(value))
            .collect()
    };
    let folders = values("folder");
    // NODES/nm1/local/…: the first name below `nodes` tells the node.
    let used: BTreeSet<_> = folders
        .iter()
        .filter_map(|folder| folder.strip_prefix(&nodes).ok()?.iter().next())
        .collect();
    ensure!(
        folders.len() == 8 && used.len() == NODES,
        "eight ranks on nodes {used:?}:\n{stdout}"
    );
    let libraries = values("library");
    ensure!(
        libraries.len() == 8 && libraries.iter().all(|library| library.starts_with(&nodes)),
        "libmpi does not come from the containers' folders: {libraries:?}\n{stdout}"
    );
    let stderr = finished.stderr_text();
    for rank in 0..8 {
        ensure!(
            stderr.contains(&format!("{rank}: this goes to stderr")),
            "rank {rank} is missing in {stderr}"
        );
    }
    ensure!(
        !stdout.contains("this goes to stderr"),
        "stderr is mixed into stdout"
    );
    // A key among the ranks' variables would be readable by every process of the user.
    let secret =
        |line: &&str| line.contains("PRIVATE KEY") || line.to_lowercase().contains("ticket");
    ensure!(
        !stdout.lines().any(|line| secret(&line)),
        "secrets in the ranks' environment:\n{stdout}"
    );
    Ok(())
}

fn hello_and_ring(given: &Given) -> Result<()> {
    let hello = given.example("hello")?;
    let stdout = given.succeeds(&["-n", "4", &hello])?.stdout_text();
    for rank in 0..4 {
        ensure!(
            stdout.contains(&format!("hello from rank {rank} of 4 on ")),
            "{stdout}"
        );
    }
    let ring = given.example("ring")?;
    let stdout = given.succeeds(&["-n", "8", &ring])?.stdout_text();
    ensure!(
        stdout.contains("the token came back as 28, expected 28"),
        "{stdout}"
    );
    Ok(())
}

fn input(given: &Given) -> Result<()> {
    let cat = given.program("cat")?;
    // More than any pipe holds, so that it must be taken while the program reads.
    let sent: Vec<u8> = (0..200_000_u32)
        .flat_map(|number| format!("{number}\n").into_bytes())
        .collect();
    let finished = expect::job(
        &given.cluster,
        given.gerbil(&["-n", "4", &cat])?.stdin(sent.clone()),
    )?;
    ensure!(
        finished.stdout == sent,
        "{} bytes came back of {}",
        finished.stdout.len(),
        sent.len()
    );
    Ok(())
}

fn arguments(given: &Given) -> Result<()> {
    let strange = [
        "two words",
        "a'quote",
        "a\"double",
        "$HOME",
        "back\\slash",
        "",
        "*",
        "--verbose",
        "ümlaut",
        "{{PWD}}",
    ];
    let script = given.script("say", "for word do printf '<%s>\\n' \"$word\"; done")?;
    let mut line = vec!["-n", "1", &script];
    line.extend(strange);
    let stdout = given.succeeds(&line)?.stdout_text();
    let expected: String = strange.iter().map(|word| format!("<{word}>\n")).collect();
    ensure!(stdout == expected, "{stdout:?} instead of {expected:?}");
    Ok(())
}
