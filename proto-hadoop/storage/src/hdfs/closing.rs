//! The end of a small file that is being written.
//!
//! A NameNode completes a file when a DataNode has reported its last block, which it does when it has acknowledged
//! it to the client, a few milliseconds later. A client that asks as soon as it has the acknowledgement is told to
//! ask again, and hdfs-native does so after 500 ms, which is longer than everything else that a small file costs. So
//! whoever closes is given the acknowledgement late, when the report will have come, and nearly every file is asked
//! for once. Where that was too early the file is looked at: its length there is what was written as soon as the
//! NameNode has taken the last block in, and then it is asked at once.
//!
//! Behind the acknowledgement whoever closes is never left waiting without being polled. All calls of a client queue
//! for one connection, first come, first served: who stands in that queue and is not polled is given his turn, does not
//! take it, and holds up every other file of the client, the look at his own among them.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// From the acknowledgement of the last block until it is handed on: a DataNode's report is there after 1 to 3 ms.
const REPORTED: Duration = Duration::from_millis(6);
/// Before each look at a file that is not closed yet. None is later than the second question after the one before.
const LOOKS: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
    Duration::from_millis(160),
];
/// The answer to the first question is on its way when its effect is seen; it may be that the file is complete.
const ON_ITS_WAY: Duration = Duration::from_millis(10);
/// What was under way so shortly after a look that found the file unfinished is the first question, or the pause
/// behind it (500 ms): nothing is lost when it is given up.
const FIRST: Duration = Duration::from_millis(400);

/// Waits for `closing` of a file of `length` bytes, unless its NameNode has all of it and wants to be asked again:
/// then `None`. `look` says how many bytes the NameNode has, if that can be known.
pub(super) async fn ask_once<T, Look: Future<Output = Option<u64>>>(
    mut closing: Pin<Box<impl Future<Output = T> + ?Sized>>,
    length: u64,
    mut look: impl FnMut() -> Look,
) -> Option<T> {
    if let Some(done) = acknowledged(&mut closing).await {
        return Some(done);
    }
    sleep(REPORTED).await;
    let mut unfinished = Instant::now();
    for pause in LOOKS {
        let looking = async {
            sleep(pause).await;
            (Instant::now(), look().await)
        };
        let (looked, found) = tokio::select! {
            biased;
            done = &mut closing => return Some(done),
            seen = looking => seen,
        };
        match found {
            Some(found) if found == length && unfinished.elapsed() < FIRST => {
                return timeout(ON_ITS_WAY, &mut closing).await.ok();
            }
            Some(found) if found < length => unfinished = looked,
            // Too late, or not to be known: at hdfs-native's own pace.
            Some(_) | None => break,
        }
    }
    Some(closing.await)
}

/// Until what `closing` waits for first has happened, which it is not told yet; or its end, if it waits for nothing.
/// The first that hdfs-native's closing waits for is the acknowledgement of all that was written.
async fn acknowledged<T>(closing: &mut Pin<Box<impl Future<Output = T> + ?Sized>>) -> Option<T> {
    let mut has_begun = false;
    poll_fn(|context| {
        if has_begun {
            return Poll::Ready(None);
        }
        has_begun = true;
        closing.as_mut().poll(context).map(Some)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Mutex;
    use tokio::task::yield_now;

    use super::*;

    const LENGTH: u64 = 7;

    /// Others use the connection while the file's last question and the look at it stand in line for it, in this
    /// order.
    #[tokio::test(start_paused = true)]
    async fn who_closes_takes_his_turn_while_the_file_is_looked_at() {
        let connection = Arc::new(Mutex::new(()));
        for until in 0..60 {
            let others = Arc::clone(&connection).lock_owned().await;
            let others = async {
                sleep(Duration::from_millis(until)).await;
                drop(others);
            };
            let closing = Box::pin(async {
                last_block(Duration::ZERO).await;
                let _turn = connection.lock().await;
                sleep(Duration::from_millis(2)).await;
            });
            let look = || async {
                let _turn = connection.lock().await;
                Some(0)
            };
            let closed = timeout(Duration::from_secs(40), ask_once(closing, LENGTH, look));
            let (closed, ()) = tokio::join!(closed, others);
            assert_eq!(closed, Ok(Some(())), "others until {until} ms");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_all_there_is_asked_for_again_at_once() {
        let begun = Instant::now();
        let seconds = Box::pin(complete_later());
        let mut looks = 0;
        let look = || {
            looks += 1;
            std::future::ready(Some(if looks < 3 { 0 } else { LENGTH }))
        };
        assert_eq!(ask_once(seconds, LENGTH, look).await, None);
        assert_eq!(
            begun.elapsed(),
            Duration::from_millis(6 + 20 + 40 + 80 + 10)
        );
    }

    /// DataNodes take so long to acknowledge the last block.
    async fn last_block(takes: Duration) {
        match takes.is_zero() {
            true => yield_now().await,
            false => sleep(takes).await,
        }
    }

    /// A file whose last block is acknowledged at once, and that is complete a second later.
    async fn complete_later() {
        last_block(Duration::ZERO).await;
        sleep(Duration::from_secs(1)).await;
    }

    /// However long the DataNodes take, the NameNode is asked when their report will have come, and once.
    #[tokio::test(start_paused = true)]
    async fn a_file_is_asked_for_when_its_last_block_is_reported() {
        for blocks in [0, 3, 700] {
            let begun = Instant::now();
            let blocks = Duration::from_millis(blocks);
            let closing = Box::pin(async {
                last_block(blocks).await;
                begun.elapsed()
            });
            let look = || std::future::ready(Some(0));
            let asked = ask_once(closing, LENGTH, look).await;
            assert_eq!(asked, Some(blocks + REPORTED));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_cannot_be_looked_at_is_waited_for() {
        for found in [None, Some(LENGTH + 1)] {
            let begun = Instant::now();
            let second = Box::pin(complete_later());
            let look = || std::future::ready(found);
            assert_eq!(ask_once(second, LENGTH, look).await, Some(()));
            assert_eq!(begun.elapsed(), REPORTED + Duration::from_secs(1));
        }
    }
}
