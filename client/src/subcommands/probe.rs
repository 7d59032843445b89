//! The words of `gerbil probe`.

use std::path::PathBuf;

use clap::Args;

/// How this node is told of.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProbeArguments {
    /// One JSON array instead of words
    #[arg(long)]
    pub json: bool,

    /// As a NodeManager's script-based provider of node attributes prints it
    /// (yarn.nodemanager.node-attributes.provider.script.path)
    #[arg(long, conflicts_with = "json")]
    pub node_attributes: bool,

    /// Look below this folder, which has dev, sys and usr/lib
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub root: PathBuf,
}
