//! `--near`

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::mapreduce;
use it::session::{start_with, stop};
use job::explain::{Explained, Locality};
use proto_hadoop::{DataNode, NameNodeClient};
use storage::CreateOptions;

use crate::{put, with_hdfs};

pub const CASES: &[(&str, Case)] = &[
    (
        "near_places_processes_where_the_blocks_are",
        where_the_blocks_are,
    ),
    (
        "the_name_node_says_where_each_block_of_a_file_lies",
        each_block,
    ),
    ("near_is_refused_where_it_cannot_help", refused),
    (
        "maps go where their input is, and say so",
        maps_go_to_their_input,
    ),
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

fn each_block(given: &Given) -> Result<()> {
    // Three blocks of the least length that a NameNode takes; a folder's file that is empty has none.
    const BLOCK: u64 = 1 << 20;
    let size = 2 * BLOCK + 17;
    let path = "/near/blocks/three";
    with_hdfs(given, async |hdfs| {
        hdfs.remove("/near/blocks").await?;
        let small = CreateOptions {
            size: Some(BLOCK),
            ..CreateOptions::default()
        };
        let mut file = hdfs.create(path, small).await?;
        file.write(vec![b'x'; usize::try_from(size)?].into())
            .await?;
        file.close().await?;
        Ok(hdfs.write("/near/blocks/empty", Vec::new()).await?)
    })?;
    let client = NameNodeClient::new(
        vec![given.cluster.name_node_address()],
        given.cluster.user(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let of_file = runtime.block_on(client.blocks(path, 10))?;
    let of_file = of_file.context("it is not there")?;
    let [file] = &of_file[..] else {
        anyhow::bail!("{of_file:?}");
    };
    ensure!(file.path == path && file.size == size, "{file:?}");
    let parts: Vec<_> = (file.blocks.iter())
        .map(|block| (block.offset, block.length))
        .collect();
    ensure!(
        parts == [(0, BLOCK), (BLOCK, BLOCK), (2 * BLOCK, 17)],
        "{parts:?}"
    );
    let hosts: Vec<String> = (given.cluster.nodes().iter())
        .map(|node| node.host.to_string())
        .collect();
    let known = |node: &DataNode| hosts.contains(&node.host) || hosts.contains(&node.address);
    ensure!(
        (file.blocks.iter()).all(|block| !block.nodes.is_empty() && block.nodes.iter().all(known)),
        "{file:?}: {hosts:?}"
    );
    let held: u64 = file.held(BLOCK - 1, 2).into_values().sum();
    let copies = file.blocks[0].nodes.len() + file.blocks[1].nodes.len();
    ensure!(held == u64::try_from(copies)?, "{held}");
    let of_folder = runtime.block_on(client.blocks("/near/blocks", 10))?;
    let of_folder = of_folder.context("it is not there")?;
    ensure!(
        of_folder.len() == 2
            && of_folder[0].path == "/near/blocks/empty"
            && of_folder[0].blocks.is_empty()
            && of_folder[1] == *file,
        "{of_folder:?}"
    );
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

fn maps_go_to_their_input(given: &Given) -> Result<()> {
    let text = mapreduce::text(9);
    let names: Vec<String> = (0..8).map(|number| format!("part-{number}")).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), text.as_str()))
        .collect();
    mapreduce::put(given, "/near/mr", &files)?;
    let told = given.folder.join("told");
    let told_at = format!("--explain={}", told.display());
    let program = text_of(&mapreduce::example("wordcount")?)?;
    // Containers are on all nodes before there are tasks.
    start_with(given, "s", "768")?;
    let line = [
        told_at.as_str(),
        "--json",
        "--session",
        "s",
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.job.reduces=1",
        &program,
        "/near/mr",
        "/near/counted",
    ];
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let finished = run.finish()?.success("gerbil mr")?;
    let (mut maps, mut at_home) = (0, 0);
    for line in std::fs::read_to_string(&told)?.lines() {
        let Explained::TaskPlaced(placed) = serde_json::from_str(line)? else {
            continue;
        };
        let Some(input) = placed.input else { continue };
        maps += 1;
        let is_at_home = placed.input_hosts.contains(&placed.host);
        ensure!(is_at_home == (input == Locality::Node), "{line}");
        at_home += u32::from(is_at_home);
    }
    // The third node waits for a second before it takes any, which is long for the others.
    ensure!((maps, at_home >= 4) == (8, true), "{at_home} of {maps}");
    let counted = format!("DATA_LOCAL_MAPS={at_home}\n");
    let said = finished.stderr_text();
    ensure!(said.contains(&counted), "no {counted} in {said}");
    stop(given, "s")
}
