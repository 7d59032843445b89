//! The application's end is told to the ResourceManager.

use std::time::Duration;

use proto_hadoop::yarn::FinalApplicationStatus;
use tokio::time::{Instant, sleep, timeout};

use super::ResourceManagerTask;
use crate::container_event::ContainerEvent;
use crate::next_allocate::Finish;

/// Between two tries to unregister, when one failed: twice as long each time, from the first of these to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(2)];
/// A ResourceManager that has restarted has recovered its attempts after this part of its patience.
const RECOVERED: u32 = 20;

impl ResourceManagerTask {
    /// For as long as the ResourceManager would wait for us, and it may be restarting. Nothing runs any
    /// more: what has ended well need not fear the next attempt, but would be recorded as a failure.
    pub(super) async fn unregister(&mut self, finish: &Finish) {
        let span = match finish.status {
            FinalApplicationStatus::Succeeded => self.patience.saturating_mul(2),
            _ => self.patience,
        };
        let taken = timeout(span, self.finish(finish)).await;
        self.counts.unregistered = taken.unwrap_or(false);
        if !self.counts.unregistered {
            tracing::error!("could not unregister: YARN will judge by our exit");
        }
        self.tell(ContainerEvent::Finished(self.counts)).await;
    }

    /// True when the ResourceManager has taken it; false when it will not.
    async fn finish(&mut self, finish: &Finish) -> bool {
        let Finish {
            status,
            diagnostics,
        } = finish;
        let ([mut pause, longest], mut unknown) = (PAUSES, None);
        loop {
            match self.client.finish(*status, diagnostics, &self.page).await {
                Ok(()) => return true,
                Err(error) if error.is_attempt_gone() => return false,
                Err(error) if error.is_not_registered() => self.register_again().await,
                Err(error) => {
                    tracing::warn!("finishApplicationMaster: {error}");
                    let since = match error.is_attempt_unknown() {
                        true => *unknown.get_or_insert_with(Instant::now),
                        false => Instant::now(),
                    };
                    if since.elapsed() > self.patience / RECOVERED {
                        return false;
                    }
                }
            }
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }
}
