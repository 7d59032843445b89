//! The name of this machine, which daemons look up when they start.
//!
//! On many a fresh machine it resolves nowhere, and stock daemons end then. They need not: theirs are
//! addresses on the loopback network, and a Java runtime can be given a file of names of its own.

use std::fs;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::Cluster;

/// Where the kernel says how the machine is called.
const KERNEL: &str = "/proc/sys/kernel/hostname";

impl Cluster {
    /// Where the names are that daemons know, if this machine's own resolves nowhere else.
    fn own_name(&self) -> PathBuf {
        self.folder().join("hosts")
    }

    /// # Errors
    ///
    /// The folder cannot be written.
    pub(super) fn write_own_name(&self) -> Result<()> {
        let name = fs::read_to_string(KERNEL).with_context(|| format!("reading {KERNEL}"))?;
        let name = name.trim_end();
        if (name, 0).to_socket_addrs().is_ok() {
            return Ok(());
        }
        fs::write(self.own_name(), hosts(name)).context("writing the machine's name")
    }

    /// The flag of Java by which daemons and tools know the machine's name; none where it resolves.
    pub(super) fn java_names(&self) -> Option<String> {
        let file = self.own_name();
        file.exists()
            .then(|| format!("-Djdk.net.hosts.file={}", file.display()))
    }
}

fn hosts(name: &str) -> String {
    format!("127.0.0.1 localhost {name}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_called_after_its_loopback() {
        assert_eq!(hosts("fresh"), "127.0.0.1 localhost fresh\n");
    }
}
