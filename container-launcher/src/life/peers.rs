//! Other launchers that are tried, while everything else goes on.

use std::thread;
use std::time::{Duration, Instant};

use job::wire::launcher_event::Event;
use job::wire::{Peer, PeerTried, PeersTried, TryPeers};
use tokio::task::JoinSet;

use super::Life;
use crate::shuffle::Fetcher;

/// Before whoever was not reached is tried a second time: a node that is busy for a moment is not unreachable.
const AGAIN: Duration = Duration::from_secs(1);

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
            tried: tried(&fetcher, peers),
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

/// Who is reached, in the order of `peers`. Whoever is not is tried twice before that is said.
fn tried(fetcher: &Fetcher, peers: Vec<Peer>) -> Vec<PeerTried> {
    let mut reached: Vec<_> = (peers.iter())
        .map(|peer| fetcher.reach(&peer.address))
        .collect();
    if reached.iter().any(Result::is_err) {
        // A thread of its own: nobody else waits with it.
        let since = Instant::now();
        while let Some(left) = AGAIN.checked_sub(since.elapsed()) {
            thread::park_timeout(left);
        }
    }
    for (peer, reached) in peers.iter().zip(&mut reached) {
        if reached.is_err() {
            *reached = fetcher.reach(&peer.address);
        }
    }
    (peers.into_iter().zip(reached))
        .map(|(peer, reached)| PeerTried {
            container: peer.container,
            trouble: (reached.err()).map_or_else(String::new, |error| error.to_string()),
        })
        .collect()
}
