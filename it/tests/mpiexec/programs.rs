//! Several programs in one job, and how its ranks are numbered over the nodes.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, text_of};

use crate::hosts;

pub const CASES: &[(&str, Case)] = &[
    (
        "programs: a configuration file over several nodes",
        configuration,
    ),
    ("programs: their memory and places in one world", one_world),
    (
        "ranks: by node, by map, as Open MPI and srun say it",
        numbering,
    ),
    ("ranks: what cannot be numbered is refused", refused),
];

fn configuration(given: &Given) -> Result<()> {
    let program = given.program("appnum")?;
    let file = given.folder.join("programs.conf");
    fs::write(
        &file,
        format!("# two programs\n-n 2 {program} a\n\n-n 4 -env X 1 \\\n  {program} 'b'\n"),
    )?;
    let finished = given.succeeds(&["-ppn", "2", "-configfile", &text_of(&file)?])?;
    let mut lines: Vec<String> = finished.stdout_text().lines().map(Into::into).collect();
    lines.sort();
    ensure!(
        lines == ["0: 0 a", "1: 0 a", "2: 1 b", "3: 1 b", "4: 1 b", "5: 1 b"],
        "{finished:?}"
    );
    Ok(())
}

fn one_world(given: &Given) -> Result<()> {
    let program = given.program("neighbours")?;
    let list = hosts(given)[..3].join(":1,") + ":1";
    let finished = given.succeeds(&[
        "-hosts", &list, "-n", "1", &program, ":", "-n", "2", &program, "ignored",
    ])?;
    let found = neighbours(&finished.stdout_text())?;
    ensure!(found == [0, 1, 2], "{finished:?}");
    Ok(())
}

/// For each rank the lowest on its node.
fn neighbours(text: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for line in text.lines() {
        let (rank, lowest) = line.split_once(" beside ").context(line.to_owned())?;
        found.push((rank.parse::<u32>()?, lowest.parse::<u32>()?));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, lowest)| lowest).collect())
}

fn numbering(given: &Given) -> Result<()> {
    let program = given.program("neighbours")?;
    let hosts = hosts(given);
    let list = format!("{}:3,{}:2,{}:1", hosts[0], hosts[1], hosts[2]);
    for (line, expected) in [
        (
            &["-hosts", &list, "-rank-by", "node"][..],
            &[0, 1, 2, 0, 1, 0][..],
        ),
        (
            &["-hosts", &list, "-rankmap", "2,0,0,2,1,0"],
            &[0, 1, 1, 0, 4, 1],
        ),
        (&["-rankmap", "(0,3,1)", "-n", "6"], &[0, 1, 2, 0, 1, 2]),
        (&["-map-by", "ppr:2:node", "-n", "6"], &[0, 0, 2, 2, 4, 4]),
        (&["-ppn", "2", "-m", "cyclic", "-n", "5"], &[0, 1, 2, 0, 1]),
    ] {
        let finished = given.succeeds(&[line, &[program.as_str()]].concat())?;
        let found = neighbours(&finished.stdout_text())?;
        ensure!(found == expected, "{line:?}: {found:?}");
    }
    Ok(())
}

fn refused(given: &Given) -> Result<()> {
    for (line, words) in [
        (
            &["-rankmap", "0,3", "-hosts", "a,b", "true"][..],
            &["node 3", "2 hosts"][..],
        ),
        (
            &["-rankmap", "0,0", "-ppn", "2", "true"],
            &["-rankmap", "-ppn"],
        ),
        (&["-rank-by", "span", "true"], &["span", "-rankmap"]),
        (&["-map-by", "core", "true"], &["-bind-to"]),
        (&["-m", "plane=2", "true"], &["plane=2"]),
        (&["-n", "1", "true", ":", "true"], &["has no -n"]),
        (
            &["-n", "1", "true", ":", "-n", "1", "--queue", "x", "true"],
            &["--queue", "all programs"],
        ),
    ] {
        given.fails(line, 64, words)?;
    }
    Ok(())
}
