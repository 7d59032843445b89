//! By which of its addresses this machine is known to the cluster.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::ApplicationClient;
use proto_hadoop::yarn::NodeState;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::preflight::unavailable;

/// For the look-up of one name.
const LOOK_UP_DEADLINE: Duration = Duration::from_secs(10);
/// Nodes that are looked at. All of a cluster's are in the same network, or the job has no chance.
const NODES: usize = 3;

/// The address from which this machine talks to the ResourceManager. When the two are one machine,
/// that from which it talks to a node.
pub(crate) async fn find(
    rm: &ApplicationClient,
    resource_managers: &[String],
) -> Result<IpAddr, Failure> {
    let mut found = None;
    for peer in resource_managers {
        found = found.or(toward(peer).await);
    }
    let Some(address) = found else {
        return Err(Failure::new(
            Exit::Unavailable,
            format!(
                "cannot tell by which address the nodes reach this machine: no way leads to the \
                 ResourceManager ({}); name a network interface with --iface",
                resource_managers.join(", ")
            ),
        ));
    };
    if !address.is_loopback() {
        return Ok(address);
    }
    let nodes = rm.nodes(&[NodeState::Running]).await;
    for node in nodes.map_err(|e| unavailable(&e))?.iter().take(NODES) {
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
    // The ApplicationMaster listens on IPv4.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await.ok()?;
    let connected = timeout(LOOK_UP_DEADLINE, socket.connect(peer)).await;
    connected.ok()?.ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_way_to_this_machine_is_the_loopback() {
        let found = toward("127.0.0.9:1").await;
        assert!(found.is_some_and(|address| address.is_loopback()));
        assert_eq!(toward("no port").await, None);
    }
}
