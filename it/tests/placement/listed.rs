//! Hosts that the user lists, and lists of jobs.

use std::fs;

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};

use it::reported::{self, hosts};

pub const CASES: &[(&str, Case)] = &[
    ("listed: every form of a host file", forms),
    ("listed: mpiexec's spellings", spellings),
    ("listed: processes per node without a list", per_node),
    ("listed: hosts that are no candidates", excluded),
    ("listed: names that the cluster does not know", unknown),
    ("listed: what contradicts itself", contradictions),
    ("listed: many jobs from a file", many_jobs),
];

fn forms(given: &Given) -> Result<()> {
    let hosts = hosts(given);
    let path = given.folder.join("forms");
    let text = format!(
        "# a comment\r\n{}:1\r\n\r\n{} slots=2 # two\n{} 1\n{}\n",
        hosts[2], hosts[0], hosts[1], hosts[0]
    );
    fs::write(&path, text)?;
    let program = given.script("short", "hostname >/dev/null")?;
    let (_, report) = reported::reported(given, &["-f", &text_of(&path)?, &program])?;
    let shares = reported::shares(given, &report)?;
    ensure!(shares == [(2, 1), (0, 3), (1, 1)], "{shares:?}");
    ensure!(report.mode == "none", "{report:?}");
    given.is_clean()
}

fn spellings(given: &Given) -> Result<()> {
    let hosts = hosts(given);
    let program = given.script("short", "hostname >/dev/null")?;
    let list = format!("{}:2,{}:2", hosts[1], hosts[0]);
    let path = given.folder.join("spellings");
    fs::write(&path, list.replace(',', "\n"))?;
    let file = text_of(&path)?;
    for line in [
        vec!["-np", "4", "-hosts", &list],
        vec!["-machinefile", &file],
        vec!["--hostfile", &file, "-n4"],
        vec!["-host", &list, "-np", "4"],
        vec!["--relax=none", "-f", &file],
    ] {
        let line = [&line[..], &[program.as_str()]].concat();
        let (_, report) = reported::reported(given, &line)?;
        let shares = reported::shares(given, &report)?;
        ensure!(shares == [(1, 2), (0, 2)], "{line:?}: {shares:?}");
    }
    given.is_clean()
}

fn per_node(given: &Given) -> Result<()> {
    let program = given.script("short", "hostname >/dev/null")?;
    let (_, report) = reported::reported(given, &["-n", "5", "-ppn", "2", &program])?;
    let mut counts: Vec<u32> = reported::shares(given, &report)?
        .iter()
        .map(|s| s.1)
        .collect();
    counts.sort_unstable();
    ensure!(counts == [1, 2, 2], "{counts:?}");
    given.is_clean()
}

fn excluded(given: &Given) -> Result<()> {
    let hosts = hosts(given);
    let program = given.script("short", "hostname >/dev/null")?;
    let out = format!("{},{}", hosts[0], hosts[1]);
    let (_, report) = reported::reported(given, &["-n", "4", "--exclude", &out, &program])?;
    let shares = reported::shares(given, &report)?;
    ensure!(shares.iter().all(|(node, _)| *node >= 2), "{shares:?}");
    given.fails(
        &["--exclude", &hosts[0], "-hosts", &hosts[0], &program],
        64,
        &[&hosts[0]],
    )?;
    Ok(())
}

fn unknown(given: &Given) -> Result<()> {
    let hosts = hosts(given);
    let program = given.script("short", "hostname >/dev/null")?;
    let near = format!("{}9", &hosts[0][..hosts[0].len() - 1]);
    given.fails(&["-hosts", &near, &program], 64, &[&near, &hosts[0]])?;
    Ok(())
}

fn contradictions(given: &Given) -> Result<()> {
    let program = given.script("short", "hostname >/dev/null")?;
    let hosts = hosts(given);
    let bad = given.folder.join("bad");
    fs::write(&bad, format!("{}:2\n{}:0\n", hosts[0], hosts[1]))?;
    let bad = text_of(&bad)?;
    let empty = given.folder.join("empty");
    fs::write(&empty, "# nobody\n")?;
    let empty = text_of(&empty)?;
    let list = hosts.join(",");
    for (line, words) in [
        (vec!["-r", "none", "-n", "2"], vec!["-r none", "-f FILE"]),
        (vec!["-r", "loc", "-n", "2"], vec!["loc"]),
        (vec!["-r", "all", "-hosts", &list], vec!["-r all", "list"]),
        (vec!["-r", "some", "-n", "2"], vec!["some", "loc+dist"]),
        (
            vec!["-r", "dist", "-hosts", &list, "-n", "2"],
            vec!["2", "4"],
        ),
        (vec!["-f", &bad], vec!["bad", "2", "0"]),
        (vec!["-f", &empty], vec!["empty"]),
        (vec!["-f", "/no/such/file"], vec!["/no/such/file"]),
        (vec!["-npp", "4"], vec!["-npp", "-np"]),
    ] {
        let line = [&line[..], &[program.as_str()]].concat();
        given.fails(&line, 64, &words)?;
    }
    Ok(())
}

fn many_jobs(given: &Given) -> Result<()> {
    let good = given.script("good", "echo good")?;
    let seven = given.script("seven", "exit 7")?;
    let path = given.folder.join("jobs");
    fs::write(
        &path,
        format!("# three jobs\n-n 2 {good}\n\ngerbil-run -n 1 {seven}\n-n 1 {good}\n"),
    )?;
    let before = given.applications()?.len();
    let finished = given.gerbil(&["-l", &text_of(&path)?])?.finish()?;
    ensure!(finished.code() == 7, "{finished:?}");
    let stdout = finished.stdout_text();
    ensure!(stdout.matches("good").count() >= 3, "{stdout}");
    let new = given.applications()?.split_off(before);
    ensure!(new.len() == 3, "{new:?}");
    let table = finished.stderr_text() + &stdout;
    for report in new {
        ensure!(table.contains(&report.id), "{table}");
    }
    given.is_clean()
}
