//! Options for a run without a cluster.

use clap::Args;

/// A cluster on this machine in place of Hadoop's.
#[derive(Debug, Args)]
pub(crate) struct LocalArguments {
    /// Run on this machine alone, without Hadoop: a small cluster lives as long as the job. With a
    /// number it has so many nodes, which share the machine
    #[arg(
        long,
        value_name = "NODES",
        num_args = 0..=1,
        default_missing_value = "1",
        require_equals = true,
        value_parser = clap::value_parser!(u8).range(1..=64)
    )]
    pub local: Option<u8>,
}
