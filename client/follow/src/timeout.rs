//! How long a job may wait before it is given up, by the client's clock.
//!
//! The ApplicationMaster keeps the same span for what it waits for; before it runs, and that can be
//! long in a full queue, there is nobody but the client to keep it.

use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::{ApplicationId, Timing};
use tokio::time::{Instant, sleep_until};

use crate::ended::Ended;
use crate::progress::short_reason;

/// For a ResourceManager that is too busy to answer, or is just becoming the active one of several.
const TOO_BUSY: Duration = Duration::from_secs(15);

/// How calls to one of so many ResourceManagers are repeated. A single one to which nobody can connect
/// is told at once: its address is as likely to be wrong as it is to restart.
pub fn call_timing(resource_managers: usize) -> Timing {
    Timing {
        absence: match resource_managers {
            0 | 1 => Duration::ZERO,
            _ => TOO_BUSY,
        },
        ..Timing::patient(TOO_BUSY)
    }
}

/// Until when a job is to have its ApplicationMaster.
#[derive(Clone, Copy, Debug)]
pub struct WaitTimeout {
    since: Instant,
    /// `None`: it waits for ever.
    limit: Option<Duration>,
}

impl WaitTimeout {
    /// From now on.
    pub fn new(limit: Option<Duration>) -> Self {
        Self {
            since: Instant::now(),
            limit,
        }
    }

    /// Returns when the job is to be given up.
    pub async fn over(self) {
        match self.limit.and_then(|limit| self.since.checked_add(limit)) {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    }

    /// The same span, from now on.
    pub fn anew(self) -> Self {
        Self::new(self.limit)
    }

    /// The whole span.
    pub fn limit(self) -> Option<Duration> {
        self.limit
    }

    /// What is left of the span.
    pub fn left(self) -> Option<Duration> {
        let limit = self.limit?;
        Some(limit.saturating_sub(self.since.elapsed()))
    }

    /// How a job ends that was given up; `said` is what YARN last said of it, which may be nothing.
    pub fn ended(self, id: ApplicationId, said: &str) -> Ended {
        let span = self.limit.unwrap_or_default();
        let why = match short_reason(said) {
            said if said.is_empty() => "YARN says no reason".to_owned(),
            said => format!("YARN's last word on it: {said}"),
        };
        Ended {
            code: Exit::NotInTime.code(),
            sentence: format!(
                "{id} had no ApplicationMaster within {span:?} (--wait-timeout), so it was given up; \
                 {why}"
            ),
            verdict: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_span_ends_and_none_does_not() {
        let hour = Duration::from_secs(3600);
        let patience = WaitTimeout::new(Some(hour));
        assert_eq!(patience.left(), Some(hour));
        patience.over().await;
        assert_eq!(patience.left(), Some(Duration::ZERO));
        let endless = WaitTimeout::new(None);
        assert_eq!(endless.left(), None);
        let over = tokio::time::timeout(10_000 * hour, endless.over()).await;
        assert!(over.is_err());
    }

    #[test]
    fn the_sentence_quotes_yarn() {
        let id = "application_1700000000000_0042".parse().unwrap();
        let said = "[Sat Nov 21 02:33:13 +0000 2026] Application is added to the scheduler and is not \
                    yet activated. Queue's AM resource limit exceeded.  Details : AM Partition = x";
        let ended = WaitTimeout::new(Some(Duration::from_secs(30))).ended(id, said);
        assert_eq!(ended.code, 75);
        assert_eq!(
            ended.sentence,
            "application_1700000000000_0042 had no ApplicationMaster within 30s (--wait-timeout), so \
             it was given up; YARN's last word on it: Application is added to the scheduler and is \
             not yet activated. Queue's AM resource limit exceeded."
        );
    }
}
