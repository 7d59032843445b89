//! What a job says of itself.

use std::fs;

use anyhow::{Context as _, Result};
use job::report::Report;

use crate::Finished;
use crate::bed::{Given, text_of};

/// For a script: which GPUs it may use.
pub const SHOW_GPUS: &str = "echo \"gpus $CUDA_VISIBLE_DEVICES\"";

/// Host number (counted from 0) and ranks on it, in order of ranks.
pub type Shares = Vec<(usize, u32)>;

/// Runs a job that succeeds, perhaps beside others, and its report.
///
/// # Errors
///
/// It did not succeed, or wrote no report.
pub fn reported(given: &Given, arguments: &[&str]) -> Result<(Finished, Report)> {
    let path = given.folder.join("report.json");
    let path = text_of(&path)?;
    let mut line = vec!["--report", path.as_str()];
    line.extend(arguments);
    let finished = given.gerbil(&line)?.finish()?.success("the job")?;
    Ok((finished, read(&path)?))
}

/// The report in a file.
///
/// # Errors
///
/// It is none.
pub fn read(path: &str) -> Result<Report> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    serde_json::from_str(&text).with_context(|| format!("in {path}: {text}"))
}

/// What each rank wrote by [`SHOW_GPUS`], sorted.
#[must_use]
pub fn gpus_told(stdout: &str) -> Vec<&str> {
    let mut told: Vec<&str> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("gpus "))
        .collect();
    told.sort_unstable();
    told
}

/// Where the ranks ran, by the report's placement.
///
/// # Errors
///
/// It has none, or names another host.
pub fn shares(given: &Given, report: &Report) -> Result<Shares> {
    let placement = report.placement.as_ref().context("no placement")?;
    let nodes = placement.nodes.iter();
    nodes
        .map(|node| Ok((number(given, &node.host)?, node.processes)))
        .collect()
}

/// The place of a host among the cluster's nodes.
///
/// # Errors
///
/// It has none.
pub fn number(given: &Given, host: &str) -> Result<usize> {
    let hosts = hosts(given);
    let found = hosts.iter().position(|known| known == host);
    found.with_context(|| format!("{host} is none of {hosts:?}"))
}

/// The cluster's hosts, in the order of their sizes.
#[must_use]
pub fn hosts(given: &Given) -> Vec<String> {
    let nodes = given.cluster.nodes();
    nodes.iter().map(|node| node.host.to_string()).collect()
}
