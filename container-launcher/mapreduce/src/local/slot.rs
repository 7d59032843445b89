//! A slot: one task process after the other, and what is said with it.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use gerbil_task::{
    Blame, Connection, FrameError, FromTask, LAUNCHER_VARIABLE, Page, Phase, ROLE_VARIABLE, ToTask,
    VERSION, Welcome,
};

use super::Order;
use super::commit::Committer;
use super::progress::Progress;
use super::queue::{Fault, Queue, Work};
use crate::error::{Context as _, Error, Result};
use crate::settings::{MEMORY, Settings, TIMEOUT};

/// How often a silent task is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long a process may take to say hello, and to leave.
const HELLO: Duration = Duration::from_secs(30);
const LEAVE: Duration = Duration::from_secs(5);

/// All that a slot works with.
struct Slot<'a> {
    /// Digest of the plan, which the process must have, too.
    digest: &'a str,
    quiet: bool,
    welcome: Welcome,
    page: Page,
    page_descriptor: &'a OwnedFd,
    scratch: &'a File,
    queue: &'a Queue,
    committer: &'a Committer,
    timeout: Option<Duration>,
    memory: Option<u64>,
}

/// Works on all tasks of `queue` with `slots` processes, and shows progress.
pub(crate) fn work(
    order: &Order<'_>,
    settings: &Settings,
    slots: usize,
    queue: &Queue,
    committer: &Committer,
) -> Result<()> {
    let (page, page_descriptor) = Page::create()?;
    let folder = std::env::var_os("TMPDIR").unwrap_or_else(|| "/var/tmp".into());
    let scratch =
        File::open(&folder).context(|| format!("the folder for spills {}", folder.display()))?;
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
                quiet: order.quiet,
                welcome,
                page: page.slot(number),
                page_descriptor: &page_descriptor,
                scratch: &scratch,
                queue,
                committer,
                timeout: (timeout > 0).then_some(Duration::from_millis(timeout)),
                memory: (memory > 0).then_some(memory << 20),
            };
            scope.spawn(move || slot.run());
        }
        let mut progress = Progress::new(order.quiet);
        while !queue.is_over() {
            if let Some(signal) = order.interrupts.signal() {
                queue.stop(&format!("ended by signal {signal}"));
            }
            progress.show(queue, &page, slots);
            queue.wait(LOOK);
        }
        progress.clear();
    });
    Ok(())
}

/// Each map's output is a descriptor: as many as the kernel lets a process have.
fn raise_descriptors() {
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

/// Why an attempt failed, and whether its process is of use any more.
struct Failure {
    sentence: String,
    fault: Fault,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            sentence: error.to_string(),
            fault: Fault { record: None },
        }
    }
}

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        Error::from(error).into()
    }
}

/// A task process.
struct Process {
    child: Child,
    connection: Connection,
}

impl Process {
    /// Ends the process and whatever it has started.
    fn kill(&mut self) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).ok();
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// How the process ended, if it does so within `wait`.
    fn ended(&mut self, wait: Duration) -> Option<ExitStatus> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let pid = rustix::process::Pid::from_child(&self.child);
        if let Ok(descriptor) =
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
        {
            let wait = Timespec::try_from(wait).ok();
            // Readable is ended; a signal that came in between only looks earlier.
            poll(
                &mut [PollFd::new(&descriptor, PollFlags::IN)],
                wait.as_ref(),
            )
            .ok();
        }
        self.child.try_wait().ok().flatten()
    }

    /// Waits for a process that was told to leave.
    fn leave(mut self) {
        drop(self.connection.send(&ToTask::Leave));
        self.ended(LEAVE);
        // The group may have members that outlived it.
        self.kill();
    }
}

impl Slot<'_> {
    fn run(&self) {
        let mut process = None;
        while let Some(work) = self.queue.take() {
            let mut ready = match process.take().map_or_else(|| self.start(), Ok) {
                Ok(ready) => ready,
                Err(error) => {
                    self.queue.stop(&error.to_string());
                    break;
                }
            };
            match self.attempt(&mut ready, &work) {
                Ok(()) => process = Some(ready),
                Err(failure) => {
                    ready.kill();
                    self.committer.abort_task(&work.names().0);
                    self.queue.failed(work, &failure.sentence, failure.fault);
                }
            }
        }
        if let Some(process) = process {
            process.leave();
        }
    }

    /// Starts the executable in its task role.
    fn start(&self) -> Result<Process> {
        let (ours, theirs) = UnixStream::pair()?;
        // Whatever tasks print is for people, as what this process says.
        let out: OwnedFd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
        let program = std::env::current_exe()?;
        let child = Command::new(&program)
            .env(ROLE_VARIABLE, "task")
            .env(LAUNCHER_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(out))
            .process_group(0)
            .spawn()
            .context(|| format!("starting {} as a task", program.display()))?;
        let mut process = Process {
            child,
            connection: Connection::new(ours),
        };
        let greeted = self.greet(&mut process);
        if greeted.is_err() {
            process.kill();
        }
        greeted
            .map(|()| process)
            .map_err(|error| error.context("a task process"))
    }

    fn greet(&self, process: &mut Process) -> Result<()> {
        process.connection.set_deadline(Some(HELLO))?;
        let (version, plan) = match process.connection.receive() {
            Ok(FromTask::Hello { version, plan }) => (version, plan),
            Ok(other) => return Err(Error::new(format!("said {other:?} before hello"))),
            Err(FrameError::Closed) => {
                return Err(Error::new(
                    "ended before it said hello: is `main()` of the job the first statement of main?",
                ));
            }
            Err(FrameError::Silent) => {
                let words =
                    "said nothing for 30 s: is `main()` of the job the first statement of main?";
                return Err(Error::new(words));
            }
            Err(error) => return Err(error.into()),
        };
        let refusal = if version != VERSION {
            format!("speaks version {version} of the task protocol, and this launcher {VERSION}")
        } else if plan != self.digest {
            "registers other jobs than this process did: registration must not depend on files, time or environment"
                .to_owned()
        } else {
            let given = [self.page_descriptor.as_fd(), self.scratch.as_fd()];
            process
                .connection
                .send_with(&ToTask::Welcome(self.welcome.clone()), &given)?;
            process.connection.set_deadline(Some(LOOK))?;
            return Ok(());
        };
        process.connection.send(&ToTask::Refused {
            sentence: refusal.clone(),
        })?;
        Err(Error::new(refusal))
    }

    /// Gives one task to the process, and serves it to its end.
    fn attempt(&self, process: &mut Process, work: &Work) -> Result<(), Failure> {
        let (attempt, task) = work.names();
        self.page.begin(0, 0);
        process.connection.send(&match work {
            Work::Map(order) => ToTask::Map(order.clone()),
            Work::Reduce(order) => ToTask::Reduce(order.clone()),
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
                FromTask::OpenInput { piece } => self.input(work, piece),
                FromTask::OpenSource { source } => self.source(work, source),
                FromTask::OpenOutput { name } => {
                    self.committer.create(&attempt, &name).map(OwnedFd::from)
                }
                FromTask::Status { text } => {
                    if !self.quiet {
                        crate::say(&format!("{}: {text}", work.title()));
                    }
                    continue;
                }
                FromTask::MapDone {
                    counters,
                    partitions,
                } => {
                    let Work::Map(order) = work else {
                        return Err(Error::new("a reduce ended as a map").into());
                    };
                    let file = if order.partitions > 0 {
                        Some(process.connection.descriptor()?)
                    } else {
                        None
                    };
                    self.committer.commit_task(&attempt, &task)?;
                    self.queue
                        .map_done(order.task, counters, partitions, file)?;
                    return Ok(());
                }
                FromTask::ReduceDone { counters } => {
                    self.committer.commit_task(&attempt, &task)?;
                    self.queue.reduce_done(counters);
                    return Ok(());
                }
                FromTask::Failed { sentence } => return Err(self.failed(work, &sentence)),
                other => {
                    return Err(Error::new(format!(
                        "{}: said {other:?} in the middle",
                        work.title()
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

    fn input(&self, work: &Work, piece: u32) -> Result<OwnedFd> {
        let Work::Map(order) = work else {
            return Err(Error::new("a reduce has no input files"));
        };
        let piece = order
            .pieces
            .get(piece as usize)
            .ok_or_else(|| Error::new("a piece that is none"))?;
        let file = File::open(&piece.name).context(|| piece.name.clone())?;
        let size = file.metadata().context(|| piece.name.clone())?.len();
        if size != piece.size {
            let words = format!(
                "{} had {} bytes and has {size} now: it was changed while it was read",
                piece.name, piece.size
            );
            return Err(Error::new(words));
        }
        Ok(file.into())
    }

    fn source(&self, work: &Work, source: u32) -> Result<OwnedFd> {
        let Work::Reduce(order) = work else {
            return Err(Error::new("a map has no sources"));
        };
        let output = order
            .sources
            .get(source as usize)
            .and_then(|source| self.queue.output(source.map));
        let output = output.ok_or_else(|| Error::new("a source that is none"))?;
        output.try_clone().context(|| "map output")
    }

    /// Where the process was, for sentences.
    fn place(&self, work: &Work, blame: &Blame) -> String {
        let phase = match blame.phase {
            Phase::Setup => "in setup",
            Phase::Cleanup => "in cleanup",
            Phase::Sort => "while sorting",
            Phase::Output => "while closing its output",
            Phase::Map | Phase::Reduce => "",
            _ => "before it began",
        };
        match work {
            Work::Map(order) if blame.phase == Phase::Map => {
                let piece = usize::try_from(blame.piece)
                    .ok()
                    .and_then(|piece| order.pieces.get(piece));
                let name = piece.map_or("its split", |piece| piece.name.as_str());
                format!(
                    "on record {} of the split, at byte {} of {name}",
                    blame.record, blame.offset
                )
            }
            Work::Reduce(_) if blame.phase == Phase::Reduce => format!("on group {}", blame.record),
            _ => phase.to_owned(),
        }
    }

    /// The record that a map's code had.
    fn fault(&self, blame: &Blame) -> Fault {
        Fault {
            record: (blame.phase == Phase::Map).then_some(blame.record),
        }
    }

    /// A task that says that it failed.
    fn failed(&self, work: &Work, sentence: &str) -> Failure {
        let blame = self.page.read();
        let title = work.title();
        let sentence = match sentence.strip_prefix("panicked") {
            Some(rest) => format!("{title} panicked {},{rest}", self.place(work, &blame)),
            None => format!("{title}: {sentence}"),
        };
        Failure {
            sentence,
            fault: self.fault(&blame),
        }
    }

    /// A process that ended in the middle of a task.
    fn ended(&self, process: &mut Process, work: &Work) -> Failure {
        let status = process.ended(LEAVE);
        self.died(work, status)
    }

    fn died(&self, work: &Work, status: Option<ExitStatus>) -> Failure {
        let blame = self.page.read();
        let how = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("ended its process with exit code {code}"),
            Some((_, Some(signal))) => format!("was killed by signal {signal}"),
            _ => "closed its socket".to_owned(),
        };
        let sentence = format!("{} {how} {}", work.title(), self.place(work, &blame));
        Failure {
            sentence: sentence.trim_end().to_owned(),
            fault: self.fault(&blame),
        }
    }

    /// Looks at a process that says nothing: is it alive, does it get on, how much memory has it?
    fn look(
        &self,
        process: &mut Process,
        work: &Work,
        seen: &mut (Blame, Instant),
    ) -> Result<(), Failure> {
        if self.queue.is_over() {
            return Err(Error::new("the job is over").into());
        }
        if let Ok(Some(status)) = process.child.try_wait() {
            return Err(self.died(work, Some(status)));
        }
        let blame = self.page.read();
        if blame != seen.0 {
            *seen = (blame, Instant::now());
        } else if let Some(timeout) = self.timeout.filter(|timeout| seen.1.elapsed() > *timeout) {
            let place = self.place(work, &blame);
            let sentence = format!(
                "{} made no progress for {} s {place}",
                work.title(),
                timeout.as_secs_f64()
            );
            return Err(Failure {
                sentence,
                fault: self.fault(&blame),
            });
        }
        if let Some((limit, used)) = self
            .memory
            .zip(resident(process.child.id()))
            .filter(|(limit, used)| used > limit)
        {
            let place = self.place(work, &blame);
            let sentence = format!(
                "{} has {} MiB in memory where {} are the limit ({MEMORY}) {place}",
                work.title(),
                used >> 20,
                limit >> 20
            );
            return Err(Failure {
                sentence,
                fault: self.fault(&blame),
            });
        }
        Ok(())
    }
}

/// Bytes of a process that are in memory.
fn resident(pid: u32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
