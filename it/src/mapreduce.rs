//! Programs of `gerbil-mapreduce`, and Hadoop's own MapReduce beside them.

mod beside;

pub use beside::{is_same, local, put, read, text};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use storage::{Address, Storage};

use crate::cargo::{cargo, target_folder};
use crate::cluster::{Builder, Cluster};
use crate::command::{Finished, Run};
use crate::gerbil;
use crate::settings::File;

/// A build of all examples by whoever has the crates.
const BUILD: Duration = Duration::from_secs(900);

/// Most bytes of a file that is looked at.
const FILE_MAX: usize = 1 << 30;

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The example `name` of `gerbil-mapreduce`: the debug build that `cargo test` made, made anew where it is old.
///
/// # Errors
///
/// It cannot be built.
pub fn example(name: &str) -> Result<PathBuf> {
    built(name, None, false)
}

/// The same, built as users of its speed build it: for what is measured.
///
/// # Errors
///
/// It cannot be built.
pub fn release_example(name: &str) -> Result<PathBuf> {
    built(name, None, true)
}

/// A debug build with a feature of `gerbil-mapreduce`, as a copy in `folder`: Cargo has one place for all of them.
///
/// # Errors
///
/// It cannot be built, or copied.
pub fn example_with(name: &str, feature: &str, folder: &Path) -> Result<PathBuf> {
    let copy = folder.join(format!("{name}-{feature}"));
    std::fs::copy(built(name, Some(feature), false)?, &copy)?;
    // What lies there is again what everybody expects.
    built(name, None, false)?;
    Ok(copy)
}

fn built(name: &str, feature: Option<&str>, is_release: bool) -> Result<PathBuf> {
    let target = target_folder()?;
    let mut command = cargo();
    command
        // With the features of everything, as `cargo test` builds it.
        .args(["build", "--quiet", "--locked", "--workspace"])
        .args(["--example", name])
        .args(is_release.then_some("--release"))
        .args(feature.map(|feature| format!("--features=gerbil-mapreduce/{feature}")))
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let built = Run::new(command).deadline(BUILD).finish()?;
    built.success(&format!("cargo build --example {name}"))?;
    let profile = if is_release { "release" } else { "debug" };
    let path = target.join(profile).join("examples").join(name);
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

/// Waits for what `act` does with the cluster's HDFS.
///
/// # Errors
///
/// As it says.
pub fn with_hdfs<T>(cluster: &Cluster, act: impl AsyncFnOnce(Storage) -> Result<T>) -> Result<T> {
    let origin = format!("hdfs://{}", cluster.name_node_address());
    let address = Address::Hdfs {
        connect: origin.clone(),
        origin,
        user: cluster.user().to_owned(),
        settings: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { act(Storage::open(&address)?).await })
}

/// What lies in a folder of HDFS.
///
/// # Errors
///
/// There is no such folder, or something else than files in it.
pub fn files(cluster: &Cluster, folder: &str) -> Result<Files> {
    with_hdfs(cluster, async |hdfs| {
        let mut files = Files::new();
        for entry in hdfs.list(folder, 1000).await? {
            let bytes = hdfs.read(&entry.path, FILE_MAX).await;
            let bytes = bytes.with_context(|| format!("{} is left", entry.path))?;
            files.insert(entry.name().to_owned(), bytes);
        }
        Ok(files)
    })
}
