//! Tasks in a launcher, on HDFS: what a DataNode's death does to them.

use anyhow::Result;
use it::bed::{Case, Given};
use it::ignored::{ignored_tests, run};
use it::settings::File;
use it::{Builder, Cluster};

pub const CASES: &[(&str, Case)] = &[("container-launcher's own tests with HDFS", own_tests)];

/// Two DataNodes that have all blocks, and are dead in the end.
pub fn cluster() -> Builder {
    Cluster::builder()
        .nodes(2)
        .data_nodes_on(&[0, 1])
        .set(File::Hdfs, "dfs.replication", "2")
}

fn own_tests(given: &Given) -> Result<()> {
    let mut cargo = ignored_tests("launcher", "tasks_on_hdfs::");
    let address = given.cluster.name_node_address();
    cargo.env("GERBIL_HDFS", format!("hdfs://{address}"));
    cargo.env("GERBIL_HDFS_USER", given.cluster.user());
    run(cargo)
}
