//! The words of `gerbil clean`.

use clap::Args;

/// What is to be removed, and whether it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct CleanArguments {
    /// Remove it; without this it is only shown
    #[arg(long)]
    pub yes: bool,

    /// The folder that jobs were staged in [default: .gerbil in the user's home folder on the cluster's file system]
    #[arg(long, value_name = "URL")]
    pub staging: Option<String>,
}
