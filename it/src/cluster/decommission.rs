//! Nodes that an administrator takes out of the cluster, and puts back.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::Cluster;
use crate::daemon::Daemon;
use crate::wait;

/// The host that every cluster's list of excluded hosts names. It is gone and never registered: the
/// ResourceManager lists it without a port.
const GONE: &str = "gone.invalid";

/// The list in a cluster's folder.
pub(super) fn excluded(folder: &Path) -> PathBuf {
    folder.join("excluded-hosts")
}

/// Writes the list, with `further` hosts.
pub(super) fn exclude(folder: &Path, further: &[String]) -> Result<()> {
    let lines = [&[GONE.to_owned()], further].concat().join("\n");
    fs::write(excluded(folder), format!("{lines}\n")).context("writing the list of excluded hosts")
}

impl Cluster {
    /// Takes a node out: the ResourceManager gives no containers there any more, and ends what runs there after
    /// so many seconds.
    ///
    /// # Errors
    ///
    /// The ResourceManager does not take it.
    pub fn decommission(&self, node: usize, seconds: u32) -> Result<()> {
        let host = self.loopback.node(node).to_string();
        exclude(self.folder(), &[host])?;
        let seconds = seconds.to_string();
        self.yarn_admin(&["-refreshNodes", "-g", &seconds, "-server"])?;
        Ok(())
    }

    /// Waits until a node is out, and puts it back with a NodeManager that is started anew.
    ///
    /// # Errors
    ///
    /// It does not leave or come in time.
    pub fn recommission(&self, node: usize) -> Result<()> {
        let id = format!("{}:", self.loopback.node(node));
        wait::until("a decommissioned node", self.deadline, || {
            let nodes = self.resource_manager().nodes()?;
            let mut own = nodes.iter().filter(|report| report.id.starts_with(&id));
            Ok(own
                .any(|report| report.state == "DECOMMISSIONED")
                .then_some(()))
        })?;
        // It is told to shut down.
        self.wait_for_end(Daemon::NodeManager(node))?;
        exclude(self.folder(), &[])?;
        self.yarn_admin(&["-refreshNodes"])?;
        self.start(Daemon::NodeManager(node))?;
        self.wait_for_nodes(self.nodes)
    }
}
