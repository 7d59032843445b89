//! When a wait is worth a line, where no terminal shows a line that changes.

use std::time::Duration;

/// A wait is said after this, and again when its reason has differed for as long from what was said.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is waited for, and what was said of it.  Times are those since the command began to report.
#[derive(Debug, Default)]
pub(crate) struct ShownWait {
    /// Why; empty: nothing is waited for.
    reason: String,
    /// What was last said; empty: nothing.
    said: String,
    /// Since when the reason is another than what was said: a reason that changes every few seconds is said
    /// as well.
    unsaid_since: Duration,
}

impl ShownWait {
    /// The cluster waits for `reason`.
    pub(crate) fn hear(&mut self, reason: String, now: Duration) {
        if self.reason == self.said {
            self.unsaid_since = now;
        }
        self.reason = reason;
    }

    /// The reason, where a line should say it now: at most one in [`PATIENCE`].
    pub(crate) fn due(&mut self, now: Duration) -> Option<&str> {
        let due = self.reason != self.said && now.saturating_sub(self.unsaid_since) > PATIENCE;
        due.then(|| {
            self.reason.clone_into(&mut self.said);
            self.said.as_str()
        })
    }

    /// Whether the upload of `all` bytes should be said now: once, where it lasts.
    pub(crate) fn upload(&mut self, all: u64, now: Duration) -> bool {
        let due = self.said.is_empty() && now > PATIENCE;
        if due {
            self.said = format!("{all} bytes to upload");
            self.reason.clone_from(&self.said);
        }
        due
    }

    /// Nothing is waited for any more.
    pub(crate) fn is_over(&mut self) {
        self.reason.clone_from(&self.said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said, and in which second, of reasons that are heard `every` seconds.
    fn said(reasons: impl IntoIterator<Item = &'static str>, every: u64) -> Vec<(u64, String)> {
        let mut wait = ShownWait::default();
        let mut lines = Vec::new();
        for (beat, reason) in reasons.into_iter().enumerate() {
            let now = beat as u64 * every;
            wait.hear(reason.to_owned(), Duration::from_secs(now));
            if let Some(line) = wait.due(Duration::from_secs(now)) {
                lines.push((now, line.to_owned()));
            }
        }
        lines
    }

    #[test]
    fn a_wait_that_lasts_is_said_once() {
        let lines = said(std::iter::repeat_n("no room", 60), 1);
        assert_eq!(lines, [(6, "no room".to_owned())]);
    }

    #[test]
    fn a_reason_that_changes_every_other_second_is_said() {
        let lines = said(["no room, alice holds 2 GB", "no room"].repeat(30), 2);
        assert_eq!(lines.first().map(|(at, _)| *at), Some(6));
        // Nor does it fill the file that the lines go to.
        assert!(lines.len() <= 60 / 5, "{lines:?}");
    }

    #[test]
    fn a_wait_that_is_over_is_not_said() {
        let mut wait = ShownWait::default();
        wait.hear("no room".to_owned(), Duration::ZERO);
        wait.is_over();
        assert_eq!(wait.due(Duration::from_secs(60)), None);
    }

    #[test]
    fn an_upload_is_said_once_and_what_follows_it_as_well() {
        let mut wait = ShownWait::default();
        let at = Duration::from_secs;
        assert!(!wait.upload(100, at(5)));
        assert!(wait.upload(100, at(6)));
        assert!(!wait.upload(100, at(12)));
        wait.hear("no room".to_owned(), at(20));
        assert_eq!(wait.due(at(25)), None);
        assert_eq!(wait.due(at(26)), Some("no room"));
    }
}
