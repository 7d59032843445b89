//! Options for a run without a cluster.

use clap::Args;

/// A cluster on this machine in place of Hadoop's.
#[derive(Debug, Args)]
#[command(next_help_heading = super::headings::WHERE)]
pub(crate) struct LocalArguments {
    /// Run on this machine alone, without Hadoop: a small cluster lives as long as the job. With a
    /// number it has so many nodes, which share the machine
    #[arg(
        long,
        value_name = "NODES",
        num_args = 0..=1,
        default_missing_value = "1",
        require_equals = true,
        value_parser = super::values::Whole::new("number of nodes", 1u8, 64)
    )]
    pub local: Option<u8>,
}
