//! Other launchers that are tried, while everything else goes on.

use job::wire::launcher_event::Event;
use job::wire::{Peer, PeerTried, PeersTried, TryPeers};
use tokio::task::JoinSet;

use super::Life;
use crate::shuffle::Fetcher;

/// What tries them.
#[derive(Debug, Default)]
pub(super) struct PeerTries(JoinSet<PeersTried>);

impl PeerTries {
    /// The next that is done; never while there is none. May be dropped and called again.
    pub(super) async fn next(&mut self) -> PeersTried {
        loop {
            match self.0.join_next().await {
                Some(Ok(tried)) => return tried,
                Some(Err(_panicked)) => {}
                None => return std::future::pending().await,
            }
        }
    }
}

impl Life<'_> {
    /// Opens the port, and tries others beside what the container does.
    pub(super) fn try_peers(&mut self, TryPeers { peers }: TryPeers) {
        let exchange = &mut self.container.exchange;
        let opened = exchange.port().map_err(|error| error.to_string());
        let dialled = exchange.fetcher().map_err(|error| error.to_string());
        let ((host, port), fetcher) = match (opened, dialled) {
            (Ok(own), Ok(fetcher)) => (own, fetcher),
            (Err(trouble), _) | (_, Err(trouble)) => {
                let trouble = PeersTried {
                    trouble,
                    ..PeersTried::default()
                };
                return self.peers_tried(trouble);
            }
        };
        let own = PeersTried {
            host: host.unwrap_or_default(),
            port: port.into(),
            ..PeersTried::default()
        };
        let tries = move || PeersTried {
            tried: peers
                .into_iter()
                .map(|peer| tried(&fetcher, peer))
                .collect(),
            ..own
        };
        let carriers = self.container.carriers;
        self.peers.0.spawn_blocking_on(tries, carriers);
    }

    /// It is known whom this launcher reaches.
    pub(super) fn peers_tried(&mut self, tried: PeersTried) {
        self.container.outbox.push_back(Event::PeersTried(tried));
    }
}

fn tried(fetcher: &Fetcher, peer: Peer) -> PeerTried {
    let trouble = fetcher.reach(&peer.address).err();
    PeerTried {
        container: peer.container,
        trouble: trouble.map_or_else(String::new, |error| error.to_string()),
    }
}
