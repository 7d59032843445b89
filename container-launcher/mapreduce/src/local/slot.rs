//! A slot: one task process after the other, and what is said with it.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use gerbil_task::{
    Footprint, FrameError, FromTask, Page, Piece, ToTask, VERSION, Welcome, check_index,
    count_written, said,
};

use super::blame::AttemptFailure;
use super::commit::Committer;
use super::memory::Outputs;
use super::process::{LOOK, NotStarted, RoleProcess};
use super::progress::Progress;
use super::queue::{AfterFailure, AttemptFault, LocalTask, TaskQueue};
use super::{LocalJob, Stop};
use crate::error::{Context as _, Error, Result};
use crate::settings::{MEMORY, Settings, TIMEOUT};

/// All that a slot works with.
pub(super) struct Slot<'a> {
    /// Digest of the plan, which the process must have, too.
    pub(super) digest: &'a str,
    /// The words that choose the program out of its executable.
    pub(super) choice: &'a [OsString],
    pub(super) quiet: bool,
    pub(super) welcome: Welcome,
    pub(super) page: Page,
    pub(super) page_descriptor: &'a OwnedFd,
    /// What its tasks have on the disk.
    pub(super) footprint: Footprint,
    pub(super) scratch: &'a File,
    pub(super) queue: &'a TaskQueue,
    pub(super) committer: &'a Committer,
    pub(super) outputs: &'a Outputs,
    pub(super) timeout: Option<Duration>,
    pub(super) memory: Option<u64>,
}

/// What all slots share: the tasks, and where it goes what they leave.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) queue: &'a TaskQueue,
    pub(super) committer: &'a Committer,
    pub(super) outputs: &'a Outputs,
}

/// Works on all tasks of the queue, which read so many `bytes`, with `slots` processes, and shows progress;
/// ends before when `stop` says why. Returns how many bytes on the disk spills were at most, all at a time.
pub(super) fn work(
    order: &LocalJob<'_>,
    settings: &Settings,
    (slots, bytes): (usize, u64),
    stop: &Stop<'_>,
    ground: Ground<'_>,
) -> Result<u64> {
    let Ground {
        queue,
        committer,
        outputs,
    } = ground;
    let (page, footprint, page_descriptor) = Footprint::create()?;
    let scratch = scratch()?;
    let timeout: u64 = settings.parse(TIMEOUT)?;
    let memory: u64 = settings.parse(MEMORY)?;
    raise_descriptors();
    std::thread::scope(|scope| {
        for number in (0_u32..).take(slots) {
            let welcome = Welcome {
                version: VERSION,
                job: order.spec.planned.name.clone(),
                settings: settings.given().clone(),
                params: order.params.clone(),
                blame: number,
            };
            let slot = Slot {
                digest: &order.digest,
                choice: &order.choice,
                quiet: order.quiet,
                welcome,
                page: page.slot(number),
                page_descriptor: &page_descriptor,
                footprint: footprint.of(number),
                scratch: &scratch,
                queue,
                committer,
                outputs,
                timeout: (timeout > 0).then_some(Duration::from_millis(timeout)),
                memory: (memory > 0).then_some(memory << 20),
            };
            scope.spawn(move || slot.run());
        }
        let mut progress = Progress::new(order.quiet, bytes);
        while !queue.is_over() {
            if let Some(sentence) = stop() {
                queue.stop(&sentence);
            }
            progress.show(queue, &page, slots);
            queue.wait(LOOK);
        }
        progress.clear();
    });
    Ok(footprint.most())
}

/// The folder for spills.
pub(super) fn scratch() -> Result<File> {
    let folder = std::env::var_os("TMPDIR").unwrap_or_else(|| "/var/tmp".into());
    File::open(&folder).context(|| format!("the folder for spills {}", folder.display()))
}

/// Each map's output is a descriptor: as many as the kernel lets a process have.
pub(super) fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Refused or not: what is too little is said by whoever runs out.
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .ok();
}

/// The file of a piece, unless it has changed since it was cut.
pub(super) fn open(piece: &Piece) -> Result<File> {
    let file = File::open(&piece.name).context(|| piece.name.clone())?;
    let size = file.metadata().context(|| piece.name.clone())?.len();
    if size != piece.size {
        let words = gerbil_task::changed(&piece.name, piece.size, size);
        return Err(Error::new(words));
    }
    Ok(file)
}

impl Slot<'_> {
    fn run(&self) {
        let mut process = None;
        while let Some(work) = self.queue.take() {
            let mut ready = match process.take().map_or_else(|| self.start(), Ok) {
                Ok(ready) => ready,
                Err(NotStarted::Killed(sentence)) => {
                    self.queue.failed(work, &sentence, AttemptFault::default());
                    continue;
                }
                Err(NotStarted::Never(error)) => {
                    self.queue.stop(&error.to_string());
                    break;
                }
            };
            match self.attempt(&mut ready, &work) {
                Ok(()) => process = Some(ready),
                Err(failure) => {
                    ready.kill();
                    self.footprint.release();
                    self.committer.abort_task(&work.names().0);
                    let sentence = failure.sentence;
                    let note = match self.queue.failed(work, &sentence, failure.fault) {
                        AfterFailure::Counts => None,
                        AfterFailure::Uncounted => {
                            Some("it does not count: the task is tried again")
                        }
                        AfterFailure::Skips => Some("the task is tried again without that"),
                    };
                    if let Some(note) = note.filter(|_| !self.quiet) {
                        crate::say(&format!("{sentence}; {note}"));
                    }
                }
            }
        }
        if let Some(process) = process {
            process.leave();
        }
    }

    /// Gives one task to the process, and serves it to its end.
    fn attempt(&self, process: &mut RoleProcess, work: &LocalTask) -> Result<(), AttemptFailure> {
        let (attempt, task) = work.names();
        self.page.begin(0, 0);
        process.connection.send(&match work {
            LocalTask::Map(order) => ToTask::Map(order.clone()),
            LocalTask::Reduce(order) => ToTask::Reduce(order.clone()),
        })?;
        let mut seen = (self.page.read(), Instant::now());
        loop {
            let message = match process.connection.receive() {
                Ok(message) => message,
                Err(FrameError::Silent) => {
                    self.look(process, work, &mut seen)?;
                    continue;
                }
                Err(FrameError::Closed) => return Err(self.ended(process, work)),
                Err(error) => return Err(error.into()),
            };
            let answer = match message {
                FromTask::OpenInput { piece, .. } => self.input(work, piece),
                FromTask::OpenSource { source } => self.source(work, source),
                FromTask::OpenOutput { name } => self
                    .committer
                    .create(&attempt, work.output(), &name)
                    .map(OwnedFd::from),
                FromTask::Status { text } => {
                    if !self.quiet {
                        crate::say(&format!("{}: {}", work.title(), said::sentence(&text)));
                    }
                    continue;
                }
                FromTask::MapDone {
                    mut counters,
                    partitions,
                } => {
                    let LocalTask::Map(order) = work else {
                        return Err(Error::new("a reduce ended as a map").into());
                    };
                    self.queue.check(&counters).context(|| work.title())?;
                    let file = if order.partitions > 0 {
                        let file = File::from(process.connection.descriptor()?);
                        let about = file.metadata().context(|| "map output")?;
                        check_index(&partitions, order.partitions, &about)
                            .context(|| work.title())?;
                        Some(
                            self.outputs
                                .keep(file.into(), self.scratch, &self.footprint)?,
                        )
                    } else {
                        None
                    };
                    if let Some(bytes) = self.committer.commit_task(&attempt, &task)? {
                        count_written(&mut counters, bytes);
                    }
                    let note = self.queue.map_done(order, counters, partitions, file)?;
                    if let Some(note) = note {
                        crate::say(&note);
                    }
                    return Ok(());
                }
                FromTask::ReduceDone { mut counters } => {
                    self.queue.check(&counters).context(|| work.title())?;
                    if let Some(bytes) = self.committer.commit_task(&attempt, &task)? {
                        count_written(&mut counters, bytes);
                    }
                    self.queue.reduce_done(counters);
                    return Ok(());
                }
                FromTask::Failed {
                    sentence,
                    no_device,
                    device,
                    ..
                } => {
                    let mut failure = self.failed(work, &said::sentence(&sentence));
                    failure.fault.is_lost = no_device && device.starts_with("acc/");
                    return Err(failure);
                }
                other => {
                    return Err(Error::new(format!(
                        "{}: said {} in the middle",
                        work.title(),
                        said::message(&other)
                    ))
                    .into());
                }
            };
            match answer {
                Ok(file) => process
                    .connection
                    .send_with(&ToTask::Opened, &[file.as_fd()])?,
                Err(error) => process.connection.send(&ToTask::Refused {
                    sentence: error.to_string(),
                })?,
            }
        }
    }

    fn input(&self, work: &LocalTask, piece: u32) -> Result<OwnedFd> {
        let LocalTask::Map(order) = work else {
            return Err(Error::new("a reduce has no input files"));
        };
        let piece = order
            .pieces
            .get(piece as usize)
            .ok_or_else(|| Error::new("a piece that is none"))?;
        Ok(open(piece)?.into())
    }

    fn source(&self, work: &LocalTask, source: u32) -> Result<OwnedFd> {
        let LocalTask::Reduce(order) = work else {
            return Err(Error::new("a map has no sources"));
        };
        let output = order
            .sources
            .get(source as usize)
            .and_then(|source| self.queue.output(source.map));
        let output = output.ok_or_else(|| Error::new("a source that is none"))?;
        let file = output.file().try_clone().context(|| "map output")?;
        Ok(file.into())
    }
}
