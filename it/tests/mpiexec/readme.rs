//! README's commands for whoever has a cluster.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::readme::{blocks, shell};
use it::{Mpich, gerbil};

pub const CASES: &[(&str, Case)] = &[(
    "README: one file is copied, and one command runs the job",
    copied,
)];

/// Build, copy one file, one command: with another target folder, home and cluster than README's.
fn copied(given: &Given) -> Result<()> {
    let block = blocks()?.pop().context("README has no block")?;
    let binary = gerbil::binary()?;
    let home = tempfile::tempdir()?;
    Mpich::install()?.example("cpi", home.path())?;
    let conf = given.cluster.conf_dir();
    let here = block
        .replace("cargo build --release -p client\n", "")
        .replace("target/release/gerbil-run", &binary.to_string_lossy())
        .replace("/etc/hadoop/conf", &conf.to_string_lossy());
    ensure!(here != block, "README's lines have changed: {block}");
    let output = shell()
        .args(["-euxc", &here])
        .current_dir(home.path())
        .env("HOME", home.path())
        .env_remove("XDG_STATE_HOME")
        .env("HADOOP_USER_NAME", given.cluster.user())
        .stdin(Stdio::null())
        .output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{stdout}\n{stderr}");
    ensure!(stdout.contains("3.14159265358"), "{stdout}\n{stderr}");
    given.is_clean()
}
