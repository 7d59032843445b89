//! The address of a node's network interface, which whoever listens there tells others.

use std::net::IpAddr;

/// It has none.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// The operating system does not tell.
    #[error("cannot list the network interfaces: {0}")]
    Unlisted(#[from] nix::Error),
    /// There is none of the name.
    #[error(
        "{host} has no interface {name} with an address (it has {known}); give another one with --iface"
    )]
    Unknown {
        /// The node.
        host: String,
        /// Of the interface.
        name: String,
        /// Those that it has.
        known: String,
    },
}

/// The address of the interface `name`: its first of IPv4, else its first of IPv6 that is not of the link alone.
/// `host` is this node, named in errors.
///
/// # Errors
///
/// There is no such interface, or it has no address.
pub fn address(name: &str, host: &str) -> Result<IpAddr, InterfaceError> {
    let (mut known, mut own) = (Vec::new(), Vec::new());
    for entry in nix::ifaddrs::getifaddrs()? {
        if entry.interface_name == name
            && let Some(address) = &entry.address
        {
            let fourth = address
                .as_sockaddr_in()
                .map(|address| IpAddr::V4(address.ip()));
            let sixth = || {
                address
                    .as_sockaddr_in6()
                    .map(|address| IpAddr::V6(address.ip()))
            };
            own.extend(fourth.or_else(sixth));
        }
        known.push(entry.interface_name);
    }
    if let Some(address) = first(&own) {
        return Ok(address);
    }
    sort::ascending(&mut known);
    known.dedup();
    Err(InterfaceError::Unknown {
        host: host.to_owned(),
        name: name.to_owned(),
        known: known.join(", "),
    })
}

/// Of an interface's addresses the one that it is known by.
fn first(addresses: &[IpAddr]) -> Option<IpAddr> {
    let is_of_link = |address: &IpAddr| match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let fourth = addresses.iter().find(|address| address.is_ipv4());
    let sixth = || addresses.iter().find(|address| !is_of_link(address));
    fourth.or_else(sixth).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_interface_is_answered_with_the_known_ones() {
        assert_eq!(address("lo", "n1").unwrap().to_string(), "127.0.0.1");
        let error = address("nope0", "n1").unwrap_err().to_string();
        assert!(error.contains("nope0") && error.contains("lo"), "{error}");
    }

    #[test]
    fn an_interface_of_ipv6_alone_has_an_address() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let link = ip("fe80::1");
        assert_eq!(first(&[link, ip("fd12::7")]), Some(ip("fd12::7")));
        assert_eq!(
            first(&[ip("fd12::7"), ip("10.0.0.7")]),
            Some(ip("10.0.0.7"))
        );
        // Which link is not said by the address.
        assert_eq!(first(&[link]), None);
        assert_eq!(first(&[]), None);
    }
}
