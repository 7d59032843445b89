//! Where launchers and client reach this AM.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use tokio::net::TcpListener;

/// A port that is open, and the address that launchers and client are told.
#[derive(Debug)]
pub struct Place {
    pub(crate) listener: TcpListener,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Place {
    /// Listens on a free port of `ports` (inclusive; any, if `None`). `host` is the name or address
    /// of this machine that the nodes know; an `interface` means its address instead.
    ///
    /// # Errors
    /// No port of the range is free, or there is no such interface; the message names the option
    /// that chose it.
    pub async fn take(
        ports: Option<(u16, u16)>,
        interface: Option<&str>,
        host: &str,
    ) -> Result<Self> {
        let (listener, port) = listen(ports).await?;
        let host = advertised(interface, host)?;
        Ok(Self {
            listener,
            host,
            port,
        })
    }

    /// The port that is open.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`, where this AM is to be found.
    #[must_use]
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// Opens the port: any, or the first free one of `ports` (inclusive), on all addresses.
async fn listen(ports: Option<(u16, u16)>) -> Result<(TcpListener, u16)> {
    let (first, last) = ports.unwrap_or((0, 0));
    let mut refused = None;
    for port in first..=last {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
        match TcpListener::bind(address).await {
            Ok(listener) => {
                let port = listener.local_addr()?.port();
                return Ok((listener, port));
            }
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) => Err(error).with_context(|| {
            format!("no port of {first}-{last} is free for the ApplicationMaster; widen --am-ports")
        }),
        None => bail!("the port range {first}-{last} is empty"),
    }
}

/// The host to advertise: the first IPv4 address of `interface`, or `node_host`.
fn advertised(interface: Option<&str>, node_host: &str) -> Result<String> {
    let Some(interface) = interface else {
        return Ok(node_host.to_owned());
    };
    let mut known = Vec::new();
    for entry in nix::ifaddrs::getifaddrs().context("cannot list the network interfaces")? {
        let address = entry.address.as_ref().and_then(|a| a.as_sockaddr_in());
        match address {
            Some(address) if entry.interface_name == interface => {
                return Ok(address.ip().to_string());
            }
            _ => known.push(entry.interface_name),
        }
    }
    known.sort();
    known.dedup();
    bail!(
        "{node_host} has no interface {interface} with an IPv4 address (it has {}); give another \
         one with --iface",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_range_gives_its_first_free_port() {
        let (held, port) = listen(None).await.unwrap();
        let (_second, next) = listen(Some((port, port.saturating_add(20)))).await.unwrap();
        assert!(next > port);
        let full = listen(Some((port, port))).await.unwrap_err();
        assert!(full.to_string().contains("--am-ports"), "{full}");
        drop(held);
    }

    #[test]
    fn an_unknown_interface_is_answered_with_the_known_ones() {
        assert_eq!(advertised(None, "n1").unwrap(), "n1");
        assert_eq!(advertised(Some("lo"), "n1").unwrap(), "127.0.0.1");
        let error = advertised(Some("nope0"), "n1").unwrap_err().to_string();
        assert!(error.contains("nope0") && error.contains("lo"), "{error}");
    }
}
