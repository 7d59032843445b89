//! Runs of one program that take turns on the same cores: in slices much shorter than a run the ranks of
//! one compute, those of the others are stopped.
//!
//! Runs that come one after the other meet what else this machine does at different times, and differ by
//! percents where the programs do not. Whatever lasts longer than a slice touches all runs alike here.
//! Only ranks are stopped: what else a run needs goes on through the slices of all, and is accounted for
//! apart.

use std::time::Duration;

use anyhow::{Context as _, Result};
use it::command::Running;
use it::{Run, process, wait};
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};

use crate::programs::DEADLINE;
use crate::spans::{Span, Spans};

/// A stop and a go each take some microseconds; the machine's own ups and downs last longer.
const SLICE: Duration = Duration::from_millis(30);
/// Rounds end when each run has had so many slices.
const MOST_SLICES: u32 = 20_000;

/// From one moment to a later one, nanoseconds of the clock that the spans are told in.
type Slice = (u64, u64);

struct Taker<'a> {
    running: Running,
    spans: &'a Spans,
    /// Its ranks.
    ranks: Vec<i32>,
    /// When they computed.
    slices: Vec<Slice>,
    over: bool,
}

/// Starts each of `runs`, of `ranks` ranks that note where they are in the spans beside it, one after the
/// other in this order, and lets them take turns when all are past `MPI_Init`. What each had of the time
/// between `MPI_Init` and `MPI_Finalize`.
pub(crate) fn take_turns(runs: Vec<(Run, &Spans)>, ranks: usize) -> Result<Vec<Duration>> {
    let mut takers = Vec::new();
    for (run, spans) in runs {
        let running = run.start()?;
        wait::until("every rank past MPI_Init", DEADLINE, || {
            Ok((spans.begun()?.len() == ranks).then_some(()))
        })?;
        let mut taker = Taker {
            running,
            spans,
            ranks: spans.begun()?,
            slices: Vec::new(),
            over: false,
        };
        taker.all(Signal::SIGSTOP)?;
        // It computed from its begin on, which is cut to what it says itself.
        taker.slices.push((0, now()?));
        takers.push(taker);
    }
    for _ in 0..MOST_SLICES {
        if takers.iter().all(|taker| taker.over) {
            break;
        }
        for taker in takers.iter_mut().filter(|taker| !taker.over) {
            taker.turn(ranks)?;
        }
    }
    let had = takers.into_iter().map(|taker| {
        taker.running.finish()?.success("a run that takes turns")?;
        Ok(shared(taker.spans.span(ranks)?, &taker.slices))
    });
    had.collect()
}

impl Taker<'_> {
    /// One slice.
    fn turn(&mut self, ranks: usize) -> Result<()> {
        let from = now()?;
        self.all(Signal::SIGCONT)?;
        wait::pause(SLICE);
        self.over = self.spans.ended()? == ranks;
        if !self.over {
            self.all(Signal::SIGSTOP)?;
        }
        self.slices.push((from, now()?));
        Ok(())
    }

    fn all(&self, signal: Signal) -> Result<()> {
        let mut ranks = self.ranks.iter();
        ranks.try_for_each(|rank| process::signal_by_id(*rank, signal))
    }
}

fn now() -> Result<u64> {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?);
    u64::try_from(now.as_nanos()).context("a clock of centuries")
}

/// What `slices` have of `span`.
fn shared(span: Span, slices: &[Slice]) -> Duration {
    let of_slice = |(from, to): &Slice| {
        let (from, to) = ((*from).max(span.begin), (*to).min(span.end));
        to.saturating_sub(from)
    };
    Duration::from_nanos(slices.iter().map(of_slice).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_count_between_begin_and_end() {
        let span = Span {
            begin: 100,
            end: 200,
        };
        let slices = [(0, 110), (120, 130), (190, 250), (300, 400)];
        assert_eq!(shared(span, &slices), Duration::from_nanos(10 + 10 + 10));
    }
}
