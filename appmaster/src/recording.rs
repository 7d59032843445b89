//! The record of what a session's policy is told and decides, on its way to a file.
//!
//! ```text
//! Slots ── pieces ─▶ Recording ── a queue that has a bound ─▶ a task ──▶ the file
//!                        ▲                                     │
//!                        └────────── why it ended ─────────────┘
//! ```
//!
//! The session never waits for the file. What the queue has no room for, and what the file does not take, ends the record,
//! and one sentence says so; the session goes on.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use std::future::pending;
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use job::RecordFile;
use policy::schedule::record::{RecordLine, What};
use policy::schedule::{Event, Nanos};
use storage::{CreateOptions, Readers, Storage, StorageError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

/// Pieces that wait for the file.
const QUEUE: usize = 4096;
/// Lines, and tasks that they tell of, that wait for the file: some 10 MB.
const ROOM: u32 = 1 << 16;
/// What is recorded is written when there are so many bytes of it,
const PIECE: usize = 64 << 10;
/// or after this time.
const SOON: Duration = Duration::from_secs(1);
/// The end of a session waits for the end of its record for no longer than this.
const CLOSES: Duration = Duration::from_secs(10);

/// Lines that belong together, and their room in the queue until they are written.
type Piece = (Vec<RecordLine>, OwnedSemaphorePermit);

/// The session's end of it.
#[derive(Debug)]
pub(crate) struct Recording {
    url: String,
    /// `None`: nothing more is recorded.
    pieces: Option<mpsc::Sender<Piece>>,
    room: Arc<Semaphore>,
    why: Arc<OnceLock<String>>,
    /// Closed when all is written; `None`: that is awaited already.
    written: Option<oneshot::Receiver<()>>,
}

impl Recording {
    /// A record in this file of a policy of this name, and what writes it.
    pub(crate) fn new(
        file: RecordFile,
        policy: String,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (pieces, taken) = mpsc::channel(QUEUE);
        let (ends, written) = oneshot::channel();
        let recording = Self {
            url: file.address.url(&file.path),
            pieces: Some(pieces),
            room: Arc::new(Semaphore::new(usize::try_from(ROOM).unwrap_or(usize::MAX))),
            why: Arc::new(OnceLock::new()),
            written: Some(written),
        };
        let why = Arc::clone(&recording.why);
        let writing = async move {
            if let Err(error) = write(&file, policy, taken).await {
                end(&why, &error.to_string());
            }
            drop(ends);
        };
        let writing = Box::pin(writing);
        (recording, writing)
    }

    /// These lines come next. `false`: nothing more is recorded.
    pub(crate) fn take(&mut self, lines: Vec<RecordLine>) -> bool {
        let Some(pieces) = &self.pieces else {
            return false;
        };
        if lines.is_empty() {
            return true;
        }
        let room = Arc::clone(&self.room).try_acquire_many_owned(weight(&lines).min(ROOM));
        let sent = room.map(|room| pieces.try_send((lines, room)));
        if matches!(sent, Ok(Ok(()))) {
            return true;
        }
        // What is in the queue is written all the same, unless the file takes nothing any more.
        if !matches!(sent, Ok(Err(mpsc::error::TrySendError::Closed(_)))) {
            let why = format!("{} takes less than what is decided", self.url);
            end(&self.why, &why);
        }
        self.pieces = None;
        false
    }

    /// Why it ended before its session; `None`: it has not.
    pub(crate) fn ended(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }

    /// Nothing more comes: what waits until all of it is in the file, or for long enough. `None`: it was called before.
    pub(crate) fn close(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.pieces = None;
        let written = self.written.take()?;
        let (why, url) = (Arc::clone(&self.why), self.url.clone());
        Some(async move {
            if timeout(CLOSES, written).await.is_err() {
                let late = format!("{url} was not closed within {} s", CLOSES.as_secs());
                end(&why, &late);
            }
        })
    }
}

/// What a piece counts in the queue.
fn weight(lines: &[RecordLine]) -> u32 {
    let tasks = lines.iter().map(|line| match &line.what {
        What::Told(Event::Runnable { tasks, .. }) | What::Event(Event::Runnable { tasks, .. }) => {
            tasks.len()
        }
        What::Told(_) | What::Event(_) | What::Policy(_) | What::Asked(()) | What::Decision(_) => 0,
    });
    let all = tasks.fold(lines.len(), usize::saturating_add);
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// Says once why the record ends.
fn end(why: &OnceLock<String>, what: &str) {
    let sentence = format!("its decisions are not recorded any more: {what}");
    if why.set(sentence.clone()).is_ok() {
        tracing::warn!("{sentence}");
    }
}

async fn write(
    file: &RecordFile,
    policy: String,
    mut pieces: mpsc::Receiver<Piece>,
) -> Result<(), StorageError> {
    let storage = Storage::open(&file.address)?;
    let options = CreateOptions {
        readers: Readers::ByMask,
        needs_folder: true,
        ..CreateOptions::default()
    };
    let mut writer = storage.create(&file.path, options).await?;
    let first = RecordLine {
        at: Nanos(0),
        what: What::Policy(policy),
    };
    let mut text = Vec::new();
    append(&mut text, &first);
    let mut due = None;
    loop {
        let next = tokio::select! {
            piece = pieces.recv() => Some(piece),
            () = until(due) => None,
        };
        match next {
            Some(Some((lines, _room))) => lines.iter().for_each(|line| append(&mut text, line)),
            Some(None) => break,
            None => {}
        }
        if text.len() >= PIECE || next_is_due(due) {
            writer.write(std::mem::take(&mut text).into()).await?;
            due = None;
        } else if due.is_none() {
            due = Some(Instant::now() + SOON);
        }
    }
    writer.write(text.into()).await?;
    writer.close().await.map(drop)
}

fn next_is_due(due: Option<Instant>) -> bool {
    due.is_some_and(|due| Instant::now() >= due)
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

fn append(text: &mut Vec<u8>, line: &RecordLine) {
    // Every line can be written as JSON, and memory takes it.
    if serde_json::to_writer(&mut *text, line).is_ok() {
        let _written = text.write_all(b"\n").is_ok();
    }
}

#[cfg(test)]
mod tests {
    use policy::schedule::{JobIx, Stage, Task};
    use storage::Address;
    use tokio::task::JoinSet;

    use super::*;

    fn file(folder: &tempfile::TempDir) -> RecordFile {
        RecordFile {
            address: Address::Shared,
            path: format!("{}/record", folder.path().display()),
        }
    }

    fn line(at: u64) -> RecordLine {
        RecordLine {
            at: Nanos(at),
            what: What::Event(Event::Wake),
        }
    }

    #[tokio::test]
    async fn all_lines_are_in_the_file_when_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut recording, writing) = Recording::new(file(&folder), "fifo+gang".into());
        let mut tasks = JoinSet::new();
        tasks.spawn(writing);
        for at in 1..=1000 {
            assert!(recording.take(vec![line(at)]));
            tokio::task::yield_now().await;
        }
        recording.close().unwrap().await;
        assert!(recording.close().is_none() && !recording.take(vec![line(2)]));
        tasks.join_next().await.unwrap().unwrap();
        assert_eq!(recording.ended(), None);
        let text = std::fs::read_to_string(folder.path().join("record")).unwrap();
        let all: Vec<RecordLine> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(matches!(&all[0].what, What::Policy(name) if name == "fifo+gang"));
        assert!(all.iter().map(|line| line.at.0).eq(0..=1000));
    }

    #[tokio::test]
    async fn what_the_file_does_not_take_ends_the_record_and_one_sentence_says_why() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("record"), "old").unwrap();
        let (mut recording, writing) = Recording::new(file(&folder), "fifo".into());
        writing.await;
        assert!(!recording.take(vec![line(1)]));
        let why = recording.ended().unwrap();
        assert!(why.contains("/record"), "{why}");
        // Nothing is left to wait for.
        recording.close().unwrap().await;
        let text = std::fs::read_to_string(folder.path().join("record")).unwrap();
        assert_eq!(text, "old");
    }

    #[tokio::test]
    async fn a_queue_that_is_full_ends_the_record_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let (mut recording, writing) = Recording::new(file(&folder), "fifo".into());
        // Nobody writes.
        let mut taken = 0;
        let of_many = |at| RecordLine {
            at: Nanos(at),
            what: What::Told(Event::Runnable {
                job: JobIx(0),
                stage: Stage::Map,
                tasks: vec![Task::default(); 1000],
            }),
        };
        while recording.take(vec![of_many(taken)]) {
            taken += 1;
        }
        assert!(taken > 10 && taken * 1000 <= u64::from(ROOM), "{taken}");
        let why = recording.ended().unwrap().to_owned();
        assert!(why.contains("takes less than"), "{why}");
        writing.await;
        recording.close().unwrap().await;
        assert_eq!(recording.ended(), Some(why.as_str()));
        let text = std::fs::read_to_string(folder.path().join("record")).unwrap();
        assert_eq!(u64::try_from(text.lines().count()).unwrap(), taken + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_hangs_is_awaited_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let (mut recording, _never_written) = Recording::new(file(&folder), "fifo".into());
        recording.close().unwrap().await;
        let why = recording.ended().unwrap();
        assert!(why.contains("was not closed within 10 s"), "{why}");
    }
}
