//! What is kept of one job: what it has printed, and what was told of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use job::wire;
use job::wire::job_event::Event;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::detached::budget::Budget;
use crate::detached::parts::{OutputBounds, Position};
use crate::detached::said::{ReadPosition, Said};
use crate::detached::spool::{Behind, Spool};

/// A record beside what was printed, bytes at most.
const FRAME: u64 = 512;
/// For whoever watches a job to take its last.
const LAST: Duration = Duration::from_secs(5);
/// Streams to who watches one job: two each.
const STREAMS_MAX: usize = 128;

/// Whose the standard input of rank 0 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputSender {
    /// It is empty.
    Empty,
    /// Of the next who gives some, as long as rank 0 has not been given all of it.
    Free,
    /// Of one who watches.
    Claimed,
}

/// One who watches may give the input, as long as this is held.
#[derive(Debug)]
pub(crate) struct InputClaim(Arc<DetachedJob>);

impl Drop for InputClaim {
    fn drop(&mut self) {
        self.0.release_input();
    }
}

/// One job, until it is forgotten.
#[derive(Debug)]
pub(crate) struct DetachedJob {
    /// As lists call it.
    pub(crate) name: String,
    spool: Mutex<Spool>,
    said: Mutex<Said>,
    input: Mutex<InputSender>,
    /// Something was added.
    changed: watch::Sender<()>,
    budget: Arc<Budget>,
}

impl DetachedJob {
    pub(super) fn new(
        name: &str,
        input: InputSender,
        folder: PathBuf,
        budget: Arc<Budget>,
    ) -> Self {
        let spool = Spool::new(folder, Arc::clone(&budget), OutputBounds::USUAL);
        Self {
            name: name.to_owned(),
            spool: Mutex::new(spool),
            said: Mutex::default(),
            input: Mutex::new(input),
            changed: watch::Sender::new(()),
            budget,
        }
    }

    /// Code and sentence of its verdict; `None`: there is none yet.
    pub(crate) fn ended(&self) -> Option<(i32, String)> {
        let said = lock(&self.said);
        let verdict = said.verdict()?;
        Some((verdict.exit_code, verdict.sentence.clone()))
    }

    /// Whether it is a MapReduce job, as far as has been said.
    pub(crate) fn has_tasks(&self) -> bool {
        lock(&self.said).has_tasks()
    }

    /// One who watches wants to give the job's input; `is_open`: rank 0 has not been given all of it.
    ///
    /// # Errors
    /// Why that is too late, or never was possible.
    pub(crate) fn claim_input(self: &Arc<Self>, is_open: bool) -> Result<InputClaim, &'static str> {
        if lock(&self.said).verdict().is_some() {
            return Err("it has ended, and reads no input any more");
        }
        let mut input = lock(&self.input);
        match *input {
            InputSender::Free if is_open => *input = InputSender::Claimed,
            InputSender::Empty => return Err(sentences::INPUT_WAS_EMPTY),
            InputSender::Free => return Err("somebody else has given its standard input"),
            InputSender::Claimed => return Err("somebody else gives its standard input"),
        }
        Ok(InputClaim(Arc::clone(self)))
    }

    /// Who has claimed the input gives no more of it.
    pub(crate) fn release_input(&self) {
        let mut input = lock(&self.input);
        if *input == InputSender::Claimed {
            *input = InputSender::Free;
        }
    }

    /// What it prints; of what there is no room for only the length. Blocks.
    pub(super) fn print(&self, chunks: &[wire::OutputChunk], make_room: impl Fn() -> bool) {
        for chunk in chunks {
            let length = u64::try_from(chunk.data.len()).unwrap_or(u64::MAX);
            while !self.budget.has(length.saturating_add(FRAME)) && make_room() {}
            lock(&self.spool).add(chunk);
        }
        self.change();
    }

    /// It has printed its last.
    pub(super) fn close(&self) {
        lock(&self.spool).close();
        self.change();
    }

    /// What is told of it.
    pub(crate) fn hear(&self, event: Event) {
        lock(&self.said).add(event);
        self.change();
    }

    /// Of what it has printed only the length is kept. Blocks.
    pub(super) fn clear(&self) {
        lock(&self.spool).clear();
    }

    /// Whether it has files.
    pub(super) fn takes_room(&self) -> bool {
        lock(&self.spool).takes_room()
    }

    /// What it has printed behind `place`. Blocks.
    pub(super) fn behind(&self, place: Position, rank: Option<u32>) -> std::io::Result<Behind> {
        lock(&self.spool).read(place, rank)
    }

    /// What was told of it since.
    pub(super) fn after(&self, heard: &mut ReadPosition) -> Vec<Event> {
        lock(&self.said).after(heard)
    }

    /// Somebody watches for as long as this is held; `None`: there are as many as there may be.
    pub(super) fn watch(&self) -> Option<watch::Receiver<()>> {
        let may = self.changed.receiver_count() < STREAMS_MAX;
        may.then(|| self.changed.subscribe())
    }

    /// Whether somebody watches.
    pub(crate) fn is_watched(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    /// Until whoever watches has heard all, or does not for a while.
    pub(super) async fn nobody_watches(&self) {
        let _left = timeout(LAST, self.changed.closed()).await.is_ok();
    }

    fn change(&self) {
        self.changed.send_replace(());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
