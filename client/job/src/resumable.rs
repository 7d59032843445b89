//! A conversation that outlives its links: what one end says, numbered as [`sequence`](crate::sequence)
//! has it, and handed to whichever link is the present one.
//!
//! Whoever says something never waits: it lies here until the peer has taken it. [`Resumable::open`]
//! begins a link and gives the stream of messages that the link is to send; the stream of the link
//! before ends. Nothing but words of its own accord goes out until the peer has said what it took last
//! ([`Resumable::resume`]). What was taken of the peer goes with every message, and in one of its own
//! when much has come since.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_stream::Stream;

use crate::sequence::{Bounds, Full, Incoming, Outgoing, SequenceError};

/// So many messages of the peer are acknowledged at once at the latest. Whoever bounds what waits for a
/// peer allows for twice as much.
const ACKNOWLEDGED_AFTER: u64 = 4;
/// The same in bytes.
const ACKNOWLEDGED_AFTER_BYTES: usize = 128 * 1024;

/// What a link is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<T> {
    /// Of `what`, from 1; 0 where there is none.
    pub number: u64,
    /// The number of the last message of the peer that was taken.
    pub taken: u64,
    /// What was last given to [`Resumable::remind`].
    pub clock: u64,
    /// What is said; `None`: the acknowledgement alone.
    pub what: Option<T>,
}

/// One end. Its clones are the same end.
pub struct Resumable<T>(Arc<SharedState<T>>);

struct SharedState<T> {
    state: Mutex<ResumableState<T>>,
    /// Something that somebody may wait for has changed.
    changed: Notify,
    /// Zero of the clock of the sequence.
    born: Instant,
}

struct ResumableState<T> {
    outgoing: Outgoing<T>,
    incoming: Incoming,
    /// What the peer has been told that we took.
    told: u64,
    /// Bytes taken since.
    untold_bytes: usize,
    /// A message is due even if there is nothing new.
    is_due: bool,
    clock: u64,
    /// Which link is the present one; streams of others end.
    link: u64,
    /// There is one.
    is_open: bool,
    /// The peer has said where it is to begin.
    is_resumed: bool,
    /// Too much waited.
    overflow: Option<Full>,
    /// Nothing more is said: the stream ends behind the last message.
    is_finished: bool,
    waker: Option<Waker>,
}

impl<T> ResumableState<T> {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl<T> Clone for Resumable<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Resumable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resumable").finish_non_exhaustive()
    }
}

impl<T: Clone> Resumable<T> {
    /// An end of which so much may wait for the peer.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self(Arc::new(SharedState {
            state: Mutex::new(ResumableState {
                outgoing: Outgoing::new(bounds),
                incoming: Incoming::default(),
                told: 0,
                untold_bytes: 0,
                is_due: false,
                clock: 0,
                link: 0,
                is_open: false,
                is_resumed: false,
                overflow: None,
                is_finished: false,
                waker: None,
            }),
            changed: Notify::new(),
            born: Instant::now(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, ResumableState<T>> {
        // Nothing in here panics while it holds the lock.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.0.born.elapsed()
    }

    /// Says `what`, of so many bytes. Too much for the bounds is not kept, and never forgotten:
    /// [`Resumable::overflowed`].
    pub fn push(&self, what: T, bytes: usize) {
        let now = self.now();
        let mut state = self.lock();
        if state.is_finished || state.overflow.is_some() {
            return;
        }
        match state.outgoing.push(now, what, bytes) {
            Ok(()) => state.wake(),
            Err(full) => {
                state.overflow = Some(full);
                drop(state);
                self.0.changed.notify_waiters();
            }
        }
    }

    /// What is said so far is all.
    pub fn finish(&self) {
        let mut state = self.lock();
        state.is_finished = true;
        state.wake();
    }

    /// Whether nothing more is said.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.lock().is_finished
    }

    /// A message is to go out even if there is nothing to say, with this word of the clock.
    pub fn remind(&self, clock: u64) {
        let mut state = self.lock();
        state.clock = clock;
        state.is_due = true;
        state.wake();
    }

    /// Begins a link: the messages that it is to send. The stream of the one before ends. `greets`: the
    /// first message goes out before the peer has said what it took.
    #[must_use]
    pub fn open(&self, greets: bool) -> Messages<T> {
        let mut state = self.lock();
        state.link = state.link.saturating_add(1);
        state.is_open = true;
        state.is_resumed = false;
        state.is_due = greets;
        state.wake();
        Messages {
            end: self.clone(),
            link: state.link,
        }
    }

    /// Ends the present link, if there is one.
    pub fn close(&self) {
        let mut state = self.lock();
        state.link = state.link.saturating_add(1);
        state.is_open = false;
        state.wake();
    }

    /// Ends the present link when what this gives is dropped. A call whose answer nobody reads any more
    /// stays open for as long as what it sends has no end.
    #[must_use]
    pub fn closed_with(&self) -> Closing<T> {
        Closing(self.clone())
    }

    /// Whether there is a link.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lock().is_open
    }

    /// The peer says on a fresh link what it took last; what follows is sent.
    ///
    /// # Errors
    /// That cannot be.
    pub fn resume(&self, taken: u64) -> Result<(), SequenceError> {
        let now = self.now();
        let mut state = self.lock();
        state.outgoing.resume(now, taken)?;
        state.is_resumed = true;
        state.wake();
        drop(state);
        self.0.changed.notify_waiters();
        Ok(())
    }

    /// The peer says what it took last: on a link that has just been opened, where to begin.
    ///
    /// # Errors
    /// That cannot be.
    pub fn acknowledge(&self, taken: u64) -> Result<(), SequenceError> {
        if !self.lock().is_resumed {
            return self.resume(taken);
        }
        let now = self.now();
        self.lock().outgoing.acknowledge(now, taken)?;
        self.0.changed.notify_waiters();
        Ok(())
    }

    /// Whether the peer's message of this number is to be taken; one that has come before is not, nor is
    /// one without a number.
    ///
    /// # Errors
    /// One before it is missing.
    pub fn is_new(&self, number: u64) -> Result<bool, SequenceError> {
        self.lock().incoming.is_new(number)
    }

    /// The peer's message of this number, of so many bytes, has been taken.
    pub fn took(&self, number: u64, bytes: usize) {
        let mut state = self.lock();
        state.incoming.took(number);
        state.untold_bytes = state.untold_bytes.saturating_add(bytes);
        let untold = state.incoming.taken().saturating_sub(state.told);
        if untold >= ACKNOWLEDGED_AFTER || state.untold_bytes >= ACKNOWLEDGED_AFTER_BYTES {
            state.is_due = true;
            state.wake();
        }
    }

    /// The number of the peer's last message that was taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.lock().incoming.taken()
    }

    /// For how long the peer has taken nothing of what waits for it; zero where nothing does.
    #[must_use]
    pub fn stuck_for(&self) -> Duration {
        let since = self.lock().outgoing.waits_since();
        since.map_or(Duration::ZERO, |since| self.now().saturating_sub(since))
    }

    /// Whether something of this kind waits for the link.
    #[must_use]
    pub fn has_unsent(&self, is_one: impl Fn(&T) -> bool) -> bool {
        self.lock().outgoing.unsent().any(is_one)
    }

    /// Until more may wait. May be dropped and called again.
    pub async fn room(&self) {
        self.until(|state| state.outgoing.has_room().then_some(()))
            .await;
    }

    /// Until too much waits: how much. May be dropped and called again.
    pub async fn overflowed(&self) -> Full {
        self.until(|state| state.overflow).await
    }

    async fn until<U>(&self, look: impl Fn(&ResumableState<T>) -> Option<U>) -> U {
        loop {
            let changed = self.0.changed.notified();
            if let Some(found) = look(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }
}

/// Ends the present link when it is dropped.
#[derive(Debug)]
pub struct Closing<T: Clone>(Resumable<T>);

impl<T: Clone> Drop for Closing<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What one link is to send, until another takes its place.
#[derive(Debug)]
pub struct Messages<T> {
    end: Resumable<T>,
    link: u64,
}

impl<T: Clone> Stream for Messages<T> {
    type Item = Message<T>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Message<T>>> {
        let mut state = self.end.lock();
        if state.link != self.link {
            return Poll::Ready(None);
        }
        let next = match state.is_resumed {
            true => state.outgoing.hand_over(),
            false => None,
        };
        if next.is_none() && !state.is_due {
            if state.is_finished && state.is_resumed {
                return Poll::Ready(None);
            }
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.is_due = false;
        state.told = state.incoming.taken();
        state.untold_bytes = 0;
        let (number, what) = next.map_or((0, None), |(number, what)| (number, Some(what)));
        Poll::Ready(Some(Message {
            number,
            taken: state.told,
            clock: state.clock,
            what,
        }))
    }
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt as _;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        count: 2,
        bytes: 100,
    };

    fn said<T>(number: u64, taken: u64, what: T) -> Option<Message<T>> {
        Some(Message {
            number,
            taken,
            clock: 0,
            what: Some(what),
        })
    }

    #[tokio::test]
    async fn a_link_that_is_replaced_says_nothing_more() {
        let end = Resumable::new(BOUNDS);
        let mut first = end.open(false);
        end.push('a', 1);
        end.acknowledge(0).unwrap();
        assert_eq!(first.next().await, said(1, 0, 'a'));
        let mut second = end.open(true);
        assert_eq!(first.next().await, None);
        // Its greeting says what was taken, and waits for the same word of the peer.
        end.took(7, 1);
        let greeting = second.next().await.unwrap();
        assert_eq!((greeting.number, greeting.taken), (0, 7));
        end.push('b', 1);
        end.acknowledge(0).unwrap();
        assert_eq!(second.next().await, said(1, 7, 'a'));
        assert_eq!(second.next().await, said(2, 7, 'b'));
        end.finish();
        assert_eq!(second.next().await, None);
        // The last may have been lost: a third link brings it again, and ends again.
        let mut third = end.open(false);
        end.acknowledge(1).unwrap();
        assert_eq!(third.next().await, said(2, 7, 'b'));
        assert_eq!(third.next().await, None);
    }

    #[tokio::test]
    async fn a_link_ends_with_whoever_keeps_it() {
        let end = Resumable::<u8>::new(Bounds { count: 1, bytes: 1 });
        let closing = end.closed_with();
        let mut said = end.open(true);
        assert!(said.next().await.is_some());
        drop(closing);
        assert!(said.next().await.is_none());
    }

    #[tokio::test]
    async fn too_much_is_told_and_room_is_waited_for() {
        let end = Resumable::new(BOUNDS);
        let mut link = end.open(false);
        end.acknowledge(0).unwrap();
        end.push('a', 1);
        end.push('b', 1);
        assert!(link.next().await.is_some() && link.next().await.is_some());
        let taking = async {
            tokio::task::yield_now().await;
            end.acknowledge(1).unwrap();
        };
        tokio::join!(end.room(), taking);
        end.push('c', 1);
        end.push('d', 1);
        assert_eq!(end.overflowed().await, Full { count: 2, bytes: 2 });
    }

    #[tokio::test(start_paused = true)]
    async fn much_that_came_is_acknowledged_and_who_takes_nothing_is_stuck() {
        let end = Resumable::new(BOUNDS);
        let mut link = end.open(false);
        end.acknowledge(0).unwrap();
        for number in 1..=ACKNOWLEDGED_AFTER {
            assert!(end.is_new(number).unwrap());
            end.took(number, 1);
        }
        let word = link.next().await.unwrap();
        assert_eq!((word.taken, word.what), (ACKNOWLEDGED_AFTER, None));
        end.push('a', 1);
        assert!(link.next().await.is_some());
        tokio::time::sleep(Duration::from_secs(15)).await;
        assert!(end.stuck_for() >= Duration::from_secs(15));
        end.acknowledge(1).unwrap();
        assert_eq!(end.stuck_for(), Duration::ZERO);
    }
}
