//! Files that a job brings to its tasks: from here, from HDFS, as an archive, anew for each job.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::expect;
use it::session::stop;

use crate::{alone, files, is_gone, mr, program, put, start, succeeds};

pub const CASES: &[(&str, Case)] = &[("files that a job brings to its tasks", brought)];

fn brought(given: &Given) -> Result<()> {
    let mapjoin = program("mapjoin")?;
    put(given, "/brought/in", &[("a", "1\tpen\n2\tink\n3\tcup\n")])?;
    put(given, "/brought/tables", &[("far", "3\tcarol\n")])?;
    let table = given.folder.join("table.txt");
    let (here, named) = (
        table.display().to_string(),
        format!("{}#table", table.display()),
    );
    fs::write(&table, "1\tann\n2\tbob\n")?;

    let line = [&mapjoin, "--table", &here, "/brought/in", "/brought/alone"];
    alone(given, &line)?.finish()?.success("gerbil mr")?;
    is_joined(given, "/brought/alone", "1\tann\tpen\n2\tbob\tink\n")?;

    start(given)?;
    let line = ["--files", &named, &mapjoin, "/brought/in", "/brought/files"];
    succeeds(given, &line)?;
    is_joined(given, "/brought/files", "1\tann\tpen\n2\tbob\tink\n")?;
    // Another content under the same name, in the same session.
    fs::write(&table, "2\tbea\n")?;
    let line = [&mapjoin, "--table", &here, "/brought/in", "/brought/anew"];
    succeeds(given, &line)?;
    is_joined(given, "/brought/anew", "2\tbea\tink\n")?;
    let line = [
        &mapjoin,
        "--table",
        "hdfs:///brought/tables/far",
        "/brought/in",
        "/brought/far",
    ];
    succeeds(given, &line)?;
    is_joined(given, "/brought/far", "3\tcarol\tcup\n")?;

    let mut tar = Command::new("tar");
    tar.args(["-czf", "table.tgz", "table.txt"])
        .current_dir(&given.folder);
    ensure!(tar.status()?.success(), "tar has failed");
    let packed = format!("{}#table", given.folder.join("table.tgz").display());
    // It lies there as a folder, which this program cannot read as a file.
    let once = ["-D", "mapreduce.map.maxattempts=1", "--archives", &packed];
    let line = [&once[..], &[&mapjoin, "/brought/in", "/brought/folder"]].concat();
    expect::sentence(&mr(given, &line)?.finish()?, 1, &["Is a directory"])?;

    for (options, words) in [
        (
            ["--table", "/brought/gone"],
            "there is no file /brought/gone",
        ),
        (["--table", "hdfs:///brought/gone"], "/brought/gone"),
        (
            ["--files", "table.txt#tmp"],
            "table.txt cannot be brought along as tmp",
        ),
        (
            ["--archives", &format!("{here}#a")],
            "archives are .tar, .tar.gz, .tgz or .zip",
        ),
    ] {
        let line = [&[&*mapjoin][..], &options, &["/brought/in", "/brought/out"]].concat();
        let finished = mr(given, &line)?.finish()?;
        let said = finished.stderr_text();
        ensure!(
            finished.code() != 0 && said.contains(words),
            "{options:?}: {said}"
        );
    }
    // It is the client that runs here, and it is told so before the program.
    let line = [
        &mapjoin,
        "--local",
        "--table",
        &here,
        "/brought/in",
        "/brought/out",
    ];
    let finished = mr(given, &line)?.finish()?;
    let said = finished.stderr_text();
    ensure!(
        finished.code() == 64 && said.contains("gerbil mr --local PROGRAM"),
        "{said}"
    );
    is_gone(given, "/brought/out")?;
    stop(given, "s")
}

fn is_joined(given: &Given, output: &str, wanted: &str) -> Result<()> {
    let parts = files(given, output)?;
    let part = parts
        .get("part-m-00000")
        .map(|part| String::from_utf8_lossy(part));
    ensure!(part.as_deref() == Some(wanted), "{output}: {part:?}");
    Ok(())
}
