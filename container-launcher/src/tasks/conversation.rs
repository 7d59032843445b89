//! What is said with the process of a task, from its hello to the end of the task.
//!
//! On a thread of its own: the protocol hands descriptors over, and a task that says nothing for hours
//! holds up nobody. It ends with the process: once that is gone, the socket is not listened to for long,
//! because a process that it left behind may hold it open. A task that has ended well is over when what it has
//! written is committed; its process leaves meanwhile.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gerbil_task::said::NAME_MAX;
use gerbil_task::{
    Connection, FrameError, FromTask, OutputOf, Page, Phase, ReduceOrder, TaskPhase, ToTask,
    VERSION, Welcome, check_index, count_phases, count_written, records_digest, said,
};
use job::JobId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Said;
use super::carrier::Carrier;
use super::input::{self, Input};
use super::log::Printed;
use super::output::{self, Files};
use super::places::TaskPath;
use super::sources::{Origin, Sources};
use super::trouble::Trouble;
use crate::shuffle::{MapOutput, MapOutputs, Missing, Waiting};

/// Between two looks whether the process is gone.
const LOOK: Duration = Duration::from_millis(100);
/// A process says hello within this.
const HELLO: Duration = Duration::from_secs(30);
/// Most of what the user's code says of itself that is told on, characters.
const STATUS_MAX: usize = 200;
/// So long what a process printed last is waited for when it has ended.
const PRINTED: Duration = Duration::from_millis(300);

/// Everything that it needs.
pub(super) struct Conversation {
    /// Of the process.
    pub(super) number: u32,
    pub(super) connection: Connection,
    /// Digest of the plan that the process must have.
    pub(super) plan: String,
    pub(super) welcome: Welcome,
    /// A map or a reduce.
    pub(super) task: Arc<ToTask>,
    /// The page on which the process notes what it works on, and its place there.
    pub(super) blame: Arc<OwnedFd>,
    pub(super) page: Page,
    /// The folder for spills.
    pub(super) scratch: Arc<File>,
    /// Of the pieces of a map.
    pub(super) inputs: Vec<TaskPath>,
    pub(super) files: Files,
    pub(super) job: JobId,
    /// What maps leave for reduces.
    pub(super) kept: MapOutputs,
    /// Of a reduce.
    pub(super) sources: Sources,
    /// What these are read from, once all is here.
    pub(super) gathered: Vec<Origin>,
    /// Bytes of it that were here before the reduce began.
    pub(super) gathered_ahead: u64,
    /// How long it took until all that a reduce reads was here.
    pub(super) shuffled: Duration,
    pub(super) carrier: Carrier,
    pub(super) trouble: Trouble,
    /// What the user's code last said of itself.
    pub(super) status: Arc<Mutex<String>>,
    /// What it printed on standard error.
    pub(super) printed: Printed,
    /// Cancelled when the process has ended.
    pub(super) gone: CancellationToken,
    pub(super) said_by: mpsc::Sender<(u32, Said)>,
}

/// How a task ended well.
#[derive(Debug)]
pub(crate) struct Done {
    /// What it said last.
    pub(crate) said: FromTask,
    pub(crate) files: output::OutputWritten,
    /// What a map has left for reduces.
    pub(crate) left: Option<Left>,
    /// Bytes that a reduce has read and that were gathered when it began.
    pub(crate) gathered_ahead: u64,
}

/// What is known elsewhere of what a map has left here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// Of its records.
    pub(crate) digest: u128,
    pub(crate) bytes: u64,
}

/// How it ended otherwise.
#[derive(Debug)]
pub(crate) enum TaskFailure {
    /// It said so.
    Said {
        /// In these words.
        sentence: String,
        /// What it found no device of, as needs are named; empty: a GPU. None: that is not why.
        missing: Option<String>,
        /// Its device has too little memory for what it put there.
        no_room: bool,
    },
    /// Something is wrong with it, a sentence.
    Sentence(String),
    /// What it was to read is not to be had.
    Unread {
        sentence: String,
        /// Whose outputs; none: that is no fault of theirs.
        maps: Vec<u32>,
    },
    /// Its process ended, before it said hello or in the middle of the task.
    Died { greeted: bool },
}

/// Something is wrong with what a map has left.
fn of_output(error: impl std::error::Error) -> TaskFailure {
    TaskFailure::Sentence(error.to_string())
}

impl From<FrameError> for TaskFailure {
    fn from(error: FrameError) -> Self {
        Self::Sentence(error.to_string())
    }
}

impl Conversation {
    /// Speaks until the task has ended, and says how.
    pub(super) fn run(mut self) {
        let last = match self.welcome().and_then(|()| self.attend()) {
            Ok(said) => self.finish(said),
            Err(failure) => Err(self.explained(failure)),
        };
        // Whose socket is closed ends too.
        drop(self.connection);
        // A launcher that leaves does not listen any more.
        self.said_by
            .blocking_send((self.number, Said::Last(last)))
            .ok();
    }

    fn welcome(&mut self) -> Result<(), TaskFailure> {
        let wait = self.connection.set_deadline(Some(LOOK));
        wait.map_err(|error| TaskFailure::Sentence(error.to_string()))?;
        let (version, plan) = match self.hear(Some(Instant::now() + HELLO))? {
            FromTask::Hello { version, plan } => (version, plan),
            other => {
                return Err(TaskFailure::Sentence(format!(
                    "it said {} before hello",
                    said::message(&other)
                )));
            }
        };
        let refusal = if version != VERSION {
            format!("it speaks version {version} of the task protocol, and this launcher {VERSION}")
        } else if plan != self.plan {
            "it registers other jobs here than where it was submitted: registration must not depend on \
             files, time or environment"
                .to_owned()
        } else {
            let given = [self.blame.as_fd(), self.scratch.as_fd()];
            let welcome = ToTask::Welcome(self.welcome.clone());
            return Ok(self.connection.send_with(&welcome, &given)?);
        };
        let sentence = refusal.clone();
        self.connection.send(&ToTask::Refused { sentence }).ok();
        Err(TaskFailure::Sentence(refusal))
    }

    /// Hands over the task, and serves the process until it says that it has ended well.
    fn attend(&mut self) -> Result<FromTask, TaskFailure> {
        match &*Arc::clone(&self.task) {
            ToTask::Reduce(order) => self.gather(order)?,
            other => self.connection.send(other)?,
        }
        loop {
            let opened = match self.hear(None)? {
                FromTask::OpenInput { piece, from } => self.input(piece, from),
                FromTask::OpenSource { source } => Some(self.source(source).map(Input::File)),
                FromTask::OpenOutput { name } => self.output(name),
                FromTask::Status { text } => {
                    self.note(&text);
                    continue;
                }
                said @ FromTask::MapDone { .. } if matches!(*self.task, ToTask::Map(_)) => {
                    return Ok(said);
                }
                said @ FromTask::ReduceDone { .. } if matches!(*self.task, ToTask::Reduce(_)) => {
                    return Ok(said);
                }
                FromTask::Failed {
                    sentence,
                    no_device,
                    device,
                    no_room,
                } => {
                    return Err(TaskFailure::Said {
                        sentence: said::sentence(&sentence),
                        missing: no_device.then(|| said::cut(&device, NAME_MAX)),
                        no_room,
                    });
                }
                other => {
                    let other = said::message(&other);
                    let sentence = format!("it said {other} in the middle of a task");
                    return Err(TaskFailure::Sentence(sentence));
                }
            };
            match opened {
                Some(Ok(Input::File(file))) => {
                    self.connection.send_with(&ToTask::Opened, &[file.as_fd()])
                }
                Some(Ok(Input::Pipe(pipe))) => {
                    (self.connection).send_with(&ToTask::Streamed, &[pipe.as_fd()])
                }
                Some(Err(sentence)) => self.connection.send(&ToTask::Refused { sentence }),
                None => return Err(TaskFailure::Died { greeted: true }),
            }?;
        }
    }

    /// Hands over a reduce as soon as everything that it reads is here.
    fn gather(&mut self, order: &ReduceOrder) -> Result<(), TaskFailure> {
        let is_over = || self.gone.is_cancelled() || self.carrier.is_ended();
        let waiting = Waiting {
            is_over: &is_over,
            // The process waits, and what comes is its sign of life.
            gets_on: &|| self.page.alive(),
        };
        self.page.phase(Phase::Fetch);
        let began = Instant::now();
        let gathered = self.sources.gather(order, waiting);
        self.shuffled = began.elapsed();
        self.page.phase(Phase::Setup);
        if is_over() {
            return Err(TaskFailure::Died { greeted: true });
        }
        let gathered = gathered
            .map_err(|Missing { sentence, maps }| TaskFailure::Unread { sentence, maps })?;
        self.gathered = gathered.from;
        self.gathered_ahead = gathered.ahead;
        Ok(self.connection.send(&ToTask::Reduce(gathered.order))?)
    }

    /// The task has ended well, if what it has written arrives.
    fn finish(&mut self, mut said: FromTask) -> Result<Done, TaskFailure> {
        let output = match (&*self.task, &mut said) {
            (ToTask::Map(map), FromTask::MapDone { partitions, .. }) if map.partitions > 0 => {
                let file = File::from(self.connection.descriptor()?);
                let about = file.metadata().map_err(of_output)?;
                check_index(partitions, map.partitions, &about).map_err(of_output)?;
                let output = MapOutput {
                    file,
                    // Whoever reads a part of it is told by this launcher where that is.
                    partitions: std::mem::take(partitions),
                };
                Some((map.task, output))
            }
            _ => None,
        };
        // The process leaves meanwhile; one that is gone already is not told.
        self.connection.send(&ToTask::Leave).ok();
        if let FromTask::ReduceDone { counters } = &mut said {
            count_phases(counters, &[(TaskPhase::Shuffle, self.shuffled)]);
        }
        self.said_by
            .blocking_send((self.number, Said::Finishing))
            .ok();
        let files = match self.files.finish(&mut self.carrier) {
            Some(files) => files.map_err(TaskFailure::Sentence)?,
            None => return Err(TaskFailure::Died { greeted: true }),
        };
        if let (true, FromTask::MapDone { counters, .. } | FromTask::ReduceDone { counters }) =
            (files.is_whole, &mut said)
        {
            count_written(counters, files.bytes);
        }
        let left = output.map(|(map, output)| {
            let left = Left {
                digest: records_digest(&output.partitions),
                bytes: output.partitions.iter().map(|part| part.length).sum(),
            };
            self.kept.keep(self.job, map, output);
            left
        });
        Ok(Done {
            said,
            files,
            left,
            gathered_ahead: self.gathered_ahead,
        })
    }

    /// What the user's code says of itself, for people.
    fn note(&self, text: &str) {
        let line = text.lines().next().unwrap_or_default();
        let line: String = line.chars().take(STATUS_MAX).collect();
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        *status = said::sentence(&line);
    }

    /// The next message, within the deadline if there is one, and while the process lives.
    fn hear(&mut self, by: Option<Instant>) -> Result<FromTask, TaskFailure> {
        let died = TaskFailure::Died {
            greeted: by.is_none(),
        };
        loop {
            let is_over = self.gone.is_cancelled() || self.carrier.is_ended();
            match self.connection.receive() {
                Ok(message) => return Ok(message),
                Err(FrameError::Silent) if is_over => return Err(died),
                Err(FrameError::Silent) if by.is_some_and(|by| Instant::now() > by) => {
                    return Err(TaskFailure::Sentence(format!(
                        "it said nothing for {} s: is `main()` of the job the first statement of main?",
                        HELLO.as_secs()
                    )));
                }
                Err(FrameError::Silent) => {}
                Err(FrameError::Closed) => return Err(died),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What it came to in truth: a task whose pipe ended early does not know why.
    fn explained(&mut self, failure: TaskFailure) -> TaskFailure {
        if let Some(trouble) = self.trouble.told() {
            return TaskFailure::Sentence(trouble.to_owned());
        }
        if matches!(failure, TaskFailure::Died { .. }) {
            let printed = self.printed.clone();
            let all = async move {
                // What is there by then is what is told.
                drop(tokio::time::timeout(PRINTED, printed.all()).await);
            };
            // Nobody may wait for it any more.
            let _waited = self.carrier.wait(None, all).is_some();
        }
        failure
    }

    fn input(&mut self, piece: u32, from: u64) -> Option<Result<Input, String>> {
        let ToTask::Map(map) = &*self.task else {
            return Some(Err("a reduce has no input files".to_owned()));
        };
        let index = usize::try_from(piece).unwrap_or(usize::MAX);
        let (Some(piece), Some(place)) = (map.pieces.get(index), self.inputs.get(index)) else {
            return Some(Err(format!("piece {piece} of the split is no file")));
        };
        let (gone, trouble) = (&self.gone, &self.trouble);
        input::open(place, (piece, from), &mut self.carrier, gone, trouble)
    }

    fn output(&mut self, name: String) -> Option<Result<Input, String>> {
        let of: OutputOf = match &*self.task {
            ToTask::Map(order) => order.into(),
            ToTask::Reduce(order) => order.into(),
            _ => return Some(Err(format!("{name}: this is no map and no reduce"))),
        };
        if let Err(sentence) = of.check(&name) {
            return Some(Err(sentence));
        }
        let opened = (self.files).open(name, &mut self.carrier, &self.gone, &self.trouble);
        opened.map(|opened| opened.map(Input::File))
    }

    fn source(&self, source: u32) -> Result<OwnedFd, String> {
        let index = usize::try_from(source).unwrap_or(usize::MAX);
        let from = self.gathered.get(index).ok_or("a source that is none")?;
        let file = from.file().try_clone().map_err(|error| error.to_string())?;
        Ok(file.into())
    }
}
