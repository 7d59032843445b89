//! The variables that a command finds, under both.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::peers::{Peer, Peers};

/// What Hadoop's tutorial lists of a task, as variables.
const OF_TASKS: [&str; 11] = [
    "mapreduce_job_id",
    "mapreduce_job_jar",
    "mapreduce_job_local_dir",
    "mapreduce_task_id",
    "mapreduce_task_attempt_id",
    "mapreduce_task_ismap",
    "mapreduce_task_partition",
    "mapreduce_map_input_file",
    "mapreduce_map_input_start",
    "mapreduce_map_input_length",
    "mapreduce_task_output_dir",
];

/// What both set, and what not, in sentences.
pub(crate) fn compare(peers: &Peers, folder: &Path) -> Result<String> {
    let words = [
        "-files",
        "env.sh",
        "-D",
        "my.own-setting=a value",
        "-D",
        "mapred.reduce.tasks=0",
        "-input",
        "pairs.txt",
        "-mapper",
        "env.sh",
    ];
    let hadoop = variables(peers, Peer::Hadoop, folder, &words)?;
    let gerbil = variables(peers, Peer::Gerbil, folder, &words)?;
    let is_of_job = |name: &str| {
        ["mapreduce_", "mapred_", "map_", "stream_", "my_"]
            .iter()
            .any(|begin| name.starts_with(begin))
    };
    let both = || {
        hadoop
            .iter()
            .filter(|(name, _)| is_of_job(name) && gerbil.contains_key(*name))
    };
    let differ: Vec<String> = both()
        .filter(|(name, value)| gerbil.get(*name) != Some(value))
        .map(|(name, value)| {
            let ours = gerbil.get(name).map_or("", String::as_str);
            format!(
                "`{name}` (`{}`, `{}`)",
                shown(value, folder),
                shown(ours, folder)
            )
        })
        .collect();
    let lacks = OF_TASKS.iter().filter(|name| !gerbil.contains_key(**name));
    let lacks: Vec<String> = lacks.map(|name| format!("`{name}`")).collect();
    Ok(format!(
        "Variables of a command: of the {} that Hadoop's tutorial lists for a task all but {} are set; {} of the job's are set by \
         both, and of these {} differ (Hadoop's, ours): {}.",
        OF_TASKS.len(),
        listed(&lacks),
        both().count(),
        differ.len(),
        listed(&differ)
    ))
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

/// A value without what is of this run alone: the folder, and the number of a job on this machine.
fn shown(value: &str, folder: &Path) -> String {
    let value = value.replace(&folder.display().to_string(), "…");
    match value.split_once("_local") {
        Some((before, rest)) => {
            let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            format!("{before}_local…{rest}")
        }
        None => value,
    }
}

fn variables(
    peers: &Peers,
    peer: Peer,
    folder: &Path,
    words: &[&str],
) -> Result<BTreeMap<String, String>> {
    let files = peers
        .run(peer, folder, words)
        .with_context(|| peer.name())?;
    let text: Vec<u8> = files.into_values().flatten().collect();
    let text = String::from_utf8_lossy(&text).into_owned();
    let pairs = text
        .lines()
        .filter_map(|line| line.trim_end_matches('\t').split_once('='));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}
