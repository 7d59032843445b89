//! `--near`

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use proto_hadoop::NameNodeClient;

use crate::put;

pub const CASES: &[(&str, Case)] = &[
    (
        "near_places_processes_where_the_blocks_are",
        where_the_blocks_are,
    ),
    ("near_is_refused_where_it_cannot_help", refused),
];

/// Bytes of `path` by host, as the NameNode says it.
fn holders(given: &Given, path: &str) -> Result<BTreeMap<String, u64>> {
    let client = NameNodeClient::new(
        vec![given.cluster.name_node_address()],
        given.cluster.user(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let found = runtime.block_on(client.locations(path, 100))?;
    let held = found.context("it is not there")?.held;
    Ok(held
        .into_iter()
        .map(|(node, bytes)| (node.host, bytes))
        .collect())
}

fn where_the_blocks_are(given: &Given) -> Result<()> {
    // The NameNode puts each file on one of the two, whichever it likes: some until both have one.
    let mut on: BTreeMap<String, String> = BTreeMap::new();
    for number in 0..20 {
        let path = format!("/near/{number}/part-0");
        put(given, &path, &"x".repeat(20 << 10))?;
        let held = holders(given, &path)?;
        ensure!(
            held.len() == 1 && held.values().all(|bytes| *bytes == 20 << 10),
            "{held:?}"
        );
        on.extend(
            held.into_keys()
                .map(|host| (host, format!("/near/{number}"))),
        );
        if on.len() == 2 {
            break;
        }
    }
    ensure!(on.len() == 2, "all files are on one node: {on:?}");
    for (host, path) in &on {
        let near = ["--near", path.as_str(), "-n", "2"];
        let dry = given
            .gerbil(&[&near[..], &["--dry-run", "true"]].concat())?
            .finish()?;
        let said = dry.stdout_text();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let url = format!("hdfs://{}{path}", given.cluster.name_node_address());
        ensure!(
            dry.code() == 0 && said.contains(&format!("holds 20 KiB of {url}")),
            "{said}"
        );
        let job = [&near[..], &["-prepend-pattern", "%h: ", "echo", "here"]].concat();
        let lines = given.succeeds(&job)?.stdout_text();
        ensure!(
            lines.lines().count() == 2 && lines.lines().all(|line| line == format!("{host}: here")),
            "{path} is on {host}: {lines}"
        );
    }
    Ok(())
}

fn refused(given: &Given) -> Result<()> {
    given.fails(
        &["--near", "/none", "true"],
        74,
        &["--near", "there is no hdfs://"],
    )?;
    let host = given.cluster.nodes()[0].host.to_string();
    given.fails(
        &["--near", "/near", "-hosts", &host, "true"],
        64,
        &["--near"],
    )?;
    given.fails(&["--near", "file:/tmp", "true"], 64, &["only HDFS tells"])?;
    Ok(())
}
