//! Where the time of a run goes, as the command sees it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use terminal::table::{Column, table};

/// Moments of a run, in the order in which they came. Clones are of the same run.
#[derive(Clone, Debug)]
pub(super) struct Timing(Arc<Moments>);

#[derive(Debug)]
struct Moments {
    began: Instant,
    all: Mutex<Vec<(Duration, String)>>,
}

impl Timing {
    /// Of a run that begins now.
    pub(super) fn new() -> Self {
        Self(Arc::new(Moments {
            began: Instant::now(),
            all: Mutex::default(),
        }))
    }

    /// Something is done now.
    pub(super) fn mark(&self, what: impl Into<String>) {
        let at = self.0.began.elapsed();
        // Whoever panicked while he held it has left it whole.
        let mut all = self.0.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((at, what.into()));
    }

    /// A line for each: when it was done, and how long it took since the one before.
    pub(super) fn lines(&self) -> Vec<String> {
        let all = self.0.all.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = [
            Column::Right("at"),
            Column::Right("took"),
            Column::Left("what was done"),
        ];
        let mut before = Duration::ZERO;
        let rows = all.iter().map(|(at, what)| {
            let took = at.saturating_sub(before);
            before = *at;
            vec![seconds(*at), seconds(took), what.clone()]
        });
        table(0, &columns, rows)
    }
}

fn seconds(span: Duration) -> String {
    format!("{:.2} s", span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_has_a_line() {
        let timing = Timing::new();
        timing.clone().mark("it was planned");
        timing.mark("it was submitted");
        let lines = timing.lines();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].ends_with("it was planned"), "{lines:?}");
    }
}
