//! Where the ApplicationMaster runs.

use clap::{Args, ValueEnum};

/// The options of this group.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = super::headings::WHERE)]
pub(crate) struct Deployment {
    /// Where the job's ApplicationMaster runs: in a container of the cluster, or in this process,
    /// which saves that container and its start; the nodes must then reach this machine
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    pub deploy_mode: DeployMode,
}

/// In spark-submit's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeployMode {
    /// In a container of its own
    #[default]
    Cluster,
    /// In this process
    Client,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn the_cluster_is_the_default_and_nothing_else_but_the_client_is_known() {
        let mode = |line: &str| {
            let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
            Arguments::try_parse_from(words).map(|given| given.deployment.deploy_mode)
        };
        assert_eq!(mode("./cpi").unwrap(), DeployMode::Cluster);
        assert_eq!(
            mode("--deploy-mode client ./cpi").unwrap(),
            DeployMode::Client
        );
        assert_eq!(
            mode("--deploy-mode=cluster ./cpi").unwrap(),
            DeployMode::Cluster
        );
        let error = mode("--deploy-mode yarn ./cpi").unwrap_err().to_string();
        assert!(error.contains("cluster, client"), "{error}");
    }
}
