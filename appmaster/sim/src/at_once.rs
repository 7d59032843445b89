//! Several runs at a time, one a core.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// What `play` makes of each, in the order of `runs`; the first error of that order, if there is one.
pub(crate) fn each<Run: Sync, Played: Send>(
    runs: &[Run],
    play: impl Fn(&Run) -> Result<Played> + Sync,
) -> Result<Vec<Played>> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(number) else { break };
            let played = play(run);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((number, played));
        }
    };
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, played)| played).collect()
}
