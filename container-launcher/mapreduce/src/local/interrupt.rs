//! Ctrl-C and SIGTERM: the job ends, its processes with it, and nothing is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::error::Error;

/// Which signal came, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts(Arc<AtomicI32>);

impl Interrupts {
    /// The number of the signal that ends the job.
    pub(crate) fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }
}

/// Runs `body` while signals are noted instead of fatal; an error comes with the exit code.
pub(crate) fn with_interrupts(
    body: impl FnOnce(&Interrupts) -> crate::Result<()>,
) -> Result<(), (Error, u8)> {
    let interrupts = Interrupts::default();
    let signals = [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ];
    let mut heard =
        signal_hook::iterator::Signals::new(signals).map_err(|error| (error.into(), 70))?;
    let handle = heard.handle();
    let noted = interrupts.clone();
    let listener = std::thread::spawn(move || {
        for signal in heard.forever() {
            noted.0.store(signal, Ordering::Relaxed);
        }
    });
    let done = body(&interrupts);
    handle.close();
    drop(listener.join());
    done.map_err(|error| {
        let code = interrupts
            .signal()
            .and_then(|signal| u8::try_from(128 + signal).ok());
        (error, code.unwrap_or(1))
    })
}
