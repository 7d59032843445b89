//! The attempts of a job: ApplicationMasters that YARN starts one after the other.

use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::yarn::ApplicationReport;
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId};
use tokio::time::timeout;

use crate::ended::Ended;

/// How long YARN may take to record the end of an ApplicationMaster that was its last. A NodeManager
/// that still lives tells at once.
const GONE_PATIENCE: Duration = Duration::from_secs(30);
/// Beside the time that YARN takes to miss a node or an ApplicationMaster: it looks from time to time.
const MARGIN: Duration = Duration::from_secs(60);
/// For YARN to say why an attempt has ended: a sentence that says less is better than none.
const YARNS_WORDS: Duration = Duration::from_secs(5);

/// Why there is no further attempt, though YARN would make one.
pub const SPENT: &str = "the program has read standard input, which cannot be given again, so it \
                                is not started again; --input takes a file, which can";

/// Which attempt is followed, and how many there may be.
#[derive(Debug)]
pub struct Attempts {
    most: u32,
    /// YARN misses a dead node, or an ApplicationMaster that hangs, after so long.
    missed_after: Duration,
    present: Option<AppAttemptId>,
    /// The one that was lost.
    over: Option<AppAttemptId>,
}

/// What has become of an attempt that was lost.
pub(crate) enum Lost {
    /// YARN does not know it yet.
    Still,
    /// There is another of this name.
    Replaced { lost: AppAttemptId, name: String },
    /// There is another, that cannot be given its input.
    Spent,
}

impl Attempts {
    /// At most so many; `missed_after` is what YARN takes to miss a node or an ApplicationMaster.
    pub fn new(most: u32, missed_after: Duration) -> Self {
        Self {
            most,
            missed_after,
            present: None,
            over: None,
        }
    }

    /// This one is followed from now on.
    pub fn follow(&mut self, attempt: Option<AppAttemptId>) {
        self.present = attempt;
    }

    /// Whether it is the one that was lost; one that YARN does not name is not.
    pub fn is_over(&self, attempt: Option<AppAttemptId>) -> bool {
        attempt.is_some() && attempt == self.over
    }

    /// Whether it is none that was followed.
    pub fn is_another(&self, attempt: Option<AppAttemptId>) -> bool {
        attempt.is_some() && self.present.is_some() && attempt != self.present
    }

    /// Whether YARN would make another after the present one. Those that it ends itself it does not
    /// count, so this can be wrong; then the other comes at once.
    pub fn are_left(&self) -> bool {
        self.present
            .is_some_and(|present| number(present) < self.most)
    }

    /// How long an attempt that was lost may still be alive to YARN.
    pub fn patience(&self) -> Duration {
        match self.are_left() {
            true => self.missed_after.saturating_add(MARGIN),
            false => GONE_PATIENCE,
        }
    }

    /// What `report` says of the attempt that was lost; `is_spent`: its input cannot be given again.
    pub(crate) fn next(&mut self, report: &ApplicationReport, is_spent: bool) -> Lost {
        let (Some(lost), Some(next)) = (self.present, report.current_attempt) else {
            return Lost::Still;
        };
        if next == lost {
            return Lost::Still;
        }
        if is_spent {
            return Lost::Spent;
        }
        self.over = Some(lost);
        self.present = None;
        let name = self.name(next);
        Lost::Replaced { lost, name }
    }

    /// The one before `attempt`, when it was lost without having been followed, and the name of this one.
    pub fn unseen(&self, attempt: Option<AppAttemptId>) -> Option<(AppAttemptId, String)> {
        let attempt = attempt.filter(|attempt| attempt.attempt > 1)?;
        let before = AppAttemptId {
            attempt: attempt.attempt - 1,
            ..attempt
        };
        (Some(before) != self.over).then(|| (before, self.name(attempt)))
    }

    fn name(&self, attempt: AppAttemptId) -> String {
        match number(attempt) {
            // YARN does not count those that it ended itself.
            number if number > self.most => format!("attempt {number}"),
            number => format!("attempt {number} of {}", self.most),
        }
    }

    /// How a job ends whose only attempt was replaced all the same.
    pub fn unforeseen(&self, id: ApplicationId) -> Ended {
        Ended {
            code: Exit::Lost.code(),
            sentence: format!("YARN has started another attempt of {id}, which cannot be followed"),
            verdict: None,
        }
    }
}

/// What is said of an attempt that replaces another; with YARN's first words on that one's end, where it
/// knows them and says them at once.
pub async fn replaced(rm: &ApplicationClient, lost: AppAttemptId, name: &str) -> String {
    let all = timeout(YARNS_WORDS, rm.attempts(&lost.application)).await;
    let all = all.ok().and_then(Result::ok).unwrap_or_default();
    let said = all.into_iter().find(|report| report.id == lost);
    let said = said.map(|report| report.diagnostics).unwrap_or_default();
    let why = match said.lines().next().map(str::trim) {
        Some(first) if !first.is_empty() => format!(" (YARN says: {first})"),
        _ => String::new(),
    };
    format!(
        "{name}: the ApplicationMaster of attempt {} was lost{why}; the program is started again, and \
         so is its output",
        number(lost)
    )
}

/// From 1.
fn number(attempt: AppAttemptId) -> u32 {
    u32::try_from(attempt.attempt).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: i32) -> AppAttemptId {
        AppAttemptId {
            application: ApplicationId {
                cluster_timestamp: 1,
                id: 1,
            },
            attempt: number,
        }
    }

    #[test]
    fn an_attempt_that_was_lost_before_it_was_seen_is_told_once() {
        let mut attempts = Attempts {
            most: 2,
            missed_after: Duration::ZERO,
            present: None,
            over: None,
        };
        assert_eq!(attempts.unseen(None), None);
        assert_eq!(attempts.unseen(Some(attempt(1))), None);
        let told = Some((attempt(1), "attempt 2 of 2".to_owned()));
        assert_eq!(attempts.unseen(Some(attempt(2))), told);
        // As when the first has been followed, and its end was told.
        attempts.over = Some(attempt(1));
        assert_eq!(attempts.unseen(Some(attempt(2))), None);
        let told = Some((attempt(2), "attempt 3".to_owned()));
        assert_eq!(attempts.unseen(Some(attempt(3))), told);
    }
}
