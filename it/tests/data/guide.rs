//! The commands of the guide's pages, typed as they stand there.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use it::bed::{self, Case, Given};
use it::readme::{GUIDE, blocks_of};
use it::{Mpich, Run, cargo, gerbil, mapreduce};

pub const CASES: &[(&str, Case)] = &[
    ("the guide: MPI jobs", |given| runs(given, "mpi.md")),
    ("the guide: sessions", |given| runs(given, "sessions.md")),
    ("the guide: MapReduce", |given| runs(given, "mapreduce.md")),
    ("the guide: placement and devices", |given| {
        runs(given, "placement.md")?;
        runs(given, "devices.md")
    }),
    ("the guide: administrators", administered),
    ("the guide: coming from Hadoop", |given| {
        runs(given, "coming-from.md")
    }),
    ("the guide: no other page has commands", others),
];

/// Pages whose commands the cases above run.
const RUN: &[&str] = &[
    "admins.md",
    "coming-from.md",
    "devices.md",
    "mapreduce.md",
    "mpi.md",
    "placement.md",
    "sessions.md",
];

/// All blocks of a page in one shell, in a folder with the programs that they name.
fn runs(given: &Given, page: &str) -> Result<()> {
    let script = blocks_of(&format!("client/guide/{page}"))?.concat();
    ensure!(!script.is_empty(), "{page} has no commands");
    typed(given, page, &script)
}

/// That page, between jobs that leave something to be removed, and need it once more.
fn administered(given: &Given) -> Result<()> {
    let script = blocks_of("client/guide/admins.md")?.concat();
    let cached = "gerbil clean | grep -q '/[.]gerbil/cache'";
    // YARN may take a moment to know that a job is over, and until then what it needs stays.
    let over = "until test -z \"$(gerbil ps)\"; do sleep 0.2; done";
    let script = format!(
        "gerbil run -n 1 hostname\n{over}\n{cached}\n{script}if {cached}; then exit 1; fi\n\
         gerbil run -n 1 hostname\n"
    );
    typed(given, "admins.md", &script)
}

fn typed(given: &Given, page: &str, script: &str) -> Result<()> {
    let folder = bed::folder()?;
    for name in ["gerbil", "gerbil-run"] {
        symlink(gerbil::binary()?, folder.path().join(name))?;
    }
    Mpich::install()?.example("cpi", folder.path())?;
    let named = ["join", "mapjoin", "tera", "wordcount"];
    for name in named
        .iter()
        .filter(|name| script.contains(&format!("./{name}")))
    {
        fs::copy(mapreduce::example(name)?, folder.path().join(name))?;
    }
    let mut path = OsString::from(folder.path());
    path.push(":");
    path.push(std::env::var_os("PATH").context("no PATH")?);
    let mut shell = Command::new("bash");
    cargo::forget(&mut shell);
    shell
        .args(["-o", "pipefail", "-euxc", script])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("HOME", folder.path());
    let shell = gerbil::with_settings(shell, &given.cluster.conf_dir());
    let finished = Run::new(shell).deadline(bed::DEADLINE * 2).finish()?;
    finished.success(page)?;
    given.is_clean()
}

fn others(_: &Given) -> Result<()> {
    for page in GUIDE.iter().filter(|page| !RUN.contains(page)) {
        let blocks = blocks_of(&format!("client/guide/{page}"))?;
        ensure!(blocks.is_empty(), "{page}: {blocks:?}");
    }
    Ok(())
}
