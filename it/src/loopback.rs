//! A loopback network of one cluster's own, so that every daemon keeps its default port.
//!
//! Linux answers on all of 127.0.0.0/8. A cluster owns `127.K.*.*`: the masters on `0.1` and `0.2`, the
//! NodeManagers on `0.11`, `0.12`, …, hollow nodes on `1.1`, `1.2`, … A socket in the kernel's abstract
//! name space says that K is taken: it is a name without a file, seen by all users, and gone with the
//! process.

use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use anyhow::{Result, bail};

/// NodeManagers of one cluster: `.11` to `.250`.
pub const NODES_MAX: usize = 240;

/// A network that no other cluster of this machine uses.
#[derive(Debug)]
pub struct Loopback {
    network: u8,
    _claim: UnixListener,
}

impl Loopback {
    /// The first free network, looked for from a place that depends on the process, so that processes
    /// that start together seldom meet.
    ///
    /// # Errors
    ///
    /// All are taken.
    pub fn claim() -> Result<Self> {
        // 127.0.* is left to the machine's own services, 127.255.* is broadcast.
        let first = std::process::id() % 250;
        for step in 0..250 {
            let network = u8::try_from(1 + (first + step) % 250)?;
            let name = SocketAddr::from_abstract_name(format!("gerbil-it-127.{network}"))?;
            let Ok(claim) = UnixListener::bind_addr(&name) else {
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

    /// Where the second of two ResourceManagers listens.
    #[must_use]
    pub fn second_master(&self) -> Ipv4Addr {
        Ipv4Addr::new(127, self.network, 0, 2)
    }

    /// Where NodeManager `index`, counted from 0, listens.
    #[must_use]
    pub fn node(&self, index: usize) -> Ipv4Addr {
        let last = u8::try_from(11 + index.min(NODES_MAX - 1)).unwrap_or(u8::MAX);
        Ipv4Addr::new(127, self.network, 0, last)
    }
}

/// Hollow nodes of one third byte: `.1` to `.250`.
const HOLLOW_ROW: usize = 250;
/// Hollow nodes of one cluster.
pub const HOLLOW_MAX: usize = HOLLOW_ROW * HOLLOW_ROW;

impl Loopback {
    /// Where hollow node `index`, counted from 0, listens.
    #[must_use]
    pub fn hollow(&self, index: usize) -> Ipv4Addr {
        let index = index.min(HOLLOW_MAX - 1);
        let byte = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        Ipv4Addr::new(
            127,
            self.network,
            byte(1 + index / HOLLOW_ROW),
            byte(1 + index % HOLLOW_ROW),
        )
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
        assert_eq!(one.hollow(0).octets()[2..], [1, 1]);
        assert_eq!(one.hollow(249).octets()[2..], [1, 250]);
        assert_eq!(one.hollow(250).octets()[2..], [2, 1]);
    }
}
