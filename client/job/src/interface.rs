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
    let mut known = Vec::new();
    let mut sixth = None;
    for entry in nix::ifaddrs::getifaddrs()? {
        if entry.interface_name == name
            && let Some(address) = &entry.address
        {
            if let Some(address) = address.as_sockaddr_in() {
                return Ok(address.ip().into());
            }
            let address = address.as_sockaddr_in6().map(|address| address.ip());
            sixth = sixth.or(address.filter(|address| !address.is_unicast_link_local()));
        }
        known.push(entry.interface_name);
    }
    if let Some(address) = sixth {
        return Ok(address.into());
    }
    known.sort();
    known.dedup();
    Err(InterfaceError::Unknown {
        host: host.to_owned(),
        name: name.to_owned(),
        known: known.join(", "),
    })
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
}
