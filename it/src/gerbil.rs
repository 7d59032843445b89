//! The binary under test.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cluster::Cluster;
use crate::command::Run;

/// `gerbil-run` as `GERBIL_RUN` names it, else the release build of the target folder that the caller
/// was built into.
///
/// # Errors
///
/// There is none; the message says how to build it.
pub fn binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("GERBIL_RUN") {
        let path = PathBuf::from(named);
        if path.is_file() {
            return Ok(path);
        }
        bail!("GERBIL_RUN names {}, which is no file", path.display());
    }
    let own = std::env::current_exe().context("finding the target folder")?;
    // TARGET/PROFILE/NAME or TARGET/PROFILE/deps/NAME
    for target in own.ancestors().skip(2).take(2) {
        let path = target.join("release/gerbil-run");
        if path.is_file() {
            return Ok(path);
        }
    }
    bail!(
        "no release build of gerbil-run near {}: cargo build --release -p client",
        own.display()
    )
}

/// `gerbil-run ARGUMENTS` as a user of `cluster`, with nothing else of Hadoop in the environment.
///
/// # Errors
///
/// As [`binary`].
pub fn run<A: AsRef<OsStr>>(
    cluster: &Cluster,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Run> {
    run_with(&cluster.conf_dir(), arguments)
}

/// The same, with the settings in `conf`.
///
/// # Errors
///
/// As [`binary`].
pub fn run_with<A: AsRef<OsStr>>(
    conf: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Run> {
    Ok(Run::new(command(conf, arguments)?))
}

/// The same as a plain command.
///
/// # Errors
///
/// As [`binary`].
pub fn command<A: AsRef<OsStr>>(
    conf: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Command> {
    let mut command = Command::new(binary()?);
    command.args(arguments);
    Ok(with_settings(command, conf))
}

/// `gerbil WORDS`: the binary under its other name, which is put into `folder`.
///
/// # Errors
///
/// As [`binary`], or the folder cannot be written.
pub fn gerbil(folder: &Path, conf: &Path, words: &[&str]) -> Result<Command> {
    let gerbil = folder.join("gerbil");
    if !gerbil.exists() {
        std::os::unix::fs::symlink(std::path::absolute(binary()?)?, &gerbil)?;
    }
    let mut command = Command::new(gerbil);
    command.args(words);
    Ok(with_settings(command, conf))
}

/// Any command, such as a shell that runs the [`binary`], with the settings in `conf` and nothing else
/// of Hadoop in the environment. What it wants to remember of its runs lies beside `conf`, not in the
/// user's home.
#[must_use]
pub fn with_settings(mut command: Command, conf: &Path) -> Command {
    if let Some(folder) = conf.parent() {
        command.env("XDG_STATE_HOME", folder.join("state"));
    }
    command
        .env("HADOOP_CONF_DIR", conf)
        .env_remove("YARN_CONF_DIR")
        .env_remove("HADOOP_HOME")
        .env_remove("HADOOP_USER_NAME")
        // Cargo's: gerbil-run would say of it that it stays here.
        .env_remove("LD_LIBRARY_PATH");
    command
}
