//! How long a file is read on while no DataNode gives its bytes.
//!
//! DataNodes that are restarted, all at once, are back within seconds. Hadoop's own client asks three times more, over ten
//! to thirty seconds (`dfs.client.max.block.acquire.failures`, `dfs.client.retry.window.base`); a reader that gives up at
//! once has failed a task as often as it may before the first DataNode answers again.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause; each later one is twice as long.
const FIRST: Duration = Duration::from_secs(1);
/// After so long without a byte nothing is tried again: what has hung for longer does not get better.
const LONGEST: Duration = Duration::from_secs(16);

/// Since when nothing has come, and how often that was tried again.
#[derive(Debug, Default)]
pub(super) struct Patience {
    since: Option<Instant>,
    tries: u32,
}

impl Patience {
    /// Something has come.
    pub(super) const fn moved(&mut self) {
        self.since = None;
        self.tries = 0;
    }

    /// Nothing has come of what was asked for at `asked`: the pause before it is asked for again. `None`: it is not.
    pub(super) fn pause(&mut self, asked: Instant) -> Option<Duration> {
        let since = *self.since.get_or_insert(asked);
        let pause = FIRST * (1 << self.tries.min(8));
        self.tries += 1;
        (since.elapsed() + pause <= LONGEST).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_fails_at_once_is_asked_for_four_times_more_and_again_after_each_piece() {
        let mut patience = Patience::default();
        for _ in 0..2 {
            let (begun, mut pauses) = (Instant::now(), Vec::new());
            while let Some(pause) = patience.pause(Instant::now()) {
                pauses.push(pause.as_secs());
                sleep(pause).await;
            }
            assert_eq!(pauses, [1, 2, 4, 8]);
            assert_eq!(begun.elapsed(), Duration::from_secs(15));
            patience.moved();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_hangs_for_long_is_not_asked_for_again() {
        let mut patience = Patience::default();
        let asked = Instant::now();
        advance(crate::MOVED).await;
        assert_eq!(patience.pause(asked), None);
    }
}
