//! Programs of `gerbil-mapreduce`, and Hadoop's own MapReduce beside them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::cluster::{Builder, Cluster};
use crate::command::{Finished, Run};
use crate::gerbil;
use crate::settings::File;

/// A build of all examples by whoever has the crates.
const BUILD: Duration = Duration::from_secs(900);

/// The example `name` of `gerbil-mapreduce`: a release build, made where there is none or an old one; a debug
/// build where `gerbil-run` is one.
///
/// # Errors
///
/// It cannot be built.
pub fn example(name: &str) -> Result<PathBuf> {
    let binary = gerbil::binary()?;
    let profile = binary.parent().context("the build folder")?;
    let target = profile.parent().context("the target folder")?;
    let is_release = profile.ends_with("release");
    let mut command = Command::new("cargo");
    command
        .args(["build", "--quiet", "--locked", "-p", "gerbil-mapreduce"])
        .args(["--example", name])
        .args(is_release.then_some("--release"))
        .env("CARGO_TARGET_DIR", target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let built = Run::new(command).deadline(BUILD).finish()?;
    built.success(&format!("cargo build --example {name}"))?;
    let path = profile.join("examples").join(name);
    match path.is_file() {
        true => Ok(path),
        false => bail!("{} is not there after its build", path.display()),
    }
}

/// `gerbil mr ARGUMENTS` as a user of `cluster`; `folder`: where the command gets its name.
///
/// # Errors
///
/// There is no build of `gerbil-run`.
pub fn mr(cluster: &Cluster, folder: &Path, arguments: &[&str]) -> Result<Run> {
    let gerbil = folder.join("gerbil");
    if !gerbil.exists() {
        std::os::unix::fs::symlink(gerbil::binary()?, &gerbil)?;
    }
    let mut command = Command::new(gerbil);
    command.arg("mr").args(arguments);
    Ok(Run::new(gerbil::with_settings(
        command,
        &cluster.conf_dir(),
    )))
}

/// Settings by which Hadoop's own MapReduce runs on nodes that share one machine: its shuffle in every
/// NodeManager, containers of a GiB.
#[must_use]
pub fn with_hadoop(builder: Builder) -> Builder {
    builder
        .set(
            File::Yarn,
            "yarn.nodemanager.aux-services",
            "mapreduce_shuffle",
        )
        // All nodes share this machine's ports.
        .set(File::Mapred, "mapreduce.shuffle.port", "0")
        .set(File::Yarn, "mapreduce.shuffle.port", "0")
        .set(File::Mapred, "yarn.app.mapreduce.am.resource.mb", "1024")
        .set(
            File::Mapred,
            "yarn.app.mapreduce.am.command-opts",
            "-Xmx512m",
        )
        .set(File::Mapred, "mapreduce.map.memory.mb", "1024")
        .set(File::Mapred, "mapreduce.reduce.memory.mb", "1024")
        .set(File::Mapred, "mapred.child.java.opts", "-Xmx512m")
}

/// A class of Hadoop's MapReduce examples, with its arguments.
///
/// # Errors
///
/// It failed; what it said is in the message.
pub fn hadoop(
    cluster: &Cluster,
    class: &str,
    arguments: &[&str],
    deadline: Duration,
) -> Result<Finished> {
    let class = format!("org.apache.hadoop.examples.{class}");
    let what = format!("{class} {}", arguments.join(" "));
    Run::new(cluster.tool(&class, arguments))
        .deadline(deadline)
        .finish()?
        .success(&what)
}
