//! What is seen of tasks while they work: how far they are, and whether they get on.

use std::sync::PoisonError;
use std::time::Duration;

use gerbil_task::settings::{KNOWN, TIMEOUT};
use gerbil_task::{Blame, Blamed, Welcome};
use job::wire::TaskSeen;
use tokio::time::Instant;

use super::attempt::Attempt;

/// Between two looks, unless a timeout is shorter.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// A look costs something too.
const LOOK_MIN: Duration = Duration::from_millis(50);

/// Whether one task gets on.
#[derive(Debug)]
pub(super) struct Watch {
    /// None: it may take its time.
    timeout: Option<Duration>,
    seen: Blame,
    since: Instant,
}

impl Watch {
    pub(super) fn new(timeout: Option<Duration>, seen: Blame) -> Self {
        Self {
            timeout,
            seen,
            since: Instant::now(),
        }
    }

    /// When the next look is due.
    pub(super) fn pause(&self) -> Duration {
        let quarter = self.timeout.map_or(LOOK, |timeout| timeout / 4);
        quarter.clamp(LOOK_MIN, LOOK)
    }

    /// Looks: the timeout, if there was no sign of life for longer.
    pub(super) fn look(&mut self, blame: Blame) -> Option<Duration> {
        if blame != self.seen {
            (self.seen, self.since) = (blame, Instant::now());
        }
        self.timeout
            .filter(|timeout| self.since.elapsed() > *timeout)
    }
}

/// For how long a task may show no sign of life; none: for ever.
///
/// # Errors
///
/// The setting is no number.
pub(super) fn timeout(welcome: &Welcome) -> Result<Option<Duration>, String> {
    let default = KNOWN.iter().find(|known| known.name == TIMEOUT);
    let given = welcome.settings.get(TIMEOUT).map(String::as_str);
    let text = given.or(default.map(|known| known.default));
    let text = text.unwrap_or_default();
    let ms: u64 = (text.trim().parse()).map_err(|_no_number| {
        format!("{TIMEOUT} is {text:?}: give a number of milliseconds, 0 for ever")
    })?;
    Ok((ms > 0).then_some(Duration::from_millis(ms)))
}

/// How far a task is.
pub(super) fn seen(process: u32, attempt: &Attempt) -> TaskSeen {
    let blame = attempt.blame();
    let status = attempt
        .status
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    TaskSeen {
        process,
        done: blame.done,
        wanted: blame.total,
        status: status.clone(),
    }
}

/// A task that shows no sign of life, in a sentence.
pub(super) fn stalled(attempt: &Attempt, timeout: Duration) -> String {
    match Blamed::of(&attempt.task) {
        Some(task) => task.stalled(&attempt.blame(), timeout),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use gerbil_task::Page;

    use super::*;

    #[test]
    fn the_timeout_is_hadoop_s_unless_it_is_given() {
        let with = |value: Option<&str>| {
            let mut welcome = Welcome::default();
            if let Some(value) = value {
                welcome
                    .settings
                    .insert(TIMEOUT.to_owned(), value.to_owned());
            }
            timeout(&welcome)
        };
        assert_eq!(with(None), Ok(Some(Duration::from_secs(600))));
        assert_eq!(with(Some("0")), Ok(None));
        assert_eq!(with(Some("400")), Ok(Some(Duration::from_millis(400))));
        let wrong = with(Some("soon")).unwrap_err();
        assert!(
            wrong.contains("mapreduce.task.timeout is \"soon\""),
            "{wrong}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_shows_no_sign_of_life_is_found() {
        let (page, _descriptor) = Page::create().unwrap();
        page.begin(0, 10);
        let timeout = Duration::from_secs(10);
        let mut watch = Watch::new(Some(timeout), page.read());
        assert_eq!(watch.pause(), LOOK);
        tokio::time::advance(Duration::from_secs(9)).await;
        page.done(5);
        assert_eq!(watch.look(page.read()), None);
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(watch.look(page.read()), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(watch.look(page.read()), Some(timeout));
        let mut patient = Watch::new(None, page.read());
        tokio::time::advance(Duration::from_secs(9999)).await;
        assert_eq!(patient.look(page.read()), None);
        let short = Watch::new(Some(Duration::from_millis(100)), page.read());
        assert_eq!(short.pause(), LOOK_MIN);
    }
}
