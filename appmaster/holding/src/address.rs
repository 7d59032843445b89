//! Where launchers and client reach this AM.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use job::interface;
use tokio::net::{TcpListener, lookup_host};
use tokio::time::timeout;

/// For the name of this machine.
const LOOK_UP: Duration = Duration::from_secs(5);

/// A port that is open, and the address that launchers and client are told.
#[derive(Debug)]
pub struct BoundPort {
    pub(crate) listener: TcpListener,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl BoundPort {
    /// Listens on a free port of `ports` (inclusive; any, if `None`). `host` is the name or address
    /// of this machine that the nodes know; an `interface` means its address instead, and that nobody is
    /// heard who comes by another.
    ///
    /// # Errors
    /// No port of the range is free, or there is no such interface; the message names the option
    /// that chose it.
    pub async fn take(
        ports: Option<(u16, u16)>,
        interface: Option<&str>,
        host: &str,
    ) -> Result<Self> {
        let (at, host) = match interface {
            Some(interface) => {
                let own = interface::address(interface, host)?;
                (own, own.to_string())
            }
            None => (every(host).await, host.to_owned()),
        };
        let (listener, port) = listen(ports, at).await?;
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
        joined(&self.host, self.port)
    }

    /// `host:port`, where a process of this machine finds it: by an address that no firewall guards, if it
    /// listens there.
    #[must_use]
    pub fn own_address(&self) -> String {
        let at = self.listener.local_addr().map(|address| address.ip());
        match at {
            Ok(at) if at == IpAddr::from(Ipv6Addr::UNSPECIFIED) => joined("::1", self.port),
            Ok(at) if !at.is_unspecified() => joined(&at.to_string(), self.port),
            _ => joined("127.0.0.1", self.port),
        }
    }
}

/// Opens the port: any, or the first free one of `ports` (inclusive), on `at`.
async fn listen(ports: Option<(u16, u16)>, at: IpAddr) -> Result<(TcpListener, u16)> {
    let (first, last) = ports.unwrap_or((0, 0));
    let mut refused = None;
    for port in first..=last {
        match TcpListener::bind(SocketAddr::new(at, port)).await {
            Ok(listener) => {
                let port = listener.local_addr()?.port();
                return Ok((listener, port));
            }
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) => Err(error).with_context(|| sentences::no_free_port(first, last)),
        None => bail!("the port range {first}-{last} is empty"),
    }
}

/// Where to listen for those who know this machine as `host`: on all addresses, of IPv6 too where `host`
/// has no other.
async fn every(host: &str) -> IpAddr {
    let all: IpAddr = Ipv4Addr::UNSPECIFIED.into();
    let found: Vec<IpAddr> = match host.parse() {
        Ok(literal) => vec![literal],
        Err(_a_name) => match timeout(LOOK_UP, lookup_host((host, 0))).await {
            Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
            _ => return all,
        },
    };
    match !found.is_empty() && found.iter().all(IpAddr::is_ipv6) {
        true => Ipv6Addr::UNSPECIFIED.into(),
        false => all,
    }
}

/// `host:port`; an IPv6 address stands in brackets.
#[must_use]
pub fn joined(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_range_gives_its_first_free_port() {
        let at = Ipv4Addr::UNSPECIFIED.into();
        let (held, port) = listen(None, at).await.unwrap();
        let range = (port, port.saturating_add(20));
        let (_second, next) = listen(Some(range), at).await.unwrap();
        assert!(next > port);
        let full = listen(Some((port, port)), at).await.unwrap_err();
        assert!(full.to_string().contains("--am-ports"), "{full}");
        drop(held);
    }

    #[tokio::test]
    async fn where_an_interface_is_named_nobody_comes_in_by_another() {
        let place = BoundPort::take(None, Some("lo"), "n1").await.unwrap();
        assert_eq!(place.host, "127.0.0.1");
        let local = place.listener.local_addr().unwrap();
        assert_eq!(local.ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
        let elsewhere = ("127.0.0.2", place.port());
        assert!(tokio::net::TcpStream::connect(elsewhere).await.is_err());
        let here = tokio::net::TcpStream::connect(place.own_address()).await;
        assert!(here.is_ok());
    }

    #[tokio::test]
    async fn a_host_of_ipv6_alone_is_listened_for_there() {
        assert_eq!(every("::1").await, IpAddr::from(Ipv6Addr::UNSPECIFIED));
        assert_eq!(
            every("127.0.0.1").await,
            IpAddr::from(Ipv4Addr::UNSPECIFIED)
        );
        assert_eq!(joined("::1", 7), "[::1]:7");
        assert_eq!(joined("n1", 7), "n1:7");
        // Where this machine has IPv6 at all.
        if TcpListener::bind("[::1]:0").await.is_ok() {
            let place = BoundPort::take(None, None, "::1").await.unwrap();
            let here = format!("[::1]:{}", place.port());
            assert_eq!(place.own_address(), here);
            assert_eq!(place.address(), here);
            assert!(tokio::net::TcpStream::connect(here).await.is_ok());
        }
    }
}
