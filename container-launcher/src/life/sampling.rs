//! Looks at the ranks now and then, and tells what has changed.

use job::wire::RankUsages;
use job::wire::launcher_event::Event;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Life;
use crate::samples::{self, Look};

/// Where the sampling of the ranks is.
pub(super) enum Sampling {
    /// There are no ranks.
    Idle,
    /// The next look is due then.
    Due(Instant),
    /// The ranks are being looked at.
    Looking(oneshot::Receiver<Look>),
}

impl Sampling {
    /// Until a look is due (`None`) or there. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<Look> {
        match self {
            Self::Idle => std::future::pending().await,
            Self::Due(at) => {
                tokio::time::sleep_until(*at).await;
                None
            }
            Self::Looking(answer) => answer.await.ok(),
        }
    }
}

impl Life<'_> {
    /// Sends what has changed, or looks again.
    pub(super) fn sample(&mut self, look: Option<Look>) {
        let over = self.all_ended();
        self.sampling = match look {
            _ if over => Sampling::Idle,
            Some(look) => {
                let is_usages = |event: &Event| matches!(event, Event::Usages(_));
                // A link that is behind is not given more.
                if !self.outbox.iter().any(is_usages) {
                    let usages = self.sent.news(look.usages);
                    if !usages.is_empty() {
                        self.outbox.push_back(Event::Usages(RankUsages { usages }));
                    }
                }
                Sampling::Due(look.next.into())
            }
            None => self.nursery.look().map_or(
                // It is busy with something else.
                Sampling::Due(Instant::now() + samples::INTERVAL),
                Sampling::Looking,
            ),
        };
    }
}
