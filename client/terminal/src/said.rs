//! Standard error, on its way out: a queue, and the thread that waits for whoever reads it.
//!
//! A reader that stands still holds up nobody but that thread. Where the queue is full the oldest of it is left out, and
//! how much that was is said in its place: what a command says last is why it fails.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::write_whole::write_whole;

/// What waits for a reader at the most, bytes.
const QUEUE: usize = 4 * 1024 * 1024;

static STDERR: Outgoing = Outgoing::new();

/// Something in the queue.
enum Item {
    Bytes(Vec<u8>),
    /// So many writes are not there.
    LeftOut(usize),
    /// Everything before it is written.
    Mark(oneshot::Sender<()>),
}

struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    /// A thread takes what is put here; otherwise whoever has something writes it.
    has_thread: bool,
    /// The thread has taken something that is not written yet.
    is_writing: bool,
}

struct Outgoing {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// From here on a thread writes to standard error. Where there is none to be had, everybody goes on to write himself.
pub fn begin() {
    let mut queue = STDERR.lock();
    if queue.has_thread {
        return;
    }
    let writer = thread::Builder::new().name("standard error".into());
    let writer =
        writer.spawn(|| STDERR.pass_on(&mut |bytes| write_whole(&mut io::stderr(), bytes)));
    queue.has_thread = writer.is_ok();
}

/// Writes bytes of a program as they are.
pub fn write_stderr(bytes: impl Into<Vec<u8>>) {
    STDERR.put(bytes.into());
}

/// Until everything that was said so far is written.
pub async fn flushed() {
    let Some(written) = STDERR.mark() else {
        return;
    };
    let _written = written.await.is_ok();
}

/// The same, for a moment, where a terminal is about to show something else.
pub fn said_so_far() {
    /// A terminal that stands still longer shows nothing else either.
    const MOMENT: Duration = Duration::from_secs(1);
    STDERR.wait(MOMENT);
}

impl Queue {
    /// `false`: nothing waits.
    fn leave_out_oldest(&mut self) -> bool {
        let is_bytes = |item: &Item| matches!(item, Item::Bytes(_));
        let Some(oldest) = self.items.iter().position(is_bytes) else {
            return false;
        };
        if let Some(Item::Bytes(bytes)) = self.items.remove(oldest) {
            self.bytes -= bytes.len();
        }
        let before = oldest.checked_sub(1);
        match before.and_then(|before| self.items.get_mut(before)) {
            Some(Item::LeftOut(count)) => *count += 1,
            _ => self.items.insert(oldest, Item::LeftOut(1)),
        }
        true
    }
}

impl Outgoing {
    const fn new() -> Self {
        let queue = Queue {
            items: VecDeque::new(),
            bytes: 0,
            has_thread: false,
            is_writing: false,
        };
        Self {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, bytes: Vec<u8>) {
        let mut queue = self.lock();
        if !queue.has_thread {
            drop(queue);
            // Nobody may be left to read it, which is no reason to stop.
            let _heard = write_whole(&mut io::stderr(), &bytes).is_ok();
            return;
        }
        // One that is longer than all the room has it alone.
        while queue.bytes.saturating_add(bytes.len()) > QUEUE && queue.leave_out_oldest() {}
        queue.bytes += bytes.len();
        queue.items.push_back(Item::Bytes(bytes));
        self.changed.notify_all();
    }

    /// Learns when all that is there now is written; `None`: it is.
    fn mark(&self) -> Option<oneshot::Receiver<()>> {
        let mut queue = self.lock();
        if !queue.has_thread || (queue.items.is_empty() && !queue.is_writing) {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        queue.items.push_back(Item::Mark(sender));
        self.changed.notify_all();
        Some(receiver)
    }

    fn wait(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut queue = self.lock();
        while queue.has_thread && (!queue.items.is_empty() || queue.is_writing) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(queue, left);
            (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The thread: as long as the process lasts.
    fn pass_on(&self, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) {
        loop {
            let mut queue = self.lock();
            queue.is_writing = false;
            self.changed.notify_all();
            let item = loop {
                match queue.items.pop_front() {
                    Some(item) => break item,
                    None => {
                        let waited = self.changed.wait(queue);
                        queue = waited.unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            queue.is_writing = true;
            if let Item::Bytes(bytes) = &item {
                queue.bytes -= bytes.len();
            }
            drop(queue);
            // Nobody may be left to read it, which is no reason to stop.
            let _heard = match item {
                Item::Bytes(bytes) => write(&bytes).is_ok(),
                Item::LeftOut(count) => write(&left_out(count)).is_ok(),
                Item::Mark(awaited) => awaited.send(()).is_ok(),
            };
        }
    }
}

fn left_out(count: usize) -> Vec<u8> {
    let what = match count {
        1 => "1 message is left out here".to_owned(),
        more => format!("{more} messages are left out here"),
    };
    format!("[gerbil: {what}: whoever reads standard error did not keep up]\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// A queue with its thread, whose writes wait for a word each.
    fn held() -> (
        &'static Outgoing,
        std::sync::mpsc::SyncSender<()>,
        std::sync::mpsc::Receiver<Vec<u8>>,
    ) {
        let outgoing: &'static Outgoing = Box::leak(Box::new(Outgoing::new()));
        outgoing.lock().has_thread = true;
        let (let_go, holds) = sync_channel(0);
        let (writes, written) = sync_channel(64);
        thread::spawn(move || {
            outgoing.pass_on(&mut |bytes| {
                writes.send(bytes.to_vec()).unwrap();
                holds
                    .recv()
                    .map_err(|_gone| io::ErrorKind::BrokenPipe.into())
            });
        });
        (outgoing, let_go, written)
    }

    #[test]
    fn nobody_waits_for_a_reader_and_what_is_left_out_is_said() {
        let (outgoing, let_go, written) = held();
        outgoing.put(b"first\n".to_vec());
        assert_eq!(written.recv().unwrap(), b"first\n");
        // The thread stands still with it, and nobody else.
        for _ in 0..3 {
            outgoing.put(b"too much\n".to_vec());
        }
        let mut early = outgoing.mark().unwrap();
        let half = vec![b'x'; QUEUE / 2];
        outgoing.put(half.clone());
        outgoing.put(half[1..].to_vec());
        outgoing.put(b"!".to_vec());
        // More than there is room for: what is said last is not lost.
        outgoing.put(b"why it fails\n".to_vec());
        let mut all = outgoing.mark().unwrap();
        outgoing.wait(Duration::from_millis(1));
        assert!(all.try_recv().is_err());
        let_go.send(()).unwrap();
        let next = || {
            let said = String::from_utf8(written.recv().unwrap()).unwrap();
            let_go.send(()).unwrap();
            said
        };
        assert!(next().contains("3 messages are left out"));
        assert!(next().contains("1 message is left out"));
        early.try_recv().unwrap();
        assert_eq!(next().len(), QUEUE / 2 - 1);
        assert_eq!((next().as_str(), next().as_str()), ("!", "why it fails\n"));
        all.blocking_recv().unwrap();
        outgoing.wait(Duration::from_secs(60));
        assert!(outgoing.mark().is_none());
    }

    #[test]
    fn a_reader_that_has_left_stops_nobody() {
        let (outgoing, let_go, written) = held();
        drop(let_go);
        outgoing.put(b"one\n".to_vec());
        outgoing.put(b"two\n".to_vec());
        if let Some(all) = outgoing.mark() {
            all.blocking_recv().unwrap();
        }
        assert_eq!(written.try_iter().count(), 2);
    }
}
