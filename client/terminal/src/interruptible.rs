//! Waits that end when the user asks for the end.

use std::io;
use std::ops::ControlFlow;

use crate::signals::Signals;

/// What `work` comes to, unless a signal ends the wait for it (`Break`). One that is there already does.
pub async fn interruptible<T>(
    signals: &mut Signals,
    work: impl Future<Output = T>,
) -> ControlFlow<u8, T> {
    tokio::select! {
        biased;
        signal = signals.ending() => ControlFlow::Break(signal),
        done = work => ControlFlow::Continue(done),
    }
}

/// The same for work that the operating system may hold up for ever, as the opening of a pipe: it has a thread of its
/// own, which nobody waits for after a signal.
///
/// # Errors
///
/// There is no thread for it.
pub async fn blocking<T: Send + 'static>(
    signals: &mut Signals,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<ControlFlow<u8, T>> {
    let done = interruptible(signals, tokio::task::spawn_blocking(work)).await;
    Ok(match done {
        ControlFlow::Continue(done) => ControlFlow::Continue(done?),
        ControlFlow::Break(signal) => ControlFlow::Break(signal),
    })
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{Signal, raise};
    use tokio::sync::mpsc;

    use super::*;
    use crate::signals::SignalRequest;

    #[tokio::test]
    async fn a_wait_for_ever_ends_with_a_signal() {
        let mut signals = Signals::listen().unwrap();
        let done = interruptible(&mut signals, async { 7 }).await;
        assert_eq!(done, ControlFlow::Continue(7));
        let done = blocking(&mut signals, || 8).await.unwrap();
        assert_eq!(done, ControlFlow::Continue(8));
        let (hold, held) = std::sync::mpsc::sync_channel::<()>(0);
        let asked = async {
            raise(Signal::SIGHUP).unwrap();
            std::future::pending::<()>().await;
        };
        let done = interruptible(&mut signals, asked).await;
        assert_eq!(done, ControlFlow::Break(1));
        raise(Signal::SIGTERM).unwrap();
        let done = blocking(&mut signals, move || held.recv().is_ok()).await;
        assert_eq!(done.unwrap(), ControlFlow::Break(15));
        drop(hold);
    }

    #[tokio::test]
    async fn of_a_signal_and_what_is_done_the_signal_counts() {
        for _again in 0..20 {
            let (sender, asked) = mpsc::channel(1);
            sender.try_send(SignalRequest::End(2)).unwrap();
            let done = interruptible(&mut Signals::from(asked), async {}).await;
            assert_eq!(done, ControlFlow::Break(2));
        }
    }
}
