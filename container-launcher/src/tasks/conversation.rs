//! What is said with the process of a task, from its hello to the end of the task.
//!
//! On a thread of its own: the protocol hands descriptors over, and a task that says nothing for hours
//! holds up nobody. It ends with the process: once that is gone, the socket is not listened to for long,
//! because a process that it left behind may hold it open.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use gerbil_task::{Connection, FrameError, FromTask, ToTask, VERSION, Welcome};
use tokio_util::sync::CancellationToken;

use super::{Outputs, Said};
use crate::regular;

/// Between two looks whether the process is gone.
const LOOK: Duration = Duration::from_millis(100);
/// A process says hello within this.
const HELLO: Duration = Duration::from_secs(30);

/// Everything that it needs.
pub(super) struct Conversation {
    pub(super) connection: Connection,
    /// Digest of the plan that the process must have.
    pub(super) plan: String,
    pub(super) welcome: Welcome,
    /// A map or a reduce.
    pub(super) task: ToTask,
    /// The page on which the process notes what it works on.
    pub(super) blame: Arc<OwnedFd>,
    /// The folder for spills.
    pub(super) scratch: Arc<File>,
    /// Where relative names of pieces begin.
    pub(super) inputs: PathBuf,
    /// The folder that output goes to.
    pub(super) output: PathBuf,
    pub(super) outputs: Outputs,
    /// Cancelled when the process has ended.
    pub(super) gone: CancellationToken,
}

impl Conversation {
    /// Speaks until the task has ended; what the process said of it last.
    pub(super) fn run(mut self) -> Said {
        let welcomed = self.welcome();
        let said = welcomed.and_then(|()| self.attend());
        // It ends by itself now; one whose socket is closed ends too.
        self.connection.send(&ToTask::Leave).ok();
        said
    }

    fn welcome(&mut self) -> Result<(), String> {
        let wait = self.connection.set_deadline(Some(LOOK));
        wait.map_err(|error| error.to_string())?;
        let (version, plan) = match self.hear(Some(Instant::now() + HELLO))? {
            FromTask::Hello { version, plan } => (version, plan),
            other => return Err(format!("it said {other:?} before hello")),
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
            let sent = self.connection.send_with(&welcome, &given);
            return sent.map_err(|error| error.to_string());
        };
        let sentence = refusal.clone();
        self.connection.send(&ToTask::Refused { sentence }).ok();
        Err(refusal)
    }

    /// Hands over the task, and serves the process until it has ended.
    fn attend(&mut self) -> Said {
        let broken = |error: FrameError| error.to_string();
        self.connection.send(&self.task).map_err(broken)?;
        loop {
            let opened = match self.hear(None)? {
                FromTask::OpenInput { piece, .. } => self.input(piece),
                FromTask::OpenSource { source } => self.source(source),
                FromTask::OpenOutput { name } => self.output(&name),
                // Nobody is there who would be told yet.
                FromTask::Status { .. } => continue,
                FromTask::MapDone {
                    counters,
                    partitions,
                } => {
                    let ToTask::Map(map) = &self.task else {
                        return Err("a reduce ended as a map".to_owned());
                    };
                    if map.partitions > 0 {
                        let output = self.connection.descriptor().map_err(broken)?;
                        let outputs = self.outputs.lock();
                        let mut outputs = outputs.unwrap_or_else(PoisonError::into_inner);
                        outputs.insert(map.task, output);
                    }
                    return Ok(FromTask::MapDone {
                        counters,
                        partitions,
                    });
                }
                said @ FromTask::ReduceDone { .. } if matches!(self.task, ToTask::Reduce(_)) => {
                    return Ok(said);
                }
                said @ FromTask::Failed { .. } => return Ok(said),
                other => return Err(format!("it said {other:?} in the middle of a task")),
            };
            let answered = match opened {
                Ok(file) => self.connection.send_with(&ToTask::Opened, &[file.as_fd()]),
                Err(sentence) => self.connection.send(&ToTask::Refused { sentence }),
            };
            answered.map_err(broken)?;
        }
    }

    /// The next message, within the deadline if there is one, and while the process lives.
    fn hear(&mut self, by: Option<Instant>) -> Said {
        loop {
            let is_gone = self.gone.is_cancelled();
            match self.connection.receive() {
                Ok(message) => return Ok(message),
                Err(FrameError::Silent) if is_gone => return Err(self.ended(by)),
                Err(FrameError::Silent) if by.is_some_and(|by| Instant::now() > by) => {
                    return Err(format!(
                        "it said nothing for {} s: is `main()` of the job the first statement of main?",
                        HELLO.as_secs()
                    ));
                }
                Err(FrameError::Silent) => {}
                Err(FrameError::Closed) => return Err(self.ended(by)),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn ended(&self, by: Option<Instant>) -> String {
        match by {
            Some(_) => {
                "it ended before it said hello: is `main()` of the job the first statement of main?"
            }
            None => "it ended in the middle of the task",
        }
        .to_owned()
    }

    fn input(&self, piece: u32) -> Result<OwnedFd, String> {
        let ToTask::Map(map) = &self.task else {
            return Err("a reduce has no input files".to_owned());
        };
        let piece = usize::try_from(piece).ok();
        let piece = piece.and_then(|piece| map.pieces.get(piece));
        let piece = piece.ok_or("a piece that is none")?;
        let name = &piece.name;
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let file = regular::open_linked(&self.inputs.join(name)).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        match size == piece.size {
            true => Ok(file.into()),
            false => Err(format!(
                "{name} had {} bytes and has {size} now: it was changed while it was read",
                piece.size
            )),
        }
    }

    fn source(&self, source: u32) -> Result<OwnedFd, String> {
        let ToTask::Reduce(reduce) = &self.task else {
            return Err("a map has no sources".to_owned());
        };
        let source = usize::try_from(source).ok();
        let source = source.and_then(|source| reduce.sources.get(source));
        let source = source.ok_or("a source that is none")?;
        let outputs = self.outputs.lock();
        let outputs = outputs.unwrap_or_else(PoisonError::into_inner);
        let output = outputs.get(&source.map);
        let output =
            output.ok_or_else(|| format!("the output of map {} is not here", source.map))?;
        output.try_clone().map_err(|error| error.to_string())
    }

    fn output(&self, name: &str) -> Result<OwnedFd, String> {
        if name.is_empty() || name.contains('/') || name.starts_with('.') {
            return Err(format!("{name:?} is no name for a file of the output"));
        }
        let created = File::create_new(self.output.join(name));
        created
            .map(OwnedFd::from)
            .map_err(|error| format!("{name}: {error}"))
    }
}
