//! Work that is done again while a file system is away.
//!
//! NameNodes are restarted, fail over, or are in safe mode for a while, and what a program has computed for days lies on
//! nodes that forget it as soon as its job is over. Whoever has such work gives it here as a whole: it begins anew each time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::StorageError;

/// For so long a result that is nowhere else waits for its file system.
pub const RESULT_PATIENCE: Duration = Duration::from_secs(300);
/// A person is not told of an outage that is over sooner.
const AWAY: Duration = Duration::from_secs(10);
/// The first pause; each later one is twice as long, up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(8);

/// Does `work`, and again after each outage, for `patience` at most; `away` hears once of an outage that lasts.
///
/// # Errors
/// The work fails for a reason that does not pass by itself, or the file system is still away.
pub async fn outlast<T, Work: Future<Output = Result<T, StorageError>>>(
    patience: Duration,
    away: impl FnOnce(&StorageError),
    mut work: impl FnMut() -> Work,
) -> Result<T, StorageError> {
    let (mut since, mut away, mut pause) = (None, Some(away), PAUSE);
    loop {
        let asked = Instant::now();
        let error = match work().await {
            Err(error) if error.may_pass() => error,
            done => return done,
        };
        let out = since.get_or_insert(asked).elapsed();
        if out + pause > patience {
            return Err(error);
        }
        if out >= AWAY
            && let Some(away) = away.take()
        {
            away(&error);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// As HDFS says it while all DataNodes are away.
    fn full() -> StorageError {
        StorageError::Full {
            doing: "writing",
            url: "hdfs://head/x".into(),
            said: "could only be written to 0 of the 1 minReplication nodes".into(),
        }
    }

    fn away() -> StorageError {
        StorageError::Down {
            doing: "writing",
            url: "hdfs://head/x".into(),
            said: "Connection refused".into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_done_again_until_the_file_system_is_back() {
        for (back_after, is_told, error) in [
            (0, false, away as fn() -> StorageError),
            (4, false, full),
            (60, true, full),
            (290, true, away),
        ] {
            let begun = Instant::now();
            let told = RefCell::new(Vec::new());
            let done = outlast(
                RESULT_PATIENCE,
                |error| told.borrow_mut().push(error.to_string()),
                || async {
                    match begun.elapsed() >= Duration::from_secs(back_after) {
                        true => Ok(7),
                        false => Err(error()),
                    }
                },
            );
            assert_eq!(done.await.unwrap(), 7);
            assert_eq!(told.borrow().len(), usize::from(is_told), "{back_after}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_pass_is_told_at_once_and_what_stays_away_in_the_end() {
        let tries = Cell::new(0);
        let taken = outlast(
            RESULT_PATIENCE,
            |_| {},
            || {
                tries.set(tries.get() + 1);
                async { Err::<(), _>(StorageError::Exists { url: "x".into() }) }
            },
        );
        assert!(matches!(taken.await, Err(StorageError::Exists { .. })));
        assert_eq!(tries.get(), 1);
        let begun = Instant::now();
        let gone = outlast(
            Duration::from_secs(20),
            |_| {},
            || async { Err::<(), _>(away()) },
        );
        assert!(gone.await.is_err());
        assert!(begun.elapsed() <= Duration::from_secs(20));
    }
}
