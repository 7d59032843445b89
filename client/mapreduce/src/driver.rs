//! The program in its role `drive`, and the thread that owns it.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use gerbil_task::{FrameError, FromDriver, ToDriver};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::error::MapReduceError;
use crate::process::{HELLO, RoleGroup, RoleProcess, no_hello};

/// How often a silent driver is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// For a driver that was told to leave.
const LEAVE: Duration = Duration::from_secs(5);
/// For its thread to end it.
const END: Duration = Duration::from_secs(10);

/// What is heard of a driver.
#[derive(Debug)]
pub enum DriverMessage {
    /// It says something, which wants an answer.
    Said(FromDriver),
    /// It ended before its hello, having said to people why, or what they had asked for.
    Declined(ExitStatus),
    /// It has ended without a last word.
    Gone(Option<ExitStatus>),
    /// It cannot be understood.
    Broken(MapReduceError),
}

/// What it is answered, and the file that comes along.
#[derive(Debug)]
pub struct DriverReply {
    /// The message.
    pub message: ToDriver,
    /// The file.
    pub file: Option<OwnedFd>,
}

impl From<ToDriver> for DriverReply {
    fn from(message: ToDriver) -> Self {
        Self {
            message,
            file: None,
        }
    }
}

/// A driver that runs. Dropping it ends it.
#[derive(Debug)]
pub struct Driver {
    heard: mpsc::Receiver<DriverMessage>,
    answers: Option<SyncSender<DriverReply>>,
    is_over: Arc<AtomicBool>,
    ended: oneshot::Receiver<()>,
    group: RoleGroup,
}

impl Driver {
    /// Starts it with the user's `words`; its output and its complaints are this command's.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(program: PathBuf, words: Vec<OsString>) -> Result<Self, MapReduceError> {
        let (tell, heard) = mpsc::channel(1);
        let (answers, answered) = sync_channel(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let (end, ended) = oneshot::channel::<()>();
        let thread = Thread {
            program,
            tell,
            answered,
            is_over: Arc::clone(&is_over),
            group: RoleGroup::default(),
        };
        let group = thread.group.clone();
        let spawned = std::thread::Builder::new()
            .name("driver".into())
            .spawn(move || {
                thread.run(&words);
                // The process is gone now.
                drop(end);
            });
        spawned.map_err(|source| MapReduceError::System {
            doing: "start a thread",
            source,
        })?;
        Ok(Self {
            heard,
            answers: Some(answers),
            is_over,
            ended,
            group,
        })
    }

    /// What it says next; `None` behind its end.
    pub async fn hear(&mut self) -> Option<DriverMessage> {
        self.heard.recv().await
    }

    /// Answers what it has said.
    pub fn answer(&self, answer: DriverReply) {
        if let Some(answers) = &self.answers {
            // There is one answer at a time, and a driver that has left needs none.
            let _taken = answers.try_send(answer).is_ok();
        }
    }

    /// Ends it, unless it has ended.
    pub async fn end(mut self) {
        self.answers = None;
        self.is_over.store(true, Ordering::Relaxed);
        let _late = timeout(END, &mut self.ended).await.is_err();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The thread may not look once more before this command is over.
        self.group.abandon();
    }
}

struct Thread {
    program: PathBuf,
    tell: mpsc::Sender<DriverMessage>,
    answered: Receiver<DriverReply>,
    is_over: Arc<AtomicBool>,
    group: RoleGroup,
}

/// Nobody is interested any more.
struct Abandoned;

impl Thread {
    fn run(&self, words: &[OsString]) {
        let out = Stdio::inherit();
        let started = RoleProcess::start(&self.program, "drive", words, out, &self.group);
        let mut process = match started {
            Ok(process) => process,
            Err(error) => return self.last(DriverMessage::Broken(error)),
        };
        let _over = self.converse(&mut process).is_err();
    }

    /// A word behind which there is none.
    fn last(&self, heard: DriverMessage) {
        let _heard = self.tell.blocking_send(heard).is_ok();
    }

    fn converse(&self, process: &mut RoleProcess) -> Result<(), Abandoned> {
        let mut by = Some(Instant::now() + HELLO);
        if let Err(source) = process.connection.set_deadline(Some(LOOK)) {
            self.last(DriverMessage::Broken(MapReduceError::System {
                doing: "use a socket",
                source,
            }));
            return Err(Abandoned);
        }
        loop {
            let said = self.hear(process, by)?;
            by = None;
            let leaves = matches!(said, FromDriver::Failed { .. });
            let told = self.tell.blocking_send(DriverMessage::Said(said));
            told.map_err(|_nobody| Abandoned)?;
            if leaves {
                process.ended(LEAVE);
                return Ok(());
            }
            let answer = self.await_answer(process)?;
            if self.say(process, answer)? {
                process.ended(LEAVE);
                return Ok(());
            }
        }
    }

    /// The next message. It may think as long as it likes, but not beyond its own end, nor before its hello.
    fn hear(
        &self,
        process: &mut RoleProcess,
        by: Option<Instant>,
    ) -> Result<FromDriver, Abandoned> {
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return Err(Abandoned);
            }
            let gone = match process.connection.receive() {
                Ok(message) => return Ok(message),
                Err(FrameError::Silent) if by.is_some_and(|by| Instant::now() > by) => {
                    let error = no_hello(&self.program, &FrameError::Silent);
                    self.last(DriverMessage::Broken(error));
                    return Err(Abandoned);
                }
                Err(FrameError::Silent) => match process.has_ended() {
                    // It may have said something before.
                    Some(status) => match process.connection.receive() {
                        Ok(message) => return Ok(message),
                        Err(_nothing) => Some(status),
                    },
                    None => continue,
                },
                Err(FrameError::Closed) => process.ended(LEAVE),
                Err(error) => {
                    let why = format!("cannot be understood as a driver: {error}");
                    self.last(DriverMessage::Broken(MapReduceError::NoJob {
                        program: self.program.clone(),
                        why,
                    }));
                    return Err(Abandoned);
                }
            };
            self.last(match gone {
                Some(status) if by.is_some() => DriverMessage::Declined(status),
                gone => DriverMessage::Gone(gone),
            });
            return Err(Abandoned);
        }
    }

    /// The answer to what it has said, while it lives.
    fn await_answer(&self, process: &mut RoleProcess) -> Result<DriverReply, Abandoned> {
        loop {
            match self.answered.recv_timeout(LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(Abandoned),
                Err(RecvTimeoutError::Timeout) => {
                    if self.is_over.load(Ordering::Relaxed) {
                        return Err(Abandoned);
                    }
                    if let Some(status) = process.has_ended() {
                        self.last(DriverMessage::Gone(Some(status)));
                        return Err(Abandoned);
                    }
                }
            }
        }
    }

    /// Says it; whether it was the last word.
    fn say(&self, process: &mut RoleProcess, answer: DriverReply) -> Result<bool, Abandoned> {
        let is_last = matches!(answer.message, ToDriver::Leave);
        let files: Vec<_> = answer.file.iter().map(OwnedFd::as_fd).collect();
        let said = match process.connection.send_with(&answer.message, &files) {
            Err(error @ FrameError::TooLong { .. }) => {
                process.connection.send(&ToDriver::Refused {
                    sentence: format!("the answer is too long: {error}"),
                })
            }
            other => other,
        };
        if said.is_err() {
            self.last(DriverMessage::Gone(process.ended(LEAVE)));
            return Err(Abandoned);
        }
        Ok(is_last)
    }
}
