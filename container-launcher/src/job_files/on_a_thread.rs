//! What takes long, on a thread of its own: the front has one thread for what blocks, and looks up names there.

use std::io;
use std::thread;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Stack of such a thread, bytes. YARN counts address space.
const STACK: usize = 512 * 1024;

/// Does `what` on a new thread. The token that `what` gets is cancelled when this future is dropped.
///
/// # Errors
///
/// There is no thread, or it panicked.
pub(super) async fn on_a_thread<T: Send + 'static>(
    what: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> io::Result<T> {
    let broken_off = CancellationToken::new();
    // Cancelled when nobody waits any more.
    let _waits = broken_off.clone().drop_guard();
    let (tell, told) = oneshot::channel();
    thread::Builder::new()
        .name("files".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let done = what(&broken_off);
            // Nobody may wait any more.
            drop(tell.send(done));
        })?;
    told.await
        .map_err(|_panicked| io::Error::other("the thread that did it has panicked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_nobody_waits_for_is_broken_off_and_a_panic_is_an_error() {
        assert_eq!(on_a_thread(|_| 7).await.unwrap(), 7);
        let (tell, told) = oneshot::channel();
        let doing = on_a_thread(move |broken_off| {
            while !broken_off.is_cancelled() {
                thread::yield_now();
            }
            tell.send(()).unwrap();
        });
        let waited = tokio::time::timeout(std::time::Duration::ZERO, doing).await;
        assert!(waited.is_err());
        told.await.unwrap();
        let panics = on_a_thread(|_| assert_eq!(1, 2)).await;
        assert!(panics.unwrap_err().to_string().contains("panicked"));
    }
}
