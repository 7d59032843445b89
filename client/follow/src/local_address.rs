//! By which of its addresses this machine is known to the cluster.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::NodeState;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::error::FollowError;

/// For the look-up of one name.
const LOOK_UP_DEADLINE: Duration = Duration::from_secs(10);
/// Nodes that are looked at. All of a cluster's are in the same network, or the job has no chance.
const NODES: usize = 3;

/// The address from which this machine talks to the ResourceManager. When the two are one machine,
/// that from which it talks to a node.
pub(crate) async fn find(
    rm: &ApplicationClient,
    resource_managers: &[String],
) -> Result<IpAddr, FollowError> {
    let mut found = None;
    for peer in resource_managers {
        found = found.or(toward(peer).await);
    }
    let Some(address) = found else {
        return Err(FollowError::NoAddress {
            resource_managers: resource_managers.to_vec(),
        });
    };
    if !address.is_loopback() {
        return Ok(address);
    }
    let nodes = rm.nodes(&[NodeState::Running]).await;
    for node in nodes?.iter().take(NODES) {
        if let Some(other) = toward(&node.id.to_string()).await
            && !other.is_loopback()
        {
            return Ok(other);
        }
    }
    Ok(address)
}

/// The local end of a way to `peer`, `host:port`. Nothing is sent.
async fn toward(peer: &str) -> Option<IpAddr> {
    // Where there is a way over IPv4, the ApplicationMaster listens there.
    for own in [
        IpAddr::from(Ipv4Addr::UNSPECIFIED),
        Ipv6Addr::UNSPECIFIED.into(),
    ] {
        let Ok(socket) = UdpSocket::bind((own, 0)).await else {
            continue;
        };
        let connected = timeout(LOOK_UP_DEADLINE, socket.connect(peer)).await;
        if matches!(connected, Ok(Ok(()))) {
            return Some(socket.local_addr().ok()?.ip());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_way_to_this_machine_is_the_loopback() {
        let found = toward("127.0.0.9:1").await;
        assert!(found.is_some_and(|address| address.is_loopback()));
        let sixth = toward("[::1]:1").await;
        assert!(sixth.is_none_or(|address| address.is_ipv6()));
        assert_eq!(toward("no port").await, None);
    }
}
