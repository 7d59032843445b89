//! A loopback network of one cluster's own, so that every daemon keeps its default port.
//!
//! Linux answers on all of 127.0.0.0/8. A cluster owns `127.K.0.*`: the masters on `.1`, the
//! NodeManagers on `.11`, `.12`, … A file locked under the temporary folder says that K is taken, and
//! the kernel frees it when the process ends.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result, bail};
use nix::fcntl::{Flock, FlockArg};

/// NodeManagers of one cluster: `.11` to `.250`.
pub const NODES_MAX: usize = 240;

/// A network that no other cluster of this machine uses.
#[derive(Debug)]
pub struct Loopback {
    network: u8,
    _claim: Flock<File>,
}

impl Loopback {
    /// The first free network, looked for from a place that depends on the process, so that processes
    /// that start together seldom meet.
    ///
    /// # Errors
    ///
    /// All are taken, or the temporary folder cannot be written.
    pub fn claim() -> Result<Self> {
        // 127.0.* is left to the machine's own services, 127.255.* is broadcast.
        let first = std::process::id() % 250;
        for step in 0..250 {
            let network = u8::try_from(1 + (first + step) % 250)?;
            let Some(file) = open(network)? else { continue };
            let Ok(claim) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
                continue;
            };
            let free = Self {
                network,
                _claim: claim,
            };
            // Somebody may have bound it without asking us: the ResourceManager's and NameNode's ports.
            if [8032, 8088, 8020]
                .iter()
                .all(|port| TcpListener::bind((free.master(), *port)).is_ok())
            {
                return Ok(free);
            }
        }
        bail!("every loopback network 127.1 to 127.250 is taken by a running cluster")
    }

    /// Where ResourceManager, NameNode and DataNode listen.
    #[must_use]
    pub fn master(&self) -> Ipv4Addr {
        Ipv4Addr::new(127, self.network, 0, 1)
    }

    /// Where NodeManager `index`, counted from 0, listens.
    #[must_use]
    pub fn node(&self, index: usize) -> Ipv4Addr {
        let last = u8::try_from(11 + index.min(NODES_MAX - 1)).unwrap_or(u8::MAX);
        Ipv4Addr::new(127, self.network, 0, last)
    }
}

/// The claim's file. None if another user owns it in a way that we cannot open.
fn open(network: u8) -> Result<Option<File>> {
    let path = std::env::temp_dir().join(format!("gerbil-it-127.{network}.lock"));
    // Opened for reading first: in a sticky folder the kernel refuses O_CREAT on another user's file.
    match File::open(&path) {
        Ok(file) => return Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("opening {}", path.display())),
    }
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => Ok(Some(file)),
        // Made by another process in between: it is about to lock it.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error).with_context(|| format!("making {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_clusters_never_share_a_network() {
        let one = Loopback::claim().unwrap();
        let two = Loopback::claim().unwrap();
        assert_ne!(one.master(), two.master());
        assert_eq!(one.node(0).octets()[3], 11);
    }
}
