//! Data in and out of a job, near and kept: HDFS on the nodes themselves.

mod checkpoints;
mod guide;
mod incoming;
mod name_node;
mod near;
mod outgoing;
mod shell;
mod slow;
mod small_files;
mod tasks;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use it::Cluster;
use it::bed::Given;
use it::cluster::Size;
use it::settings::File;
use it::suite::{self, Group};
use storage::{Address, Storage};

/// How the files of the cluster's HDFS are reached.
pub fn address(given: &Given) -> Address {
    let origin = format!("hdfs://{}", given.cluster.name_node_address());
    Address::Hdfs {
        connect: origin.clone(),
        origin,
        user: given.cluster.user().to_owned(),
        settings: Vec::new(),
    }
}

/// Waits for what `act` does with the cluster's HDFS.
pub fn with_hdfs<T>(given: &Given, act: impl AsyncFnOnce(Storage) -> Result<T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { act(Storage::open(&address(given))?).await })
}

/// Writes a file.
pub fn put(given: &Given, path: &str, contents: &str) -> Result<()> {
    with_hdfs(given, async |hdfs| {
        hdfs.remove(path).await?;
        Ok(hdfs.write(path, contents.as_bytes().to_vec()).await?)
    })
}

/// Reads a file.
pub fn text(given: &Given, path: &str) -> Result<String> {
    with_hdfs(given, async |hdfs| {
        Ok(String::from_utf8(hdfs.read(path, 1 << 20).await?)?)
    })
}

/// What lies in a folder.
pub fn names(given: &Given, path: &str) -> Result<Vec<String>> {
    with_hdfs(given, async |hdfs| {
        let all = hdfs.list(path, 1000).await?;
        Ok(all.iter().map(|entry| entry.name().to_owned()).collect())
    })
}

/// Names and contents below a folder.
pub fn tree(given: &Given, path: &str) -> Result<Vec<(String, String)>> {
    with_hdfs(given, async |hdfs| {
        let mut all = Vec::new();
        for file in hdfs.walk(path, 100).await? {
            let name = file
                .path
                .strip_prefix(path)
                .context("elsewhere")?
                .to_owned();
            let contents = String::from_utf8(hdfs.read(&file.path, 1 << 20).await?)?;
            all.push((name, contents));
        }
        Ok(all)
    })
}

fn main() -> ExitCode {
    let small = Size {
        memory_mib: 4096,
        vcores: 8,
    };
    let cluster = Cluster::builder()
        .sizes(&[small; 3])
        .data_nodes_on(&[0, 1])
        .set(
            File::Yarn,
            "yarn.nm.liveness-monitor.expiry-interval-ms",
            "6000",
        );
    suite::run(vec![
        Group::new(
            cluster,
            &[
                incoming::CASES,
                outgoing::CASES,
                near::CASES,
                checkpoints::CASES,
                name_node::CASES,
                small_files::CASES,
                shell::CASES,
                guide::CASES,
                // It ends daemons, and starts them again.
                slow::CASES,
            ],
        ),
        // Its blocks have two copies, and their DataNodes are dead in the end.
        Group::new(tasks::cluster(), &[tasks::CASES]),
    ])
}
