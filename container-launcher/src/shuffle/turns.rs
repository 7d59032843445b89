//! Turns of connections that send: few have one at a time, and they are dealt over jobs.
//!
//! Whoever sends asks for a turn before each frame, so that a job which fetches little waits for one frame of the others,
//! and not for all that they fetch. A turn comes with the memory that a frame is read into.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

use job::JobId;

use super::{PIECE, SILENCE};

/// Turns at the same time: of a link that is the bottleneck one connection has an eighth, however many others there are.
const TURNS: usize = 8;

/// All turns of a port.
#[derive(Debug)]
pub(super) struct Turns(Mutex<TurnsState>);

#[derive(Debug)]
struct TurnsState {
    /// Memory of the turns that nobody has.
    free: Vec<Vec<u8>>,
    line: TurnsLine<Thread>,
    /// Whose turn it is, and who has not noticed yet, with its memory.
    called: BTreeMap<u64, Vec<u8>>,
}

impl Default for Turns {
    fn default() -> Self {
        Self(Mutex::new(TurnsState {
            free: vec![Vec::new(); TURNS],
            line: TurnsLine::default(),
            called: BTreeMap::new(),
        }))
    }
}

/// A turn, over when it is dropped.
#[derive(Debug)]
pub(super) struct FetchTurn<'a> {
    turns: &'a Turns,
    memory: Vec<u8>,
}

impl Turns {
    /// Waits for a turn of `job`.
    ///
    /// # Errors
    ///
    /// None comes in time.
    pub(super) fn take(&self, job: JobId) -> io::Result<FetchTurn<'_>> {
        let mut state = self.lock();
        if state.line.is_empty()
            && let Some(memory) = state.free.pop()
        {
            return Ok(self.turn(memory));
        }
        let ticket = state.line.join(job, thread::current());
        drop(state);
        let by = Instant::now() + SILENCE;
        loop {
            let mut state = self.lock();
            if let Some(memory) = state.called.remove(&ticket) {
                return Ok(self.turn(memory));
            }
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.line.leave(job, ticket);
                return Err(ErrorKind::TimedOut.into());
            }
            drop(state);
            thread::park_timeout(left);
        }
    }

    const fn turn(&self, memory: Vec<u8>) -> FetchTurn<'_> {
        FetchTurn {
            turns: self,
            memory,
        }
    }

    fn lock(&self) -> MutexGuard<'_, TurnsState> {
        // Nothing in here panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FetchTurn<'_> {
    /// Memory for a frame of at most so many bytes.
    pub(super) fn frame(&mut self, most: u64) -> &mut [u8] {
        self.memory.resize(PIECE, 0);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(PIECE);
        self.memory.get_mut(..most).unwrap_or_default()
    }
}

impl Drop for FetchTurn<'_> {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        let mut state = self.turns.lock();
        match state.line.next() {
            Some((ticket, thread)) => {
                state.called.insert(ticket, memory);
                drop(state);
                thread.unpark();
            }
            None => state.free.push(memory),
        }
    }
}

/// Who waits: of the jobs one after the other, of each job whoever came first.
#[derive(Debug)]
struct TurnsLine<T> {
    waiting: BTreeMap<JobId, VecDeque<(u64, T)>>,
    /// Whose turn it was last.
    last: Option<JobId>,
    tickets: u64,
}

impl<T> Default for TurnsLine<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            last: None,
            tickets: 0,
        }
    }
}

impl<T> TurnsLine<T> {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// At the end of those of its job; the number by which it is called.
    fn join(&mut self, job: JobId, who: T) -> u64 {
        self.tickets = self.tickets.wrapping_add(1);
        let ticket = self.tickets;
        self.waiting
            .entry(job)
            .or_default()
            .push_back((ticket, who));
        ticket
    }

    /// It does not wait any more.
    fn leave(&mut self, job: JobId, ticket: u64) {
        if let Some(own) = self.waiting.get_mut(&job) {
            own.retain(|(of, _)| *of != ticket);
            if own.is_empty() {
                self.waiting.remove(&job);
            }
        }
    }

    /// Whoever is next, and leaves the line.
    fn next(&mut self) -> Option<(u64, T)> {
        let behind = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let mut later = self.waiting.range((behind, Bound::Unbounded));
        let job = later.next().or_else(|| self.waiting.iter().next());
        let job = job.map(|(job, _)| *job)?;
        let own = self.waiting.get_mut(&job)?;
        let next = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&job);
        }
        self.last = Some(job);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_turns_one_after_the_other_however_many_wait_of_each() {
        let mut line = TurnsLine::default();
        for (job, count) in [(3, 5), (1, 2), (7, 1)] {
            for number in 0..count {
                line.join(JobId(job), (job, number));
            }
        }
        let mut order = Vec::new();
        for _ in 0..5 {
            order.extend(line.next().map(|(_, who)| who));
        }
        assert_eq!(order, [(1, 0), (3, 0), (7, 0), (1, 1), (3, 1)]);
        // Who comes in between waits for one turn of each other job.
        let ticket = line.join(JobId(2), (2, 0));
        line.join(JobId(2), (2, 1));
        line.leave(JobId(2), ticket);
        let rest: Vec<_> = std::iter::from_fn(|| line.next().map(|(_, who)| who)).collect();
        assert_eq!(rest, [(2, 1), (3, 2), (3, 3), (3, 4)]);
        assert!(line.is_empty());
    }

    #[test]
    fn a_turn_that_is_over_is_that_of_whoever_waits() {
        let turns = Turns::default();
        let mut taken: Vec<FetchTurn<'_>> =
            (0..TURNS).map(|_| turns.take(JobId(1)).unwrap()).collect();
        assert_eq!(taken[0].frame(5).len(), 5);
        assert_eq!(taken[0].frame(u64::MAX).len(), PIECE);
        thread::scope(|scope| {
            let waits = scope.spawn(|| drop(turns.take(JobId(2)).unwrap()));
            while turns.lock().line.is_empty() {
                thread::yield_now();
            }
            drop(taken.pop());
            waits.join().unwrap();
        });
        let state = turns.lock();
        assert_eq!((state.free.len(), state.called.len()), (1, 0));
    }
}
