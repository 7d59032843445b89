//! Nodes of stock `mpirun` on this machine: what it takes for a way into a node opens namespaces, in which the node has a
//! name, shared memory and a copy of the libraries of its own. Its network and processes are the machine's, as those of
//! the cluster's nodes are.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use it::OpenMpi;
use it::initialized::copies;

/// How many.
pub(crate) const NODES: usize = 4;

/// `agent NODE COMMAND...`; the names of the two folders are put in.
const AGENT: &str = r#"#!/bin/sh
node=$1
shift
user=
test "$(id -u)" = 0 || user=--map-root-user
exec unshare $user --uts --ipc --mount sh -c '
    hostname "$1" &&
    mount --bind "FOLDER/libraries-${1#node}" "INSTALLED" &&
    mkdir -p "FOLDER/$1" || exit
    export TMPDIR="FOLDER/$1"
    shift
    exec sh -c "$*"' agent "$node" "$@"
"#;

/// The nodes, and the installation.
pub(crate) struct StockNodes {
    mpirun: PathBuf,
    agent: PathBuf,
}

impl StockNodes {
    /// Their files lie in `folder`.
    pub(crate) fn new(open: &OpenMpi, folder: &Path) -> Result<Self> {
        let installed = open.folder().join("lib");
        copies(&installed, folder, NODES)?;
        let agent = folder.join("agent");
        let text = AGENT
            .replace("FOLDER", &folder.display().to_string())
            .replace("INSTALLED", &installed.display().to_string());
        fs::write(&agent, text)?;
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755))?;
        Ok(Self {
            mpirun: open.mpirun(),
            agent,
        })
    }

    /// `mpirun` of so many ranks, `each` of them on a node; further options and the program follow.
    pub(crate) fn mpirun(&self, ranks: usize, each: usize) -> Command {
        let nodes = ranks.div_ceil(each);
        let hosts: Vec<String> = (0..nodes)
            .map(|node| format!("node{node}:{each}"))
            .collect();
        let mut command = Command::new(&self.mpirun);
        command
            .args(["--allow-run-as-root", "--prtemca", "plm_ssh_agent"])
            .arg(&self.agent)
            .args(["--host", &hosts.join(","), "--bind-to", "none"])
            .args(["--map-by", &format!("ppr:{each}:node")])
            .args(["-n", &ranks.to_string()]);
        command
    }
}
